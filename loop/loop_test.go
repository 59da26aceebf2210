package loop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

func TestEndsOfARun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		world  func(w *world)
		turns  []turn
		want   ralph.StopReason
		agents int
	}{
		{
			"a claim that the checks prove", func(w *world) { w.checker.results = []ralph.CheckResult{isRed, isGreen} },
			[]turn{done()}, ralph.AllChecksPassed, 1,
		},
		{"a claim that is refused, then proven", func(w *world) {
			w.checker.results = []ralph.CheckResult{isRed, isRed, isGreen}
		}, []turn{done()}, ralph.AllChecksPassed, 2},
		{"the work is proven at the cap", func(w *world) {
			w.checker.results, w.policy.MaxIterations = []ralph.CheckResult{isRed, isRed, isGreen}, 2
		}, []turn{nothing(), done()}, ralph.AllChecksPassed, 2},
		{"green checks without a claim go to the cap", func(w *world) {
			w.checker.results, w.policy.MaxIterations = []ralph.CheckResult{isGreen}, 2
		}, []turn{nothing()}, ralph.MaxIterations, 2},
		{"gate.claim optional", func(w *world) {
			w.checker.results, w.policy.Claim = []ralph.CheckResult{isRed, isRed, isGreen}, ralph.ClaimOptional
		}, []turn{nothing()}, ralph.AllChecksPassed, 2},
		{"BLOCKED", nil, []turn{nothing(), says(promise.Report{Blocked: new("no key")})}, ralph.Blocked, 2},
		{"DECIDE", nil, []turn{says(promise.Report{Decide: new("a or b?")})}, ralph.NeedsDecision, 1},
		{"the cap", func(w *world) { w.policy.MaxIterations = 4 }, []turn{nothing()}, ralph.MaxIterations, 4},
		{
			"money", func(w *world) { w.policy.MaxCost = 0.5 },
			[]turn{ends(ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.25)})}, ralph.MaxCost, 2,
		},
		{
			"tokens", func(w *world) { w.policy.MaxTokens = 100 },
			[]turn{ends(ralph.AgentOutcome{End: ralph.EndOK, Tokens: &ralph.Tokens{Input: 30, CacheRead: 10}})}, ralph.MaxTokens,
			3,
		},
		{
			"an agent that fails three times", nil, []turn{ends(ralph.AgentOutcome{End: ralph.EndFailed, Error: "exit 1"})},
			ralph.AgentFailed, 3,
		},
		{"an agent that fails, and recovers", func(w *world) { w.policy.MaxIterations = 6 },
			[]turn{
				ends(ralph.AgentOutcome{End: ralph.EndFailed}),
				ends(ralph.AgentOutcome{End: ralph.EndFailed}),
				nothing(),
				ends(ralph.AgentOutcome{End: ralph.EndFailed}),
				ends(ralph.AgentOutcome{End: ralph.EndFailed}),
				nothing(),
			}, ralph.MaxIterations, 6},
		{
			"a login that failed", nil, []turn{ends(ralph.AgentOutcome{End: ralph.EndAuth, Error: "log in"})}, ralph.AuthError,
			1,
		},
		{
			"a baseline check that cannot run", func(w *world) { w.checker.results = []ralph.CheckResult{isBroken} },
			[]turn{done()}, ralph.CheckBroken, 0,
		},
		{
			"a baseline check that does not end", func(w *world) { w.checker.results = []ralph.CheckResult{{TimedOut: true}} },
			[]turn{done()}, ralph.CheckBroken, 0,
		},
		{"no baseline, a check that cannot run twice", func(w *world) {
			w.policy.Baseline, w.checker.results = false, []ralph.CheckResult{isBroken}
		}, []turn{done()}, ralph.CheckBroken, 2},
		{"a check that cannot run once in a while", func(w *world) {
			w.policy.MaxIterations, w.checker.results = 3, []ralph.CheckResult{isRed, isBroken, isRed, isBroken}
		}, []turn{nothing()}, ralph.MaxIterations, 3},
		{
			"the breaker: three idle, one diagnosis", func(w *world) { w.tree.frozen = true }, []turn{nothing()},
			ralph.CircuitOpen, 4,
		},
		{
			"the breaker without a diagnosis", func(w *world) { w.tree.frozen, w.policy.Breaker.Diagnose = true, false },
			[]turn{nothing()}, ralph.CircuitOpen, 3,
		},
		{
			"no check at all, but allowed", func(w *world) { w.cfg.Checks, w.policy.AllowUnverified = nil, true },
			[]turn{done()}, ralph.Unverified, 1,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorld(t, tt.turns...)
			if tt.world != nil {
				tt.world(w)
			}
			result := w.ends(tt.want, tt.agents)
			if result.Success != (ralph.StatusOf(tt.want) == ralph.StatusCompleted) || result.TotalIterations != tt.agents {
				t.Errorf("success %v, %d iterations", result.Success, result.TotalIterations)
			}
			if kept := text.LastOf(w.log.results, 1); !cmp.Equal(kept, []ralph.Result{result}) {
				t.Errorf("the kept result differs from the given one:\n%s", cmp.Diff(kept, []ralph.Result{result}))
			}
			if w.log.synced != len(w.log.events) {
				t.Errorf("%d of %d events are durable at the end", w.log.synced, len(w.log.events))
			}
		})
	}
}

func TestEventsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			t,
			says(promise.Report{
				Complete: true, CompleteTag: "DONE", CompleteText: "all", Mentions: []string{"m"}, Unknown: []string{"FOO"},
			}),
			done(),
		)
		w.checker.results = []ralph.CheckResult{isRed, isRed, isGreen}
		w.ends(ralph.AllChecksPassed, 2)
		iteration := func(inner ...ralph.EventType) []ralph.EventType {
			begin := []ralph.EventType{
				ralph.EvIterationStarted, ralph.EvPromptBuilt, ralph.EvAgentStarted, ralph.EvAgentOutput, ralph.EvAgentExited,
				ralph.EvTreeQuiet,
			}
			return append(append(begin, inner...), ralph.EvVerdict)
		}
		want := slices.Concat(
			[]ralph.EventType{ralph.EvRunStarted, ralph.EvTreeSnapshot, ralph.EvCheckStarted, ralph.EvCheckFinished},
			iteration(
				ralph.EvSignal,
				ralph.EvWarning,
				ralph.EvTreeSnapshot,
				ralph.EvCheckStarted,
				ralph.EvCheckFinished,
				ralph.EvClaimRefused,
			),
			iteration(ralph.EvSignal, ralph.EvTreeSnapshot, ralph.EvCheckStarted, ralph.EvCheckFinished),
			[]ralph.EventType{ralph.EvRunStopped},
		)
		if diff := cmp.Diff(want, slices.Compact(w.log.types())); diff != "" { // summaries come in a row
			t.Errorf("events (-want +got):\n%s", diff)
		}
		signals := []ralph.SignalSeen{{Kind: "DONE", Text: "all"}, {Kind: "mention", Text: "m"}, {Kind: "COMPLETE"}}
		if diff := cmp.Diff(signals, payloads[ralph.SignalSeen](w.log)); diff != "" {
			t.Errorf("signals (-want +got):\n%s", diff)
		}
		inputs := []ralph.TreeInput{
			{Run: "R1"},
			{BaseHead: "c0", Claimed: true, Run: "R1", Iteration: 1},
			{BaseHead: "c0", Claimed: true, Run: "R1", Iteration: 2},
		}
		if diff := cmp.Diff(inputs, w.tree.inputs); diff != "" {
			t.Errorf("what the tree was asked (-want +got):\n%s", diff)
		}
	})
}

func TestThePhasesAreDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			if all, last := w.log.durable(); !all || last != ralph.EvAgentStarted {
				t.Errorf("an agent starts; durable is %v, and the last event is %s", all, last)
			}
			return works(ctx, in, ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Blocked: new("x")}})
		}}
		w.checker.before = func(_ context.Context, call int) {
			exited := slices.Index(w.log.types(), ralph.EvAgentExited)
			if call > 1 && (exited < 0 || w.log.synced <= exited) {
				t.Errorf("the checks run, and what the agent did is not durable")
			}
		}
		w.ends(ralph.Blocked, 1)
	})
}

func TestChecksOnClaimOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nothing(), nothing(), done())
		w.policy.ChecksWhen, w.checker.results = ralph.ChecksOnClaim, []ralph.CheckResult{isRed, isGreen}
		w.ends(ralph.AllChecksPassed, 3)
		if w.checker.calls != 2 {
			t.Errorf("%d checks were run, want one at the baseline and one for the claim", w.checker.calls)
		}
	})
}

func TestEveryCheckRunsOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, done())
		w.cfg.Checks, w.cfg.Dir = []string{"a", "b"}, t.TempDir()
		w.checker.results = []ralph.CheckResult{isRed, isGreen, isGreen}
		result := w.ends(ralph.AllChecksPassed, 1)
		var names []string
		for _, in := range w.checker.inputs {
			names = append(names, in.Name)
			if in.Timeout != 120*time.Second || in.Dir != w.cfg.Dir {
				t.Errorf("check input %+v", in)
			}
		}
		if diff := cmp.Diff([]string{"a", "b", "a", "b"}, names); diff != "" {
			t.Errorf("checks (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{ralph.VerifiedChecks, ralph.VerifiedUnchanged}, result.VerifiedBy); diff != "" {
			t.Errorf("verified_by (-want +got):\n%s", diff)
		}
	})
}

func TestTheNextPromptTellsWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, done(), nothing(), nothing(), nothing(), nothing())
		w.tree.frozen = true
		w.ends(ralph.CircuitOpen, 4)
		for i, wants := range [][]string{
			{"iteration 1 of 10", "make it green", "`go test`"},
			{"iteration 2 of 10", "Checks that failed last time", "check_failed: go test (exit 1) failed"},
			{"iteration 3 of 10", "Checks that failed last time"},
			{"iteration 4 of 10", "Diagnosis only", "3 iterations in a row without progress"},
		} {
			for _, want := range wants {
				if !strings.Contains(w.agent.inputs[i].Prompt, want) {
					t.Errorf("prompt %d lacks %q:\n%s", i+1, want, w.agent.inputs[i].Prompt)
				}
			}
		}
		var diagnoses []bool
		for _, s := range payloads[ralph.IterationStarted](w.log) {
			diagnoses = append(diagnoses, s.Diagnose)
		}
		if diff := cmp.Diff([]bool{false, false, false, true}, diagnoses); diff != "" {
			t.Errorf("diagnose (-want +got):\n%s", diff)
		}
		moves := []ralph.BreakerMoved{
			{From: ralph.BreakerClosed, To: ralph.BreakerDiagnose, Reason: "3 iterations in a row without progress"},
			{From: ralph.BreakerDiagnose, To: ralph.BreakerOpen, Reason: "3 iterations in a row without progress"},
		}
		if diff := cmp.Diff(moves, payloads[ralph.BreakerMoved](w.log)); diff != "" {
			t.Errorf("breaker (-want +got):\n%s", diff)
		}
	})
}

func TestASpecIsReadAnewAndMayVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		spec := filepath.Join(dir, "spec.md")
		write := func(text string) {
			if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("\ufefffirst spec")
		w := newWorld(
			t,
			nothing().then(func() { write("second spec") }),
			nothing().then(func() { write(" \n") }),
			nothing().then(func() {
				os.Remove(spec)
			}),
			nothing(),
		)
		w.cfg.Task, w.cfg.SpecFile, w.cfg.Dir, w.policy.MaxIterations = "", "spec.md", dir, 4
		w.ends(ralph.MaxIterations, 4)
		for i, want := range []string{"\n\nfirst spec\n", "second spec", "second spec", "second spec"} {
			if !strings.Contains(w.agent.inputs[i].Prompt, want) {
				t.Errorf("prompt %d lacks %q:\n%s", i+1, want, w.agent.inputs[i].Prompt)
			}
		}
		if diff := cmp.Diff([]string{"goal_unreadable", "goal_unreadable"}, notices(w.log)); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
	})
}

func TestARunThatCannotBeginIsAnError(t *testing.T) {
	for name, point := range map[string]func(c *Config){
		"spec":   func(c *Config) { c.SpecFile = "missing.md" },
		"prompt": func(c *Config) { c.PromptFile = "missing.md" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, done())
			w.cfg.Dir = t.TempDir()
			point(&w.cfg)
			w.make()
			result, err := w.loop.Run(t.Context())
			if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "read "+name+": ") ||
				!cmp.Equal(result, ralph.Result{}) || len(w.log.events) != 0 {
				t.Errorf("error %v, result %+v, %d events", err, result, len(w.log.events))
			}
		})
	}
}

func TestATreeThatCannotBeHashedIsNoProgressHeldAgainstAnybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nothing())
		w.tree.err, w.policy.MaxIterations = errors.New("git: index locked"), 5
		w.policy.Breaker.SameError = 0
		w.ends(ralph.MaxIterations, 5)
		if got := len(notices(w.log)); got != 6 {
			t.Errorf("%d warnings, want one for the base and one for each iteration", got)
		}
	})
}

func TestBugsEndInTheirOwnCode(t *testing.T) {
	bug := func() { panic("index out of range") }
	for name, plant := range map[string]func(w *world){
		"agent":   func(w *world) { w.agent.turns = []turn{nothing().then(bug)} },
		"checker": func(w *world) { w.checker.before = func(context.Context, int) { bug() } },
		"prompter": func(w *world) {
			w.options = append(w.options, WithPrompter(promptFunc(func(ralph.PromptInput) (ralph.Prompt, error) { panic("x") })))
		},
		"mailbox": func(w *world) {
			w.options = append(w.options, WithInbox(fakeInbox(func() (ralph.Orders, error) { panic("x") })))
		},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, nothing())
			plant(w)
			result := w.run(t.Context())
			if result.StopReason != ralph.Internal || result.ExitCode != 70 || result.Status != ralph.StatusFailed ||
				!strings.HasPrefix(result.Summary, "a bug in ralph: ") {
				t.Errorf("result %+v", result)
			}
			if !slices.Contains(notices(w.log), "panic") || w.log.stopped().Reason != ralph.Internal {
				t.Errorf("the log tells %v", w.log.types())
			}
		})
	}
	bubble(t, "a prompter's error", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.options = append(w.options, WithPrompter(promptFunc(func(ralph.PromptInput) (ralph.Prompt, error) {
			return ralph.Prompt{}, errors.New("no template")
		})))
		if result := w.ends(ralph.Internal, 0); result.Summary != "build prompt: no template" {
			t.Errorf("summary %q", result.Summary)
		}
	})
}

func TestObserversSeeTheLogAndStateTheyAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		var seen []ralph.Event
		var state fold.State
		w.options = append(w.options, WithState(&state), WithObserver(func(e ralph.Event) {
			if state.Seq != e.Seq {
				t.Errorf("told of event %d with the state of %d", e.Seq, state.Seq)
			}
			seen = append(seen, e)
		}), WithNotice(ralph.Notice{Code: "hello", Text: "world"}))
		w.ends(ralph.AllChecksPassed, 1)
		if diff := cmp.Diff(w.log.events, seen); diff != "" {
			t.Errorf("log (-) and observer (+) differ:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"hello"}, notices(w.log)); diff != "" || w.loop.ID() != "R1" ||
			w.loop.State() != &state {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
	})
}

func TestAStatusBlockIsHeldAgainstWhatWasSeen(t *testing.T) {
	status := func(tests string, files int) *promise.Status {
		return &promise.Status{
			State: "IN_PROGRESS", Tests: tests, WorkType: "TESTING", FilesModified: files, Recommendation: "go on",
		}
	}
	for _, tt := range []struct {
		name   string
		block  *promise.Status
		result ralph.CheckResult
		frozen bool
		want   []string
	}{
		{"it tells the truth: red and changed", status("FAILING", 1), isRed, false, nil},
		{"it tells the truth: green and unchanged", status("PASSING", 0), isGreen, true, nil},
		{"it did not run the tests", status("NOT_RUN", 0), isGreen, true, nil},
		{
			"PASSING beside a red check", status("PASSING", 1), isRed, false,
			[]string{"TESTS_STATUS says PASSING, but a check failed"},
		},
		{
			"FAILING beside green checks", status("FAILING", 1), isGreen, false,
			[]string{"TESTS_STATUS says FAILING, but every check passed"},
		},
		{
			"files that did not change", status("NOT_RUN", 3), isRed, true,
			[]string{"FILES_MODIFIED says 3, but no file changed"},
		},
		{"files that did change", status("NOT_RUN", 0), isRed, false, []string{"FILES_MODIFIED says 0, but files changed"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := newWorld(t, says(promise.Report{Status: tt.block}), nothing())
			w.checker.results, w.tree.frozen, w.policy.MaxIterations = []ralph.CheckResult{tt.result}, tt.frozen, 2
			w.ends(ralph.MaxIterations, 2)
			want := []ralph.StatusBlockSeen{{Block: tt.block, Mismatches: tt.want}}
			if diff := cmp.Diff(want, payloads[ralph.StatusBlockSeen](w.log)); diff != "" {
				t.Errorf("status blocks (-want +got):\n%s", diff)
			}
			for _, mismatch := range tt.want {
				if !strings.Contains(w.agent.inputs[1].Prompt, mismatch) {
					t.Errorf("the agent is not told %q:\n%s", mismatch, w.agent.inputs[1].Prompt)
				}
			}
		})
	}
	bubble(t, "gate.status off: nobody looks", func(t *testing.T) {
		w := newWorld(t, says(promise.Report{Status: status("PASSING", 9)}))
		w.policy.Status, w.policy.MaxIterations = ralph.StatusOff, 1
		w.ends(ralph.MaxIterations, 1)
		if got := payloads[ralph.StatusBlockSeen](w.log); got != nil {
			t.Errorf("status blocks %+v", got)
		}
	})
}

// changingTree can tell what changed.
type changingTree struct {
	*fakeTree
	err error
}

func (c changingTree) Changed(_ context.Context, base string) (string, error) {
	return "2 files since " + base, c.err
}

func TestTheEndTellsWhatChanged(t *testing.T) {
	for name, want := range map[string]string{"": "2 files since c0", "git failed": ""} {
		bubble(t, "error: "+name, func(t *testing.T) {
			w := newWorld(t, says(promise.Report{Blocked: new("x")}))
			tree := changingTree{fakeTree: w.tree}
			if name != "" {
				tree.err = errors.New(name)
			}
			w.options = append(w.options, WithTree(tree))
			w.ends(ralph.Blocked, 1)
			if got := w.log.stopped().Changed; got != want {
				t.Errorf("changed %q, want %q", got, want)
			}
		})
	}
}
