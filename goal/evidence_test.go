package goal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/verify"
)

func TestLsThenDoneIsRefused(t *testing.T) {
	s := begin(t, nil)
	s.shells("echo right > answer.txt")
	s.shells("ls")
	d := s.answers("Done." + done)
	s.refused(d, judge.GoalMissing)
	if s.LastVerifier != nil {
		t.Errorf("ls is evidence: %+v", s.LastVerifier)
	}
}

func TestPassEditDoneIsStale(t *testing.T) {
	for name, edit := range map[string]func(*session){
		"by a tool":              func(s *session) { s.shells("echo wrong > answer.txt") },
		"by a line that is both": func(s *session) { s.shells(verifier + " && echo wrong > answer.txt") },
		"in the same batch":      func(s *session) { s.shells(verifier, "echo wrong > answer.txt") },
		"in a batch, before it":  func(s *session) { s.shells("echo more > other.txt", verifier) }, // the order is unknown
		"outside of tools":       func(s *session) { s.sends(""); s.writes("answer.txt", "wrong") },
		"undone in one batch":    func(s *session) { s.shells("touch new", verifier, "rm new") },
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, nil)
			s.shells("echo right > answer.txt")
			s.shells(verifier)
			edit(s)
			d := s.answers("Done." + done)
			s.refused(d, judge.GoalStale)
			alone := verifier + " passed beside something else that may have changed files; run it alone"
			if d.Detail != alone && d.Detail != "files changed after "+verifier+" passed" {
				t.Errorf("detail: %s", d.Detail)
			}
		})
	}
}

func TestWhatDoesNotMakeEvidenceStale(t *testing.T) {
	for name, later := range map[string]func(*session){
		"reading, in the same call":    func(s *session) { s.shells(verifier + " && cat answer.txt") },
		"reading, in the next batch":   func(s *session) { s.shells("cat answer.txt", "ls") },
		"an edit that was undone":      func(s *session) { s.shells("touch new.txt"); s.shells("rm new.txt") },
		"the next answer was asked":    func(s *session) { s.answers("Not yet."); s.answers("Nearly.") },
		"a call of the model repeated": func(s *session) { s.sends(""); s.sends("") },
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, nil)
			s.shells("echo right > answer.txt")
			s.shells(verifier)
			later(s)
			s.completed(s.answers("Done." + done))
		})
	}
	t.Run("what the verifier writes itself", func(t *testing.T) {
		const writes = "echo report > report.txt"
		s := begin(t, func(c *goal.Config) {
			c.Verifiers, c.VerifierOutput = []string{writes}, []string{"report.txt", "."}
		})
		s.shells(writes)
		s.completed(s.answers("Done." + done))
	})
	t.Run("what the verifier builds once", func(t *testing.T) {
		const builds = "test -e built || touch built"
		s := begin(t, func(c *goal.Config) { c.Verifiers = []string{builds} })
		s.shells(builds)
		s.refused(s.answers("Done."+done), judge.GoalStale)
		s.shells(builds)
		s.completed(s.answers("Done." + done))
	})
	t.Run("what the checker builds once", func(t *testing.T) {
		s := begin(t, func(c *goal.Config) {
			c.Verifiers, c.Checker = []string{"test -e built || touch built"}, verify.Shell{Env: os.Environ()}
		})
		s.completed(s.answers("Done." + done))
	})
}

// A repeated call of the model must not make evidence fresher than it is.
func TestResultsAreObservedOnce(t *testing.T) {
	s := begin(t, nil)
	s.shells("echo right > answer.txt")
	s.shells(verifier)
	s.sends("")
	s.writes("answer.txt", "wrong")
	s.sends("")
	s.refused(s.answers("Done."+done), judge.GoalStale)
}

func TestEveryVerifierMustPass(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.Verifiers = append(c.Verifiers, "test -e second.txt") })
	s.shells("echo right > answer.txt")
	s.shells(verifier)
	d := s.answers("Done." + done)
	if s.refused(d, judge.GoalMissing); d.Detail != "not run yet: test -e second.txt" {
		t.Error(d.Detail)
	}
	s.shells("touch second.txt")
	s.shells("test -e second.txt", verifier)
	s.completed(s.answers("Done." + done))
}

func TestWhatCountsAsACall(t *testing.T) {
	passed := 0
	for name, test := range map[string]struct {
		tool, arguments string
		want            judge.GoalReason
	}{
		"command":            {"Bash", `{"command": "` + verifier + `"}`, judge.GoalVerified},
		"cmd":                {"exec_command", `{"cmd": "` + verifier + `"}`, judge.GoalVerified},
		"words":              {"shell", `{"command": ["bash", "-lc", "` + verifier + `"]}`, judge.GoalVerified},
		"in the workspace":   {"shell", `{"command": "` + verifier + `", "workdir": "DIR"}`, judge.GoalVerified},
		"elsewhere":          {"shell", `{"command": "` + verifier + `", "workdir": "/tmp"}`, judge.GoalMissing},
		"in the background":  {"Bash", `{"command": "` + verifier + `", "run_in_background": true}`, judge.GoalMissing},
		"a second command":   {"Bash", `{"command": "` + verifier + `", "cmd": "true"}`, judge.GoalMissing},
		"a capital letter":   {"Bash", `{"command": "` + verifier + `", "Command": "true"}`, judge.GoalMissing},
		"only in capitals":   {"Bash", `{"COMMAND": "` + verifier + `"}`, judge.GoalMissing},
		"the same key twice": {"Bash", `{"command": "true", "command": "` + verifier + `"}`, judge.GoalMissing},
		"a second folder":    {"Bash", `{"command": "` + verifier + `", "workdir": ".", "cwd": "/tmp"}`, judge.GoalMissing},
		"folder in words":    {"Bash", `{"command": "` + verifier + `", "cwd": ["/tmp"]}`, judge.GoalMissing},
		"a second flag": {"Bash", `{"command": "` + verifier + `", "background": false, "is_background": true}`,
			judge.GoalMissing},
		"two objects":         {"Bash", `{"command": "` + verifier + `"} {"command": "true"}`, judge.GoalMissing},
		"not listed":          {"Browser", `{"command": "` + verifier + `"}`, judge.GoalMissing},
		"shell, no command":   {"Bash", `{}`, judge.GoalMissing},
		"shell, not JSON":     {"Bash", `grep`, judge.GoalMissing},
		"another command":     {"Bash", `{"command": "ls"}`, judge.GoalMissing},
		"hidden exit status":  {"Bash", `{"command": "` + verifier + ` | cat"}`, judge.GoalMissing},
		"command in a string": {"Bash", `{"command": "echo '` + verifier + `'"}`, judge.GoalMissing},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, nil)
			arguments := json.RawMessage(strings.ReplaceAll(test.arguments, "DIR", s.dir))
			s.uses(func(call goal.ToolCall) goal.ToolResult {
				return goal.ToolResult{CallID: call.ID, ExitCode: &passed}
			}, goal.ToolCall{ID: "1", Name: test.tool, Arguments: arguments})
			if d := s.answers("Done." + done); d.Reason != test.want {
				t.Errorf("got %s (%s), want %s", d.Reason, d.Detail, test.want)
			}
		})
	}
}

// The tool obeys arguments that the verifier's command does not show.
func TestArgumentsThatChangeWhatAVerifierRuns(t *testing.T) {
	for name, arguments := range map[string]string{
		"args":           `"args": ["||", "true"]`,
		"environment":    `"env": {"PATH": "FAKE:/usr/bin:/bin"}`,
		"another shell":  `"shell": "FAKE/sh"`,
		"folder by link": `"workdir": "PARENT/link/../BASE"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, func(c *goal.Config) { c.Verifiers = []string{"sh check.sh"} })
			s.writes("check.sh", "grep -q right answer.txt")
			fake := t.TempDir()
			there := filepath.Join(fake, "a", filepath.Base(s.dir))
			err := errors.Join(os.MkdirAll(there, 0o700), os.MkdirAll(filepath.Join(fake, "a", "b"), 0o700),
				os.Symlink(filepath.Join(fake, "a", "b"), filepath.Join(filepath.Dir(s.dir), "link")),
				os.WriteFile(filepath.Join(fake, "sh"), []byte("#!/bin/sh\nexit 0\n"), 0o700),
				os.WriteFile(filepath.Join(there, "check.sh"), []byte("true"), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("FAKE", fake, "PARENT", filepath.Dir(s.dir), "BASE", filepath.Base(s.dir)).
				Replace(arguments)
			s.uses(s.obeys, goal.ToolCall{ID: "1", Name: "Bash",
				Arguments: json.RawMessage(`{"command": "sh check.sh", ` + text + `}`)})
			if d := s.answers("Done." + done); d.Reason != judge.GoalMissing {
				t.Errorf("%s: %s", d.Reason, d.Detail)
			}
		})
	}
}

// obeys runs a call as an obedient tool does: with all of its arguments.
func (s *session) obeys(call goal.ToolCall) goal.ToolResult {
	var a struct {
		Command, Workdir, Shell string
		Args                    []string
		Env                     map[string]string
	}
	_ = json.Unmarshal(call.Arguments, &a)
	run := exec.Command(cmp.Or(a.Shell, "sh"), "-c", strings.Join(append([]string{a.Command}, a.Args...), " "))
	run.Dir, run.Env = cmp.Or(a.Workdir, s.dir), os.Environ()
	for name, value := range a.Env {
		run.Env = append(run.Env, name+"="+value)
	}
	out, _ := run.CombinedOutput()
	code := run.ProcessState.ExitCode()
	if code != 0 {
		s.Errorf("the attack fails by itself: %s", out)
	}
	return goal.ToolResult{CallID: call.ID, Content: string(out), ExitCode: &code}
}

// Two calls have one ID, so the result of one can pass for the result of the other.
func TestDuplicateCallIDsAreNoEvidence(t *testing.T) {
	check := goal.ToolCall{ID: "c1", Name: "Bash", Arguments: json.RawMessage(`{"command": "` + verifier + `"}`)}
	harmless := goal.ToolCall{ID: "c1", Name: "Bash", Arguments: json.RawMessage(`{"command": "true"}`)}
	one, zero := 1, 0
	failed := goal.ToolResult{CallID: "c1", ExitCode: &one}
	passed := goal.ToolResult{CallID: "c1", ExitCode: &zero}
	named := goal.ToolResult{Name: "Bash", ExitCode: &zero}
	late := goal.ToolCall{ID: "c2", Name: "Bash", Arguments: check.Arguments}
	for name, batches := range map[string][]goal.Message{
		"the verifier first": {{Calls: []goal.ToolCall{check, harmless}, Results: []goal.ToolResult{failed, passed}}},
		"the verifier last":  {{Calls: []goal.ToolCall{harmless, check}, Results: []goal.ToolResult{passed, failed}}},
		"one result":         {{Calls: []goal.ToolCall{check, harmless}, Results: []goal.ToolResult{passed}}},
		"the verifier twice": {{Calls: []goal.ToolCall{check, check}, Results: []goal.ToolResult{passed, passed}}},
		"two results":        {{Calls: []goal.ToolCall{check}, Results: []goal.ToolResult{failed, passed}}},
		"by name":            {{Calls: []goal.ToolCall{check, harmless}, Results: []goal.ToolResult{named}}},
		"by name and ID":     {{Calls: []goal.ToolCall{check}, Results: []goal.ToolResult{failed, named}}},
		"a late result": {
			{Calls: []goal.ToolCall{harmless, late}, Results: []goal.ToolResult{{CallID: "c2", ExitCode: &one}}},
			{Calls: []goal.ToolCall{check}, Results: []goal.ToolResult{passed}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, nil)
			for _, batch := range batches {
				s.uses(func(goal.ToolCall) goal.ToolResult { return goal.ToolResult{} }, batch.Calls...)
				s.messages[len(s.messages)-1].Results = batch.Results
			}
			s.sends("")
			if e := s.LastVerifier; e != nil && e.Status == ralph.EvidencePass {
				t.Errorf("evidence: %+v", e)
			}
			if d := s.answers("Done." + done); d.Next != goal.CallModel {
				t.Errorf("%s: %s", d.Reason, d.Detail)
			}
		})
	}
	t.Run("in another batch", func(t *testing.T) { // some servers number the calls of each answer
		s := begin(t, nil)
		for range 2 {
			s.uses(func(goal.ToolCall) goal.ToolResult { return failed }, harmless)
		}
		s.uses(func(goal.ToolCall) goal.ToolResult { return passed }, check)
		s.completed(s.answers("Done." + done))
	})
	t.Run("stale beside others", func(t *testing.T) {
		s := begin(t, nil)
		s.uses(func(call goal.ToolCall) goal.ToolResult { return goal.ToolResult{CallID: call.ID, ExitCode: &zero} },
			late, harmless, harmless)
		s.refused(s.answers("Done."+done), judge.GoalStale)
	})
}

// A result without an ID names its tool, but what the tool ran is in the call.
func TestResultByNameHasTheArgumentsOfItsCall(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.Verifiers, c.VerifierToolNames = nil, []string{"browser"} })
	s.uses(func(goal.ToolCall) goal.ToolResult { return goal.ToolResult{Name: "browser"} },
		goal.ToolCall{ID: "1", Name: "browser", Arguments: json.RawMessage(`{"command": "true"}`)})
	s.refused(s.answers("Done."+done), judge.GoalMissing)
}

func TestToolWithoutACommandCountsByName(t *testing.T) {
	browser := func(c *goal.Config) { c.Verifiers, c.VerifierToolNames = nil, []string{"browser", "Bash"} }
	look := goal.ToolCall{ID: "1", Name: "browser", Arguments: json.RawMessage(`{"url": "http://localhost"}`)}
	for name, test := range map[string]struct {
		result goal.ToolResult
		want   judge.GoalReason
	}{
		"by call id":      {goal.ToolResult{CallID: "1", Content: "a page about a timeout"}, judge.GoalVerified},
		"by its own name": {goal.ToolResult{Name: "browser"}, judge.GoalVerified},
		"error flag":      {goal.ToolResult{CallID: "1", Status: ralph.EvidenceFail}, judge.GoalFailed},
		"another tool":    {goal.ToolResult{Name: "search"}, judge.GoalMissing},
		"a shell by name": {goal.ToolResult{Name: "Bash"}, judge.GoalMissing},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, browser)
			s.uses(func(goal.ToolCall) goal.ToolResult { return test.result }, look)
			if d := s.answers("Done." + done); d.Reason != test.want {
				t.Errorf("got %s (%s), want %s", d.Reason, d.Detail, test.want)
			}
		})
	}
}

func TestEvidenceStatus(t *testing.T) {
	zero, one := 0, 1
	for name, test := range map[string]struct {
		result goal.ToolResult
		want   ralph.EvidenceStatus
	}{
		"exit code 0":                     {goal.ToolResult{ExitCode: &zero}, "pass"},
		"exit code 1":                     {goal.ToolResult{ExitCode: &one}, "fail"},
		"error flag":                      {goal.ToolResult{Status: "fail"}, "fail"},
		"no error":                        {goal.ToolResult{Status: "pass"}, "pass"},
		"flag and code disagree":          {goal.ToolResult{Status: "fail", ExitCode: &zero}, "fail"},
		"the other way round":             {goal.ToolResult{Status: "pass", ExitCode: &one}, "fail"},
		"good output about a timeout":     {goal.ToolResult{ExitCode: &zero, Content: "ok: timed out, timeout"}, "pass"},
		"a test that prints exit status":  {goal.ToolResult{Status: "pass", Content: "exit status 1"}, "pass"},
		"nothing says that it passed":     {goal.ToolResult{Content: "ok"}, "fail"},
		"Process exited with code 0":      {goal.ToolResult{Content: "ok\nProcess exited with code 0\nOutput: …"}, "pass"},
		"Exit code: 0":                    {goal.ToolResult{Content: "timeout: none\nExit Code: 0"}, "pass"},
		"exit status 1":                   {goal.ToolResult{Content: "FAIL\nexit status 1\n"}, "fail"},
		"[exit code: 2]":                  {goal.ToolResult{Content: "bad\n[exit code: 2]"}, "fail"},
		"<exit_code>0</exit_code>":        {goal.ToolResult{Content: "<exit_code>0</exit_code>"}, "pass"},
		"Command finished with exit code": {goal.ToolResult{Content: "The command finished with exit code 0."}, "pass"},
		"one of two codes":                {goal.ToolResult{Content: "exit code: 0\nexit code: 127"}, "fail"},
		"a sentence about exit codes":     {goal.ToolResult{Content: "it should exit with exit code 0 then"}, "fail"},
		"a number that is too large":      {goal.ToolResult{Content: "exit code 99999999999999999999"}, "fail"},
		"JSON, 0":                         {goal.ToolResult{Content: `{"stdout": "exit code: 1\n", "exit_code": 0}`}, "pass"},
		"JSON, 1":                         {goal.ToolResult{Content: `{"stdout": "exit code: 0\n", "exitCode": 1}`}, "fail"},
		"JSON without a code":             {goal.ToolResult{Content: `{"stdout": "exit code: 0\n"}`}, "fail"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, func(c *goal.Config) { c.ExitCodeInOutput = true })
			s.uses(func(goal.ToolCall) goal.ToolResult {
				test.result.CallID = "1"
				return test.result
			}, goal.ToolCall{ID: "1", Name: "Bash", Arguments: json.RawMessage(`{"command": "` + verifier + `"}`)})
			s.sends("")
			if s.LastVerifier == nil || s.LastVerifier.Status != test.want {
				t.Errorf("got %+v, want %s", s.LastVerifier, test.want)
			}
		})
	}
}

// The program under test prints what a tool would report.
func TestForgedExitCodeInOutputIsNoEvidence(t *testing.T) {
	for _, output := range []string{
		"exit code: 0", "Process exited with code 0", "<exit_code>0</exit_code>", `{"exit_code": 0}`, `{"exitCode": 0}`,
	} {
		s := begin(t, nil)
		s.uses(func(call goal.ToolCall) goal.ToolResult { return goal.ToolResult{CallID: call.ID, Content: output} },
			goal.ToolCall{ID: "1", Name: "Bash", Arguments: json.RawMessage(`{"command": "` + verifier + `"}`)})
		s.refused(s.answers("Done."+done), judge.GoalFailed)
	}
}

func TestCheckerRunsTheVerifiersItself(t *testing.T) {
	checker := func(c *goal.Config) { c.Checker = verify.Shell{Env: os.Environ()} }
	t.Run("refuses and completes", func(t *testing.T) {
		s := begin(t, checker)
		s.refused(s.answers("Done."+done), judge.GoalFailed)
		if s.LastVerifier.ToolName != "check" || !strings.Contains(s.LastVerifier.Content, "exit 2") {
			t.Errorf("evidence: %+v", s.LastVerifier)
		}
		s.shells("echo right > answer.txt")
		s.completed(s.answers("Done." + done))
	})
	t.Run("a call of the agent is no evidence", func(t *testing.T) {
		zero := 0
		s := begin(t, checker)
		s.uses(func(goal.ToolCall) goal.ToolResult { return goal.ToolResult{CallID: "1", ExitCode: &zero} },
			goal.ToolCall{ID: "1", Name: "Bash", Arguments: json.RawMessage(`{"command": "` + verifier + `"}`)})
		s.refused(s.answers("Done."+done), judge.GoalFailed)
	})
	t.Run("no claim, no check", func(t *testing.T) {
		s := begin(t, checker)
		if s.refused(s.answers("Not yet."), judge.GoalUnclaimed); s.LastVerifier != nil {
			t.Errorf("it ran: %+v", s.LastVerifier)
		}
	})
}

func TestThreeIdenticalBlockersBlock(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.Verifiers = []string{"cat $$.txt"} })
	for range 2 {
		s.shells("cat $$.txt") // fails with another number each time
		s.refused(s.answers("It fails again."), judge.GoalUnclaimed)
	}
	s.shells("cat $$.txt")
	d := s.answers("And again.")
	s.expect(d, goal.Finish, judge.GoalBlocked, judge.GoalIsBlocked)
	want := "And again.\n\nRalph Loop stopped: the same failure after 3 answers in a row: cat $$.txt failed.\n" +
		"Last evidence: Bash"
	if !strings.HasPrefix(d.Answer, want) {
		t.Errorf("answer: %s", d.Answer)
	}
}

func TestUnverifiedGoalCompletesByPromise(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.Verifiers, c.AllowUnverified = nil, true })
	if strings.Contains(s.sends("").System, "verifier") {
		t.Error("the rule asks for a verifier")
	}
	s.expect(s.answers("Done."+done), goal.Finish, judge.GoalCompleted, judge.GoalPromised)
}

var errBroken = errors.New("the disk is broken")

type brokenTree struct{}

func (brokenTree) Fingerprint(context.Context, ralph.TreeInput) (ralph.TreeState, error) {
	return ralph.TreeState{}, errBroken
}

func TestWorkspaceThatCannotBeReadProvesNothing(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.Tree = brokenTree{} })
	_, err := s.middleware.AfterModel(t.Context(), &s.State, goal.Message{Role: goal.Assistant, Parts: goal.Text(done)})
	if !errors.Is(err, errBroken) || s.Status != judge.GoalActive || s.Iteration != 0 {
		t.Errorf("%v, %+v", err, s.State)
	}
}

// A refactoring completes, but a verifier that never failed shows little.
func TestVerifierThatNeverFailedIsAWarning(t *testing.T) {
	for name, failsFirst := range map[string]bool{"never failed": false, "failed before": true} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, nil)
			if failsFirst {
				s.shells(verifier)
			}
			s.shells("echo right > answer.txt")
			s.shells(verifier)
			d := s.answers("Done." + done)
			s.completed(d)
			if failsFirst != (d.Warning == "") {
				t.Errorf("warning: %q", d.Warning)
			}
		})
	}
}

// Whatever an agent does, completed means that the verifier passed on the files as they are.
func TestCompletedImpliesFreshPassingEvidence(t *testing.T) {
	moves := []string{
		"echo right > answer.txt", "echo wrong > answer.txt", "ls", verifier, verifier + " || true",
		verifier + " && echo wrong > answer.txt", "cd . && " + verifier, "rm -f answer.txt", "touch other.txt",
	}
	completed := 0
	sessions := uint64(80)
	if testing.Short() {
		sessions = 30
	}
	for seed := range sessions {
		random := rand.New(rand.NewPCG(seed, 18))
		s := begin(t, nil)
		trace := []string{}
		for s.Status == judge.GoalActive && len(trace) < 25 {
			if random.IntN(3) == 0 {
				trace = append(trace, "DONE")
				s.answers("Done." + done)
				continue
			}
			batch := []string{moves[random.IntN(len(moves))]}
			for random.IntN(3) == 0 {
				batch = append(batch, moves[random.IntN(len(moves))])
			}
			trace = append(trace, strings.Join(batch, " | "))
			s.shells(batch...)
		}
		answer, _ := os.ReadFile(s.dir + "/answer.txt")
		if s.Status == judge.GoalCompleted {
			completed++
			if !strings.Contains(string(answer), "right") {
				t.Fatalf("seed %d: completed with %q after:\n%s", seed, answer, strings.Join(trace, "\n"))
			}
		}
	}
	if completed < 3 {
		t.Errorf("only %d of the sessions completed", completed)
	}
	fmt.Fprintln(t.Output(), completed, "sessions completed")
}
