package term

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

const sampleRun = "01KA0000000000000000000000"

// sample is a run that ended after three iterations of fifty, with what all endings have in common.
func sample(stopped ralph.RunStopped) *fold.State {
	cost := 0.41
	iteration := func(n int, passed bool) ralph.IterationResult {
		return ralph.IterationResult{
			Iteration: n, Agent: "claude", Cost: &cost, Counted: true, AllChecksPassed: passed,
			CheckResults: []ralph.CheckResult{{Name: "go test ./...", Passed: passed}, {Name: "go vet ./...", Passed: true}},
		}
	}
	stopped.Status = ralph.StatusOf(stopped.Reason)
	stopped.ExitCode = ralph.ExitCode(stopped.Reason, stopped.Signal)
	return &fold.State{
		Identity: fold.Identity{Run: sampleRun, Agent: "claude", Policy: ralph.Policy{MaxIterations: 50}},
		Elapsed:  ralph.Span(81200 * time.Millisecond),
		History: judge.History{
			Started: 3, Counted: 3, Cost: 1.23, Tokens: ralph.Tokens{Input: 9000, Output: 600},
			Baseline: []ralph.CheckResult{{Name: "go test ./...", ExitCode: 1}, {Name: "go vet ./...", ExitCode: 1}},
		},
		Iterations: []ralph.IterationResult{
			iteration(1, false), iteration(2, false), iteration(3, ralph.StatusOf(stopped.Reason) == ralph.StatusCompleted),
		},
		Stopped: &stopped,
	}
}

const changed = "3 files changed, 41 insertions(+), 7 deletions(-)"

// endings returns one ending for every stop reason.
var endings = []ralph.RunStopped{
	{Reason: ralph.TasksDone, Detail: "every task is proven done", VerifiedBy: []string{ralph.VerifiedChecks}},
	{Reason: ralph.VerifierPassed, Detail: "the verifier passed", VerifiedBy: []string{ralph.VerifiedChecks}},
	{
		Reason: ralph.AllChecksPassed, Detail: "the agent claims completion, and every check passes",
		VerifiedBy: []string{ralph.VerifiedChecks},
	},
	{Reason: ralph.EvaluatorAccepted, Detail: "the evaluator accepts"},
	{Reason: ralph.Unverified, Detail: "the agent says it is done, but nothing was checked"},
	{Reason: ralph.MaxIterations, Detail: "iteration limit (50) reached; work unfinished"},
	{Reason: ralph.Blocked, Detail: "Missing API credentials for the payments service"},
	{Reason: ralph.NeedsDecision, Detail: "Should the new endpoint use REST or GraphQL?"},
	{Reason: ralph.Unconfirmed, Detail: "the new tests also pass without your change: sum_test.go"},
	{Reason: ralph.SandboxError, Detail: "the sandbox did not start"},
	{Reason: ralph.AuthError, Detail: "the login was refused (status 401)", Hint: "start `claude` and use /login"},
	{Reason: ralph.ProgramMissing, Detail: "the agent was not found: claude"},
	{Reason: ralph.Timeout, Detail: "time limit (2h) reached"},
	{Reason: ralph.MaxCost, Detail: "cost limit reached: $5.10 of $5.00"},
	{Reason: ralph.MaxTokens, Detail: "token limit reached: 2100000 of 2000000"},
	{Reason: ralph.CircuitOpen, Detail: "3 iterations in a row without progress"},
	{Reason: ralph.RateLimited, Detail: "usage limit: resets at 5pm"},
	{Reason: ralph.IterCap, Detail: "the task used up its turns"},
	{Reason: ralph.EvaluatorCap, Detail: "the task used up its evaluator calls"},
	{Reason: ralph.NoCase, Detail: "the worker made no case"},
	{Reason: ralph.EmptyResponses, Detail: "the model said nothing"},
	{Reason: ralph.TaskTries, Detail: "the task used up its tries"},
	{Reason: ralph.AgentFailed, Detail: "the agent failed 3 times in a row: exit status 1"},
	{Reason: ralph.ProviderFailed, Detail: "the model failed 3 times in a row: overloaded"},
	{Reason: ralph.CheckBroken, Detail: `the check "pytset" could not run in 2 iterations in a row: not found`},
	{Reason: ralph.Tampered, Detail: "protected files were changed"},
	{Reason: ralph.Internal, Detail: "a bug in ralph: index out of range"},
	{Reason: ralph.IOFailed, Detail: "state cannot be written: no space left on device"},
	{Reason: ralph.Interrupted, Signal: ralph.SignalHangup, Detail: "interrupted by HUP"},
	{Reason: ralph.Interrupted, Signal: ralph.SignalInterrupt, Detail: "interrupted by INT"},
	{Reason: ralph.Interrupted, Signal: ralph.SignalTerminate, Detail: "interrupted by TERM"},
}

func TestLastScreens(t *testing.T) {
	shown := map[int]map[ralph.StopReason]bool{}
	for _, stopped := range endings {
		stopped.Changed = changed
		s := sample(stopped)
		code := s.Stopped.ExitCode
		if shown[code] == nil {
			shown[code] = map[ralph.StopReason]bool{}
		}
		shown[code][stopped.Reason] = true
		text := Screen(s, Style{}, 0) + ResultLine(s) + "\n"
		s.Policy.MaxIterations = 0
		text += ResultLine(s) + "\n"
		golden(t, fmt.Sprintf("screen_%03d_%s", code, stopped.Reason), text)
	}
	for _, kind := range ralph.Outcomes() {
		for _, reason := range kind.Reasons {
			if !shown[kind.Code][reason] && reason != ralph.BudgetExhausted { // only in results
				t.Errorf("no last screen for %d %s", kind.Code, reason)
			}
		}
	}
}

func TestLastScreenOfSpecialRuns(t *testing.T) {
	cases := map[string]func(*fold.State){
		"of a demo": func(s *fold.State) {
			s.Started.Demo, s.Started.Workspace = true, "/tmp/ralph-demo-1/project"
		},
		"in colour":              func(s *fold.State) {},
		"green before and after": func(s *fold.State) { s.Stopped.VerifiedBy = []string{ralph.VerifiedUnchanged} },
		"after one iteration": func(s *fold.State) {
			s.Iterations, s.History.Counted, s.Policy.MaxIterations = s.Iterations[2:], 1, 1
		},
		"no cost known": func(s *fold.State) {
			for i := range s.Iterations {
				s.Iterations[i].Cost = nil
			}
			s.History.Cost, s.History.Tokens = 0, ralph.Tokens{}
		},
		"cost reckoned":       func(s *fold.State) { s.CostEstimated = true },
		"cost known in part":  func(s *fold.State) { s.CostEstimated, s.CostPartial, s.TokensPartial = true, true, true },
		"nothing known of it": func(s *fold.State) { s.Stopped.Changed = "" },
	}
	for name, change := range cases {
		s := sample(ralph.RunStopped{
			Reason: ralph.AllChecksPassed, Detail: "the agent claims completion, and every check passes",
			VerifiedBy: []string{ralph.VerifiedChecks}, Changed: changed,
		})
		change(s)
		text := Screen(s, Style{Color: name == "in colour"}, 0) + ResultLine(s) + "\n"
		golden(t, "screen_"+strings.ReplaceAll(name, " ", "_"), text)
	}
}

// TestSettingsThatAreRefused checks that the advice does not suggest trying again with settings
// that must be changed.
func TestSettingsThatAreRefused(t *testing.T) {
	const agents = "change the setting: ralph resume --model M for another model, a new ralph run for anything else"
	for name, c := range map[string]struct {
		stopped ralph.RunStopped
		agent   string // the agent's hint
		want    string
	}{
		"by the agent's model": {ralph.RunStopped{Reason: ralph.AgentFailed, Hint: ralph.HintSettings},
			ralph.HintSettings, agents},
		"again, after a resume": {ralph.RunStopped{Reason: ralph.CircuitOpen}, ralph.HintSettings, agents},
		"at the cap":            {ralph.RunStopped{Reason: ralph.MaxIterations}, ralph.HintSettings, agents},
		"by the evaluator's": {ralph.RunStopped{Reason: ralph.AgentFailed, Hint: ralph.HintSettings}, "",
			"change the setting and start a new run: ralph run"},
		"not at all":                {ralph.RunStopped{Reason: ralph.AgentFailed, Hint: "log in"}, "log in", "ralph resume"},
		"in a run that is complete": {ralph.RunStopped{Reason: ralph.AllChecksPassed}, ralph.HintSettings, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample(c.stopped)
			s.History.Now.Agent.Hint = c.agent
			if got := NextCommand(s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestResultLine(t *testing.T) {
	blocked := ralph.RunStopped{Reason: ralph.Blocked, Detail: "why"}
	cases := []struct {
		name    string
		stopped ralph.RunStopped
		change  func(*fold.State)
		want    string
	}{
		{"before the first iteration", ralph.RunStopped{Reason: ralph.CheckBroken, Detail: "it cannot run"},
			func(s *fold.State) { s.Iterations, s.History = nil, judge.History{} },
			"CHECK_BROKEN before iteration 1: it cannot run"},
		{"BLOCKED without a reason", ralph.RunStopped{Reason: ralph.Blocked}, func(*fold.State) {},
			"BLOCKED at iteration 3 of 50: the agent gave no reason"},
		{"DECIDE without a question", ralph.RunStopped{Reason: ralph.NeedsDecision}, func(*fold.State) {},
			"DECIDE at iteration 3 of 50: the agent asked no question"},
		{"the last one did not count", ralph.RunStopped{Reason: ralph.RateLimited, Detail: "usage limit"},
			func(s *fold.State) { s.History.Counted, s.Iterations[2].Counted = 2, false },
			"LIMITED at iteration 3 of 50: usage limit"},
		{"cut in its first iteration", ralph.RunStopped{Reason: ralph.IOFailed, Detail: "disk full"},
			func(s *fold.State) {
				s.Iterations, s.History, s.Phase = nil, judge.History{Started: 1}, fold.PhaseExited
			}, "IO_ERROR at iteration 1 of 50: disk full"},
		{"cut in a later iteration", ralph.RunStopped{Reason: ralph.IOFailed, Detail: "disk full"},
			func(s *fold.State) { s.History.Started, s.Phase = 4, fold.PhaseBegun }, "IO_ERROR at iteration 4 of 50: disk full"},
		{"control characters", ralph.RunStopped{Reason: ralph.Blocked, Detail: "a\x1b]52;c;eA==\ab\r\nc\u202e"},
			func(*fold.State) {},
			"BLOCKED at iteration 3 of 50: a]52;c;eA==b  c"},
		{"a demo", blocked, func(s *fold.State) { s.Started.Demo = true }, "DEMO: BLOCKED at iteration 3 of 50: why"},
		{"one iteration of one", blocked, func(s *fold.State) {
			s.Iterations, s.History.Counted, s.Policy.MaxIterations = s.Iterations[:1], 1, 1
		}, "BLOCKED at iteration 1 of 1: why"},
	}
	for _, c := range cases {
		s := sample(c.stopped)
		c.change(s)
		if got := ResultLine(s); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
