package ralph

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph/promise"
)

// folding applies payloads one after the other as events of one run.
type folding struct {
	t         *testing.T
	state     State
	iteration int
}

func fold(t *testing.T) *folding {
	f := &folding{t: t}
	f.see(EvRunStarted, RunStarted{Agent: "fake", Checks: []string{"go test"}, Policy: DefaultPolicy(), Settings: json.RawMessage(`{"a":1}`)})
	return f
}

func (f *folding) see(kind EventType, data any) {
	f.t.Helper()
	e := Event{Version: EventVersion, Seq: f.state.Seq + 1, Time: time.Unix(f.state.Seq, 0), Run: "R1", Iteration: f.iteration, Type: kind, Data: data}
	if err := f.state.Apply(e); err != nil {
		f.t.Fatal(err)
	}
}

// iterate folds one whole iteration and gives its verdict.
func (f *folding) iterate(o AgentOutcome, checks ...CheckResult) Verdict {
	f.t.Helper()
	f.iteration++
	f.see(EvIterationStarted, IterationStarted{})
	f.see(EvAgentExited, o)
	for _, c := range checks {
		f.see(EvCheckFinished, c)
	}
	return f.judge()
}

func (f *folding) judge() Verdict {
	f.t.Helper()
	v := Decide(f.state.Policy, f.state.History.Judge(Moment{}))
	f.see(EvVerdict, VerdictReached{Verdict: v})
	return v
}

func TestApplyRefusesWhatItCannotKnow(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    Event
		want string
	}{
		{"a newer format", Event{Version: 2, Seq: 2}, "event 2 has version 2; this program reads up to version 1: use a newer ralph"},
		{"a gap", Event{Version: 1, Seq: 3}, "event 3 follows event 1"},
		{"an event twice", Event{Version: 1, Seq: 1}, "event 1 follows event 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fold(t)
			before := f.state
			err := f.state.Apply(tt.e)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff(before, f.state, cmp.AllowUnexported(History{})); diff != "" {
				t.Errorf("a refused event changed the state:\n%s", diff)
			}
		})
	}
}

func TestApplyPassesOverWhatOtherVersionsWrite(t *testing.T) {
	f := fold(t)
	f.see(EvSteering, json.RawMessage(`{"text":"later"}`))
	f.see("from_the_future", json.RawMessage(`{}`))
	if f.state.Seq != 3 || f.state.LiveStatus() != StatusActive {
		t.Errorf("seq %d, status %s", f.state.Seq, f.state.LiveStatus())
	}
}

func TestFeedbackIsAboutTheLastIterationThatWorked(t *testing.T) {
	red := CheckResult{Name: "go test", ExitCode: 1, Output: "FAIL"}
	inProgress := promise.Status{State: "IN_PROGRESS", Tests: "PASSING", Recommendation: "next: b"}
	for _, tt := range []struct {
		name string
		play func(f *folding)
		want Feedback
	}{
		{"a failed check", func(f *folding) { f.iterate(AgentOutcome{End: EndOK}, red) }, Feedback{Number: 1, Failed: []CheckResult{red}}},
		{"a refused claim", func(f *folding) {
			f.iterate(AgentOutcome{End: EndOK, Said: promise.Report{Complete: true, CompleteTag: "DONE"}}, red)
		}, Feedback{Number: 1, Failed: []CheckResult{red}, Refusals: []Refusal{{"check_failed", "go test (exit 1) failed"}}}},
		{"green and no claim", func(f *folding) { f.iterate(AgentOutcome{End: EndOK}, CheckResult{Name: "go test", Passed: true}) }, Feedback{Number: 1, GreenNoClaim: true}},
		{"an error, a mention, an invalid block", func(f *folding) {
			f.iterate(AgentOutcome{End: EndFailed, Error: "exit 1", Said: promise.Report{Mentions: []string{"m"}, StatusProblem: "no RECOMMENDATION"}})
		}, Feedback{Number: 1, Error: "exit 1", Mentions: []string{"m"}, StatusProblem: "no RECOMMENDATION"}},
		{"a missing block is a problem where one is required", func(f *folding) {
			f.state.Policy.Status = StatusRequired
			f.iterate(AgentOutcome{End: EndOK})
		}, Feedback{Number: 1, StatusProblem: "the block is missing"}},
		{"a usage limit taught nothing new", func(f *folding) {
			f.iterate(AgentOutcome{End: EndOK}, red)
			f.iterate(AgentOutcome{End: EndLimit, Error: "limit"})
		}, Feedback{Number: 2, Failed: []CheckResult{red}}},
		{"the last recommendation stays", func(f *folding) {
			f.iterate(AgentOutcome{End: EndOK, Said: promise.Report{Status: &inProgress}}, red)
			f.iterate(AgentOutcome{End: EndOK}, red)
		}, Feedback{Number: 2, Failed: []CheckResult{red}, Recommendation: "next: b"}},
		{"a mismatch is told once", func(f *folding) {
			f.iteration++
			f.see(EvIterationStarted, IterationStarted{})
			f.see(EvAgentExited, AgentOutcome{End: EndOK, Said: promise.Report{Status: &inProgress}})
			f.see(EvStatusBlock, StatusBlockSeen{Block: &inProgress, Mismatches: []string{"it lied"}})
			f.judge()
			if diff := cmp.Diff([]string{"it lied"}, f.state.Last.Mismatches); diff != "" {
				t.Errorf("mismatches after the iteration with the block (-want +got):\n%s", diff)
			}
			f.iterate(AgentOutcome{End: EndOK}, red)
		}, Feedback{Number: 2, Failed: []CheckResult{red}, Recommendation: "next: b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fold(t)
			tt.play(f)
			if diff := cmp.Diff(tt.want, f.state.Last, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("feedback (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResultTellsWhatIsKnownAndNothingElse(t *testing.T) {
	green := CheckResult{Name: "go test", Passed: true}
	plain := IterationResult{
		Iteration: 1, Claims: []string{}, TasksDone: []string{}, CheckResults: []CheckResult{}, Refusals: []string{}, Counted: true,
	}
	for _, tt := range []struct {
		name string
		play func(f *folding)
		want Result
	}{
		{"nothing happened yet", func(*folding) {}, Result{Status: StatusActive}},
		{"costs nobody knows are null", func(f *folding) { f.iterate(AgentOutcome{End: EndOK}) },
			Result{Status: StatusActive, TotalIterations: 1, Iterations: []IterationResult{plain}}},
		{"a known zero is zero", func(f *folding) { f.iterate(AgentOutcome{End: EndOK, Cost: new(0.0)}) },
			Result{Status: StatusActive, TotalIterations: 1, TotalCost: new(0.0), Iterations: []IterationResult{
				altered(plain, func(r *IterationResult) { r.Cost = new(0.0) }),
			}}},
		{"a proven claim", func(f *folding) {
			f.state.History.Baseline = []CheckResult{{Name: green.Name, ExitCode: 1}}
			v := f.iterate(AgentOutcome{
				Agent: "fake", End: EndOK, Steps: new(8), Cost: new(0.02), CostEstimated: true, Tokens: &Tokens{Input: 5}, Duration: Span(time.Second),
				Said: promise.Report{Complete: true, CompleteTag: "DONE", TasksDone: []string{"T-1"}},
			}, green)
			f.see(EvRunStopped, RunStopped{Reason: v.Reason, Status: StatusCompleted, Detail: v.Detail, VerifiedBy: v.VerifiedBy, Elapsed: Span(2 * time.Second)})
		}, Result{
			Status: StatusCompleted, StopReason: AllChecksPassed, Success: true, Verified: true, VerifiedBy: []string{VerifiedChecks},
			Summary: "the claim stands and every check is green", TotalIterations: 1, TotalCost: new(0.02), CostEstimated: true,
			TotalTokens: &Tokens{Input: 5}, TotalDuration: Span(2 * time.Second),
			Iterations: []IterationResult{{
				Iteration: 1, Agent: "fake", StepsTaken: new(8), Cost: new(0.02), Duration: Span(time.Second), CompletionTagFound: true,
				Claims: []string{"DONE", "T-1:DONE"}, TasksDone: []string{}, CheckResults: []CheckResult{{Name: green.Name, Passed: true, Attribution: CheckFixed}}, AllChecksPassed: true, Refusals: []string{}, Counted: true,
			}},
		}},
		{"a refused claim by block beside BLOCKED and DECIDE", func(f *folding) {
			v := f.iterate(AgentOutcome{End: EndFailed, Said: promise.Report{Complete: true, Blocked: new("no key"), Decide: new("a?")}})
			f.see(EvRunStopped, RunStopped{Reason: v.Reason, ExitCode: 2, Status: StatusBlocked, Detail: v.Detail})
		}, Result{
			Status: StatusBlocked, StopReason: Blocked, ExitCode: 2, Reason: "no key", Summary: "no key", TotalIterations: 1,
			Iterations: []IterationResult{altered(plain, func(r *IterationResult) {
				r.Claims, r.Refusals, r.Error = []string{"COMPLETE", "BLOCKED", "DECIDE"}, []string{"agent_failed", "contradiction", "no_evidence"}, new("failed")
				r.ErrorClass = ClassBroken
			})},
		}},
		{"a question", func(f *folding) {
			v := f.iterate(AgentOutcome{End: EndOK, Said: promise.Report{Decide: new("a?")}})
			f.see(EvRunStopped, RunStopped{Reason: v.Reason, ExitCode: 3, Status: StatusNeedsDecision, Detail: v.Detail})
		}, Result{
			Status: StatusNeedsDecision, StopReason: NeedsDecision, ExitCode: 3, Question: "a?", Summary: "a?", TotalIterations: 1,
			Iterations: []IterationResult{altered(plain, func(r *IterationResult) { r.Claims = []string{"DECIDE"} })},
		}},
		{"an iteration under way", func(f *folding) {
			f.iteration++
			f.see(EvIterationStarted, IterationStarted{Elapsed: Span(3 * time.Second)})
			f.see(EvAgentOutput, AgentOutput{Elapsed: Span(9 * time.Second), Tokens: &Tokens{Input: 7}, Cost: new(0.5)})
		}, Result{Status: StatusActive, TotalDuration: Span(9 * time.Second), TotalTokens: &Tokens{Input: 7}, TotalCost: new(0.5)}},
		{"an iteration that was cut", func(f *folding) {
			f.iteration++
			f.see(EvIterationStarted, IterationStarted{Elapsed: Span(3 * time.Second)})
			f.see(EvAgentOutput, AgentOutput{Elapsed: Span(9 * time.Second)})
			f.see(EvRunResumed, RunResumed{Agent: "other", Policy: DefaultPolicy(), Interrupted: 1, Settings: json.RawMessage(`{"a":2}`)})
		}, Result{Status: StatusActive, TotalIterations: 1, TotalDuration: Span(9 * time.Second), Iterations: []IterationResult{
			altered(plain, func(r *IterationResult) {
				r.Agent, r.Error, r.ErrorClass, r.Counted = "fake", new("interrupted"), ClassKilled, false
				r.Duration = Span(6 * time.Second) // from its start to the last sign of it
			}),
		}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fold(t)
			tt.play(f)
			tt.want.RunID = "R1"
			got := f.state.Result()
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if text, err := json.Marshal(got); err != nil || strings.Contains(string(text), `"verified_by":null`) || strings.Contains(string(text), `"iterations":null`) {
				t.Errorf("lists must be lists: %s %v", text, err)
			}
		})
	}
}

func altered(r IterationResult, change func(*IterationResult)) IterationResult {
	change(&r)
	return r
}

func TestLiveStatusFollowsWaits(t *testing.T) {
	f := fold(t)
	var got []Status
	note := func() { got = append(got, f.state.LiveStatus()) }
	note()
	f.see(EvLimitWait, Waiting{For: WaitPause})
	note()
	f.see(EvNotice, Notice{Code: "x"})
	note()
	f.see(EvAgentOutput, AgentOutput{})
	note()
	f.see(EvLimitWait, Waiting{For: WaitLimit})
	note()
	f.see(EvIterationStarted, IterationStarted{})
	note()
	f.see(EvRunStopped, RunStopped{Reason: Timeout, Status: StatusExhausted})
	note()
	f.see(EvRunResumed, RunResumed{Policy: DefaultPolicy()})
	note()
	want := []Status{StatusActive, StatusPaused, StatusPaused, StatusPaused, StatusWaiting, StatusActive, StatusExhausted, StatusActive}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestStateKeepsNoMoreThanItNeeds(t *testing.T) {
	f := fold(t)
	f.state.Policy.CallsPerHour = 3
	for i := range 200 {
		f.see(EvWarning, Notice{Code: "w", Text: fmt.Sprint(i)})
		f.iterate(AgentOutcome{End: EndOK})
	}
	if len(f.state.Warnings) != maxWarnings || len(f.state.Calls) != 3 {
		t.Errorf("%d warnings, %d calls", len(f.state.Warnings), len(f.state.Calls))
	}
}

func TestABaselineTakenTwiceCountsOnce(t *testing.T) {
	f := fold(t)
	f.see(EvCheckFinished, CheckResult{Name: "a", ExitCode: 1})
	f.see(EvCheckFinished, CheckResult{Name: "b", Passed: true})
	f.see(EvRunResumed, RunResumed{Policy: DefaultPolicy()})
	f.see(EvTreeSnapshot, TreeState{Known: true, Hash: "h1"})
	f.see(EvCheckFinished, CheckResult{Name: "a", Passed: true})
	f.see(EvCheckFinished, CheckResult{Name: "b", Passed: true})
	want := []CheckResult{{Name: "a", Passed: true}, {Name: "b", Passed: true}}
	if diff := cmp.Diff(want, f.state.History.Baseline); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
}
