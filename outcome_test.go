package ralph

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExitCodes(t *testing.T) {
	type end struct {
		Code   int
		Name   string
		Status Status
	}
	want := map[StopReason]end{
		"tasks_done": {
			0,
			"COMPLETE",
			"completed",
		},
		"verifier_passed":    {0, "COMPLETE", "completed"},
		"all_checks_passed":  {0, "COMPLETE", "completed"},
		"evaluator_accepted": {0, "COMPLETE", "completed"},
		"unverified":         {0, "COMPLETE", "completed"},
		"max_iterations": {
			1,
			"MAX_ITERATIONS",
			"budget_exhausted",
		},
		"blocked":     {2, "BLOCKED", "blocked"},
		"decide":      {3, "DECIDE", "needs_decision"},
		"unconfirmed": {7, "UNCONFIRMED", "unconfirmed"},
		"sandbox_error": {
			4,
			"SANDBOX_ERROR",
			"failed",
		},
		"auth_error":      {5, "AUTH_ERROR", "failed"},
		"program_missing": {6, "PROGRAM_MISSING", "failed"},
		"timeout": {
			10,
			"MAX_TIME",
			"budget_exhausted",
		},
		"max_cost":         {11, "BUDGET", "budget_exhausted"},
		"max_tokens":       {11, "BUDGET", "budget_exhausted"},
		"budget_exhausted": {11, "BUDGET", "budget_exhausted"},
		"circuit_open":     {12, "STALLED", "failed"},
		"rate_limited":     {13, "LIMITED", "failed"},
		"iter_cap": {
			14,
			"TASK_FAILED",
			"failed",
		},
		"evaluator_cap":   {14, "TASK_FAILED", "failed"},
		"no_case":         {14, "TASK_FAILED", "failed"},
		"empty_responses": {14, "TASK_FAILED", "failed"},
		"task_tries":      {14, "TASK_FAILED", "failed"},
		"agent_failed": {
			15,
			"AGENT_FAILED",
			"failed",
		},
		"provider_failed": {15, "AGENT_FAILED", "failed"},
		"check_broken":    {16, "CHECK_BROKEN", "failed"},
		"tampered": {
			17,
			"TAMPERED",
			"failed",
		},
		"internal":    {70, "INTERNAL", "failed"},
		"io_error":    {74, "IO_ERROR", "failed"},
		"interrupted": {130, "INTERRUPTED", "interrupted"},
	}
	got := map[StopReason]end{}
	for _, kind := range Outcomes() {
		for _, reason := range kind.Reasons {
			got[reason] = end{ExitCode(reason, ""), NameOf(reason), StatusOf(reason)}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exit codes (-want +got):\n%s", diff)
	}
	signals := map[Signal]int{SignalHangup: 129, SignalInterrupt: 130, SignalTerminate: 143}
	for signal, code := range signals {
		if got := ExitCode(Interrupted, signal); got != code {
			t.Errorf("interrupted by %s is %d, want %d", signal, got, code)
		}
	}
}

func TestAReasonWithoutACodeIsABug(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	ExitCode("made_up", "")
}

func TestSpansAreSecondsInJSON(t *testing.T) {
	for text, span := range map[string]Span{
		"0":     0,
		"90":    Span(90 * time.Second),
		"81.2":  Span(81200 * time.Millisecond),
		"4.35":  Span(4350 * time.Millisecond),
		"1.001": Span(1001 * time.Millisecond),
	} {
		written, err := json.Marshal(span)
		if err != nil || string(written) != text {
			t.Errorf("%s is written as %s (%v), want %s", span, written, err, text)
		}
		var read Span
		if err := json.Unmarshal([]byte(text), &read); err != nil || read != span {
			t.Errorf("%s is read as %s (%v), want %s", text, read, err, span)
		}
	}
	var none Span
	if err := json.Unmarshal([]byte(`"1m"`), &none); err == nil {
		t.Error("a text was read as a span")
	}
	span := Span(90 * time.Second)
	if span.Seconds() != 90 || span.String() != "1m30s" || span.Duration() != 90*time.Second {
		t.Errorf("%s, %v seconds", span, span.Seconds())
	}
}

func TestEveryMillisecondSurvivesTheLog(t *testing.T) {
	for ms := range 20_000 {
		span := Span(ms) * Span(time.Millisecond)
		text, err := json.Marshal(span)
		if err != nil {
			t.Fatal(err)
		}
		var back Span
		if err := json.Unmarshal(text, &back); err != nil || back != span {
			t.Fatalf("%s came back as %s: %v", span, back, err)
		}
	}
}

func TestWordsForPeople(t *testing.T) {
	for span, want := range map[time.Duration]string{
		0:                                     "0s",
		1234 * time.Microsecond:               "1ms",
		1250 * time.Millisecond:               "1.3s",
		90 * time.Second:                      "1m30s",
		2 * time.Minute:                       "2m",
		6 * time.Hour:                         "6h",
		90*time.Minute + 400*time.Millisecond: "1h30m",
	} {
		if got := Span(span).Short(); got != want {
			t.Errorf("%s is told as %q, want %q", span, got, want)
		}
	}
}

func TestDecodePayload(t *testing.T) {
	if _, err := DecodePayload(EvVerdict, []byte(`{"at":`)); err == nil {
		t.Error("a torn payload was decoded")
	}
	got, err := DecodePayload("from_the_future", []byte(`{"a":1}`))
	if diff := cmp.Diff(any(json.RawMessage(`{"a":1}`)), got); diff != "" || err != nil {
		t.Errorf("an unknown type (-want +got, %v):\n%s", err, diff)
	}
	payloads := map[EventType]any{
		EvRunStarted: RunStarted{
			Checks: []string{},
		},
		EvRunResumed: RunResumed{Agent: "a"},
		EvRunStopped: RunStopped{Reason: Timeout},
		EvIterationStarted: IterationStarted{
			Ordinal: 3,
		},
		EvPromptBuilt:  PromptBuilt{Bytes: 3},
		EvAgentStarted: AgentStarted{Agent: "a"},
		EvAgentOutput: AgentOutput{
			Events: 3,
		},
		EvAgentExited:  AgentOutcome{End: EndOK},
		EvTreeQuiet:    TreeQuiet{Killed: 2},
		EvTreeSnapshot: TreeState{Known: true},
		EvSignal: SignalSeen{
			Kind: "mention",
		},
		EvStatusBlock:  StatusBlockSeen{Problem: "p"},
		EvClaimRefused: ClaimRefused{Refusals: []Refusal{{"a", "b"}}},
		EvCheckStarted: CheckStarted{
			Name: "c",
		},
		EvCheckFinished: CheckResult{Name: "c"},
		EvVerdict:       VerdictReached{Verdict: Verdict{Row: 9}},
		EvBreaker: BreakerMoved{
			Reason: "r",
		},
		EvLimitWait: Waiting{For: WaitLimit},
		EvNotice:    Notice{Code: "n"},
		EvWarning:   Notice{Code: "w"},
		EvTruncated: OutputTruncated{What: "w"},
		EvTaskSelected: TaskSelected{
			Task:  "A",
			Title: "do A",
			Try:   2,
			List: []TaskState{
				{
					ID:        "A",
					Title:     "do A",
					Status:    TaskPending,
					Priority:  new(1),
					DependsOn: []string{"B"},
					Tries:     1,
					Regressed: true,
				},
			},
		},
		EvTaskDone: TaskMoved{
			Task:   "A",
			Title:  "do A",
			Detail: "d",
		},
		EvTaskFailed:   TaskMoved{Task: "A"},
		EvTaskReopened: TaskMoved{Task: "A"},
		EvWorkStashed:  WorkStashed{Task: "A", Iteration: 2, Base: "b", Work: "w"},
		EvWorkRestored: WorkRestored{
			Task:      "A",
			Iteration: 2,
			From:      "f",
			To:        "t",
			Why:       "y",
			Conflicts: []string{"c"},
			Stayed:    true,
		},
		EvTampered: FilesTampered{What: "task_list", File: "f", Details: []string{"d"}, Restored: true},
		EvSteering: SteeringSeen{
			State:   SteeringDelivered,
			File:    "f",
			Text:    "t",
			Message: "l",
		},
		EvAnswer:   AnswerGiven{Question: "q", Answer: "a", Message: "l"},
		EvPlanRead: PlanRead{File: "f", Open: []string{"o"}},
		EvLearning: LearningProposed{
			ID:   "i",
			Text: "t",
		},
		EvCommit: CommitResult{Commit: "c", Subject: "s", Failed: true, Output: "o"},
	}
	for kind, want := range payloads {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodePayload(kind, text); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s came back otherwise (-want +got, %v):\n%s", kind, err, cmp.Diff(want, got))
		}
	}
}
