package fold

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

// testRun applies payloads to a state as the events of one run.
type testRun struct {
	t         *testing.T
	state     State
	iteration int
}

func startRun(t *testing.T) *testRun {
	f := &testRun{t: t}
	f.emit(ralph.EvRunStarted, ralph.RunStarted{
		Agent:    "fake",
		Checks:   []string{"go test"},
		Policy:   lenientPolicy(),
		Settings: json.RawMessage(`{"a":1}`),
	})
	return f
}

func (f *testRun) emit(kind ralph.EventType, data any) {
	f.t.Helper()
	e := ralph.Event{
		Version:   ralph.EventVersion,
		Seq:       f.state.Seq + 1,
		Time:      time.Unix(f.state.Seq, 0),
		Run:       "R1",
		Iteration: f.iteration,
		Type:      kind,
		Data:      data,
	}
	if err := f.state.Apply(e); err != nil {
		f.t.Fatal(err)
	}
}

// iterate folds one whole iteration and returns its verdict.
func (f *testRun) iterate(o ralph.AgentOutcome, checks ...ralph.CheckResult) ralph.Verdict {
	f.t.Helper()
	f.iteration++
	f.emit(ralph.EvIterationStarted, ralph.IterationStarted{})
	f.emit(ralph.EvAgentExited, o)
	for _, c := range checks {
		f.emit(ralph.EvCheckFinished, c)
	}
	return f.judge()
}

func (f *testRun) judge() ralph.Verdict {
	f.t.Helper()
	v := judge.Decide(f.state.Policy, f.state.History.Judge(ralph.Moment{}))
	f.emit(ralph.EvVerdict, ralph.VerdictReached{Verdict: v})
	return v
}

func TestApplyRefusesWhatItCannotKnow(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    ralph.Event
		want string
	}{
		{"a newer format", ralph.Event{Version: 2, Seq: 2},
			"event 2 has version 2; this program reads up to version 1: use a newer ralph"},
		{"a gap", ralph.Event{Version: 1, Seq: 3}, "event 3 follows event 1"},
		{"an event twice", ralph.Event{Version: 1, Seq: 1}, "event 1 follows event 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := startRun(t)
			before := f.state
			err := f.state.Apply(tt.e)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff(before, f.state, cmp.AllowUnexported(judge.History{})); diff != "" {
				t.Errorf("a refused event changed the state:\n%s", diff)
			}
		})
	}
}

func TestApplyPassesOverWhatOtherVersionsWrite(t *testing.T) {
	f := startRun(t)
	f.emit(ralph.EvSteering, json.RawMessage(`{"text":"later"}`))
	f.emit("from_the_future", json.RawMessage(`{}`))
	if f.state.Seq != 3 || f.state.LiveStatus() != ralph.StatusActive {
		t.Errorf("seq %d, status %s", f.state.Seq, f.state.LiveStatus())
	}
}

func TestFeedbackIsAboutTheLastIterationThatWorked(t *testing.T) {
	red := ralph.CheckResult{Name: "go test", ExitCode: 1, Output: "FAIL"}
	inProgress := promise.Status{State: "IN_PROGRESS", Tests: "PASSING", Recommendation: "next: b"}
	for _, tt := range []struct {
		name string
		play func(f *testRun)
		want ralph.Feedback
	}{
		{"a failed check", func(f *testRun) {
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK}, red)
		}, ralph.Feedback{Number: 1, Failed: []ralph.CheckResult{red}}},
		{"a refused claim", func(f *testRun) {
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Complete: true, CompleteTag: "DONE"}}, red)
		}, ralph.Feedback{
			Number: 1, Failed: []ralph.CheckResult{red},
			Refusals: []ralph.Refusal{{Code: "check_failed", Detail: "go test (exit 1) failed"}},
		}},
		{"green and no claim", func(f *testRun) {
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK}, ralph.CheckResult{Name: "go test", Passed: true})
		}, ralph.Feedback{Number: 1, GreenNoClaim: true}},
		{"an error, a mention, an invalid block", func(f *testRun) {
			said := promise.Report{Mentions: []string{"m"}, StatusProblem: "no RECOMMENDATION"}
			f.iterate(ralph.AgentOutcome{End: ralph.EndFailed, Error: "exit 1", Said: said})
		}, ralph.Feedback{Number: 1, Error: "exit 1", Mentions: []string{"m"}, StatusProblem: "no RECOMMENDATION"}},
		{"a missing block is a problem where one is required", func(f *testRun) {
			f.state.Policy.Status = ralph.StatusRequired
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK})
		}, ralph.Feedback{Number: 1, StatusProblem: "the block is missing"}},
		{"a usage limit taught nothing new", func(f *testRun) {
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK}, red)
			f.iterate(ralph.AgentOutcome{End: ralph.EndLimit, Error: "limit"})
		}, ralph.Feedback{Number: 2, Failed: []ralph.CheckResult{red}}},
		{"the last recommendation stays", func(f *testRun) {
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Status: &inProgress}}, red)
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK}, red)
		}, ralph.Feedback{Number: 2, Failed: []ralph.CheckResult{red}, Recommendation: "next: b"}},
		{"a mismatch is told once", func(f *testRun) {
			f.iteration++
			f.emit(ralph.EvIterationStarted, ralph.IterationStarted{})
			f.emit(ralph.EvAgentExited, ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Status: &inProgress}})
			f.emit(ralph.EvStatusBlock, ralph.StatusBlockSeen{Block: &inProgress, Mismatches: []string{"it lied"}})
			f.judge()
			if diff := cmp.Diff([]string{"it lied"}, f.state.Last.Mismatches); diff != "" {
				t.Errorf("mismatches after the iteration with the block (-want +got):\n%s", diff)
			}
			f.iterate(ralph.AgentOutcome{End: ralph.EndOK}, red)
		}, ralph.Feedback{Number: 2, Failed: []ralph.CheckResult{red}, Recommendation: "next: b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := startRun(t)
			tt.play(f)
			if diff := cmp.Diff(tt.want, f.state.Last, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("feedback (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResultTellsWhatIsKnownAndNothingElse(t *testing.T) {
	green := ralph.CheckResult{Name: "go test", Passed: true}
	plain := ralph.IterationResult{
		Iteration:    1,
		Claims:       []string{},
		TasksDone:    []string{},
		CheckResults: []ralph.CheckResult{},
		Refusals:     []string{},
		Counted:      true,
	}
	for _, tt := range []struct {
		name string
		play func(f *testRun)
		want ralph.Result
	}{
		{"nothing happened yet", func(*testRun) {}, ralph.Result{Status: ralph.StatusActive}},
		{"costs nobody knows are null", func(f *testRun) { f.iterate(ralph.AgentOutcome{End: ralph.EndOK}) },
			ralph.Result{Status: ralph.StatusActive, TotalIterations: 1, Iterations: []ralph.IterationResult{plain}}},
		{"a known zero is zero", func(f *testRun) { f.iterate(ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.0)}) },
			ralph.Result{
				Status: ralph.StatusActive, TotalIterations: 1, TotalCost: new(0.0),
				Iterations: []ralph.IterationResult{altered(plain, func(r *ralph.IterationResult) { r.Cost = new(0.0) })},
			}},
		{"a proven claim", func(f *testRun) {
			f.state.History.Baseline = []ralph.CheckResult{{Name: green.Name, ExitCode: 1}}
			v := f.iterate(ralph.AgentOutcome{
				Agent: "fake", End: ralph.EndOK, Steps: new(8), Cost: new(0.02), CostEstimated: true,
				Tokens: &ralph.Tokens{Input: 5}, Duration: ralph.Span(time.Second),
				Said: promise.Report{Complete: true, CompleteTag: "DONE", TasksDone: []string{"T-1"}},
			}, green)
			f.emit(ralph.EvRunStopped, ralph.RunStopped{
				Reason: v.Reason, Status: ralph.StatusCompleted, Detail: v.Detail, VerifiedBy: v.VerifiedBy,
				Elapsed: ralph.Span(2 * time.Second),
			})
		}, ralph.Result{
			Status: ralph.StatusCompleted, StopReason: ralph.AllChecksPassed, Success: true,
			Verified: true, VerifiedBy: []string{ralph.VerifiedChecks},
			Summary:         "the agent claims completion, and every check passes",
			TotalIterations: 1, TotalCost: new(0.02), CostEstimated: true,
			TotalTokens: &ralph.Tokens{Input: 5}, TotalDuration: ralph.Span(2 * time.Second),
			Iterations: []ralph.IterationResult{{
				Iteration: 1, Agent: "fake", StepsTaken: new(8), Cost: new(0.02), Duration: ralph.Span(time.Second),
				CompletionTagFound: true, Claims: []string{"DONE", "T-1:DONE"}, TasksDone: []string{},
				CheckResults:    []ralph.CheckResult{{Name: green.Name, Passed: true, Attribution: ralph.CheckFixed}},
				AllChecksPassed: true, Refusals: []string{}, Counted: true,
			}},
		}},
		{"a refused claim by block beside BLOCKED and DECIDE", func(f *testRun) {
			said := promise.Report{Complete: true, Blocked: new("no key"), Decide: new("a?")}
			v := f.iterate(ralph.AgentOutcome{End: ralph.EndFailed, Said: said})
			f.emit(ralph.EvRunStopped, ralph.RunStopped{
				Reason: v.Reason, ExitCode: 2, Status: ralph.StatusBlocked, Detail: v.Detail,
			})
		}, ralph.Result{
			Status: ralph.StatusBlocked, StopReason: ralph.Blocked, ExitCode: 2, Reason: "no key", Summary: "no key",
			TotalIterations: 1,
			Iterations: []ralph.IterationResult{altered(plain, func(r *ralph.IterationResult) {
				r.Claims = []string{"COMPLETE", "BLOCKED", "DECIDE"}
				r.Refusals = []string{"agent_failed", "contradiction", "no_evidence"}
				r.Error, r.ErrorClass = new("failed"), ralph.ClassBroken
			})},
		}},
		{"a question", func(f *testRun) {
			v := f.iterate(ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Decide: new("a?")}})
			f.emit(ralph.EvRunStopped, ralph.RunStopped{
				Reason: v.Reason, ExitCode: 3, Status: ralph.StatusNeedsDecision, Detail: v.Detail,
			})
		}, ralph.Result{
			Status: ralph.StatusNeedsDecision, StopReason: ralph.NeedsDecision, ExitCode: 3, Question: "a?", Summary: "a?",
			TotalIterations: 1,
			Iterations: []ralph.IterationResult{
				altered(plain, func(r *ralph.IterationResult) { r.Claims = []string{"DECIDE"} }),
			},
		}},
		{"an iteration under way", func(f *testRun) {
			f.iteration++
			f.emit(ralph.EvIterationStarted, ralph.IterationStarted{Elapsed: ralph.Span(3 * time.Second)})
			f.emit(ralph.EvAgentOutput, ralph.AgentOutput{
				Elapsed: ralph.Span(9 * time.Second), Tokens: &ralph.Tokens{Input: 7}, Cost: new(0.5),
			})
		}, ralph.Result{
			Status: ralph.StatusActive, TotalDuration: ralph.Span(9 * time.Second),
			TotalTokens: &ralph.Tokens{Input: 7}, TotalCost: new(0.5),
		}},
		{"an iteration that was cut", func(f *testRun) {
			f.iteration++
			f.emit(ralph.EvIterationStarted, ralph.IterationStarted{Elapsed: ralph.Span(3 * time.Second)})
			f.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: ralph.Span(9 * time.Second)})
			f.emit(ralph.EvRunResumed, ralph.RunResumed{
				Agent: "other", Policy: lenientPolicy(), Interrupted: 1, Settings: json.RawMessage(`{"a":2}`),
			})
		}, ralph.Result{
			Status: ralph.StatusActive, TotalIterations: 1, TotalDuration: ralph.Span(9 * time.Second),
			Iterations: []ralph.IterationResult{altered(plain, func(r *ralph.IterationResult) {
				r.Agent, r.Error, r.ErrorClass, r.Counted = "fake", new("interrupted"), ralph.ClassKilled, false
				r.Duration = ralph.Span(6 * time.Second) // from its start to its last event
			})},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := startRun(t)
			tt.play(f)
			tt.want.RunID = "R1"
			got := f.state.Result()
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			text, err := json.Marshal(got)
			if err != nil || strings.Contains(string(text), `"verified_by":null`) ||
				strings.Contains(string(text), `"iterations":null`) {
				t.Errorf("lists must be lists: %s %v", text, err)
			}
		})
	}
}

func altered(r ralph.IterationResult, change func(*ralph.IterationResult)) ralph.IterationResult {
	change(&r)
	return r
}

func TestLiveStatusFollowsWaits(t *testing.T) {
	f := startRun(t)
	var got []ralph.Status
	note := func() { got = append(got, f.state.LiveStatus()) }
	note()
	f.emit(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitPause})
	note()
	f.emit(ralph.EvNotice, ralph.Notice{Code: "x"})
	note()
	f.emit(ralph.EvAgentOutput, ralph.AgentOutput{})
	note()
	f.emit(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitLimit})
	note()
	f.emit(ralph.EvIterationStarted, ralph.IterationStarted{})
	note()
	f.emit(ralph.EvRunStopped, ralph.RunStopped{Reason: ralph.Timeout, Status: ralph.StatusExhausted})
	note()
	f.emit(ralph.EvRunResumed, ralph.RunResumed{Policy: lenientPolicy()})
	note()
	want := []ralph.Status{
		ralph.StatusActive,
		ralph.StatusPaused,
		ralph.StatusPaused,
		ralph.StatusPaused,
		ralph.StatusWaiting,
		ralph.StatusActive,
		ralph.StatusExhausted,
		ralph.StatusActive,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestStateKeepsNoMoreThanItNeeds(t *testing.T) {
	f := startRun(t)
	f.state.Policy.CallsPerHour = 3
	for i := range 200 {
		f.emit(ralph.EvWarning, ralph.Notice{Code: "w", Text: fmt.Sprint(i)})
		f.iterate(ralph.AgentOutcome{End: ralph.EndOK})
	}
	if len(f.state.Warnings) != maxWarnings || len(f.state.Calls) != 3 {
		t.Errorf("%d warnings, %d calls", len(f.state.Warnings), len(f.state.Calls))
	}
}

func TestABaselineTakenTwiceCountsOnce(t *testing.T) {
	f := startRun(t)
	f.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: "a", ExitCode: 1})
	f.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: "b", Passed: true})
	f.emit(ralph.EvRunResumed, ralph.RunResumed{Policy: lenientPolicy()})
	f.emit(ralph.EvTreeSnapshot, ralph.TreeState{Known: true, Hash: "h1"})
	f.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: "a", Passed: true})
	f.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: "b", Passed: true})
	want := []ralph.CheckResult{{Name: "a", Passed: true}, {Name: "b", Passed: true}}
	if diff := cmp.Diff(want, f.state.History.Baseline); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
}

func TestResultNamesEverySandboxThatAgentsHad(t *testing.T) {
	began := ralph.IterationStarted{Ordinal: 1}
	for _, tt := range []struct {
		name   string
		events []any
		want   string
	}{
		{"one", []any{ralph.RunStarted{Sandbox: "bwrap"}, began, ralph.RunResumed{Sandbox: "bwrap"}}, "bwrap"},
		{"another later", []any{ralph.RunStarted{Sandbox: "none"}, began, ralph.RunResumed{Sandbox: "bwrap"}}, "none, bwrap"},
		{"no agent had the first", []any{ralph.RunStarted{Sandbox: "none"}, ralph.RunResumed{Sandbox: "bwrap"}}, "bwrap"},
		{"a person accepts", []any{
			ralph.RunStarted{Sandbox: "bwrap"}, began, ralph.RunResumed{Sandbox: "none", Accepting: true},
		}, "bwrap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s State
			for i, data := range tt.events {
				e := ralph.Event{Seq: int64(i + 1), Version: ralph.EventVersion, Data: data}
				if _, isBegun := data.(ralph.IterationStarted); isBegun {
					e.Iteration = 1
				}
				if err := s.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.Result().Sandbox; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// lenientPolicy is the default policy, except that claims need not be shown, as in logs of earlier versions.
// Tests of that rule use the default.
func lenientPolicy() ralph.Policy {
	p := ralph.DefaultPolicy()
	p.Shown, p.TestChange = "", ralph.TestsWarn
	return p
}
