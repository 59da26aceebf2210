package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// story creates the events of a run, one second apart.
type story struct {
	events    []ralph.Event
	iteration int
}

func (s *story) add(kind ralph.EventType, data any) {
	n := int64(len(s.events) + 1)
	s.events = append(s.events, ralph.Event{
		Version: ralph.EventVersion, Seq: n,
		Time: time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC).Add(time.Duration(n) * time.Second),
		Run:  "01JZZZZZZZZZZZZZZZZZZZZZZZ", Iteration: s.iteration, Type: kind, Data: data,
	})
}

func (s *story) addIteration(agent ralph.AgentOutcome, tree ralph.TreeState) {
	s.iteration++
	s.add(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: s.iteration, Of: 10})
	agent.Agent, agent.End, agent.Duration = "claude", ralph.EndOK, ralph.Span(90*time.Second)
	s.add(ralph.EvAgentExited, agent)
	s.add(ralph.EvTreeSnapshot, tree)
}

func tree(hash string) ralph.TreeState {
	return ralph.TreeState{Known: true, Head: "0123456789abcdef0123456789abcdef01234567", Hash: hash}
}

func treeAfterChecks(hash string) ralph.TreeState {
	t := tree(hash)
	t.AfterChecks = true
	return t
}

func check(name, task, hash string, passed bool) ralph.CheckResult {
	c := ralph.CheckResult{
		Name: name, Task: task, Passed: passed, Isolation: "overlay", Tree: tree(hash).ID(),
		Duration:   ralph.Span(1500 * time.Millisecond),
		OutputHash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	}
	if !passed {
		c.ExitCode = 1
	}
	return c
}

func dollars(amount float64) *float64 { return &amount }

// evil is text by which an agent could try to look like something else in a report.
const evil = "done | ok |\n| **PASS** | `x` <img src=x onerror=y> [a](http://e.example) @root \x1b[31mred\u202e " +
	"www.e.example"

// wholeStory has a bit of everything: a task list, a false claim, a flaky check, a hidden check, an
// evaluator, changed tests, tampering and a resume.
func wholeStory() *story {
	s := &story{}
	policy := ralph.DefaultPolicy()
	policy.MaxIterations, policy.TaskTries, policy.Evaluator, policy.Protects = 10, 3, "codex", []string{"*_test.go"}
	tasks := []ralph.TaskState{
		{ID: "T-1", Title: "First", Status: ralph.TaskPending}, {ID: "T-2", Title: evil, Status: ralph.TaskPending},
	}
	s.add(ralph.EvRunStarted, ralph.RunStarted{
		Ralph: "v1.2.3", Workspace: "/home/u/project", TaskFile: "tasks.json", Profile: "default", Agent: "claude",
		Model:  "large",
		Checks: []string{"go test ./..."}, Policy: policy, PID: 4711,
	})
	s.add(ralph.EvTreeSnapshot, tree("base"))
	s.add(ralph.EvCheckFinished, check("go test ./... | tee out", "", "base", true))
	s.add(ralph.EvTaskSelected, ralph.TaskSelected{Task: "T-1", Title: "First", Try: 1, List: tasks})
	s.add(ralph.EvCheckFinished, check("grep -q one a", "T-1", "base", false))

	s.addIteration(ralph.AgentOutcome{
		Cost: dollars(0.25), Tokens: &ralph.Tokens{Input: 100, Output: 20},
		Said: promise.Report{
			TasksDone: []string{"T-1"},
			Status:    &promise.Status{State: "IN_PROGRESS", TasksCompleted: 1, FilesModified: 3, Tests: "PASSING"},
		},
	}, tree("base"))
	s.add(ralph.EvCheckFinished, check("go test ./... | tee out", "", "base", false))
	s.add(ralph.EvCheckFinished, check("grep -q one a", "T-1", "base", false))
	s.add(ralph.EvWarning, ralph.Notice{Code: "left_over", Text: evil})
	s.add(ralph.EvTampered, ralph.FilesTampered{
		What: ralph.TamperedFiles, Details: []string{"a_test.go (changed)"}, Files: []string{"a_test.go"},
		Unseen: []string{"b_test.go"},
	})
	s.add(ralph.EvVerdict, ralph.VerdictReached{Verdict: ralph.Verdict{
		Row: 10, Action: ralph.GoOn, Counted: true, Breaker: ralph.Breaker{State: ralph.BreakerClosed},
		Tasks: ralph.TaskVerdict{
			Current: "T-1",
			Refused: []ralph.TaskRefusal{{Task: "T-1", Code: ralph.RefusedCheckFailed, Detail: "grep -q one a failed"}},
		},
	}})
	s.add(ralph.EvRunStopped, ralph.RunStopped{
		Reason: ralph.Interrupted, Signal: ralph.SignalInterrupt, ExitCode: 130, Status: ralph.StatusInterrupted,
		Detail: "interrupted",
	})
	s.add(ralph.EvRunResumed, ralph.RunResumed{
		Ralph: "v1.2.4", Agent: "claude", Model: "large", Policy: policy, PID: 4712, TornBytes: 17,
	})

	flaky := check("go test ./... | tee out", "", "work", true)
	flaky.Flaked, flaky.Attempts = true, 2
	hidden := check("hidden check 1", "", "work", true)
	hidden.Hidden, hidden.Command = true, "sh secret.sh"
	s.addIteration(ralph.AgentOutcome{
		Cost: dollars(0.5), CostEstimated: true, Tokens: &ralph.Tokens{Input: 200, Output: 30},
		Said: promise.Report{Complete: true, CompleteTag: "COMPLETE", TasksDone: []string{"T-1", "T-2"}},
	}, tree("work"))
	s.add(ralph.EvCheckFinished, flaky)
	s.add(ralph.EvCheckFinished, check("grep -q one a", "T-1", "work", true))
	s.add(ralph.EvCheckFinished, hidden)
	s.add(ralph.EvTestsChanged, ralph.BaseTestsRun{
		Files: []string{"c_test.go"}, Old: []ralph.CheckResult{check("go test ./... | tee out", "", "work", false)},
	})
	s.add(ralph.EvCheckProof, ralph.Proof{
		Name: "go test ./... | tee out", Canary: ralph.CanaryRed, Detail: "canary_test.go", Tests: 12,
		Environment: []string{"TestPath failed, and today it passed"}, Flaky: []string{"TestClock"},
		Table: []ralph.ProofRun{
			{Column: ralph.ColumnThen, Exit: 1, Passed: 10, Failed: 2, Tests: 12},
			{Column: ralph.ColumnClaimed, Passed: 12, Tests: 12},
			{Column: ralph.ColumnToday, Exit: 1, Passed: 11, Failed: 1, Tests: 12, Planted: 2, Fired: 2},
			{Column: ralph.ColumnCanary, Exit: 1, Passed: 9, Tests: 9, Planted: 5, Fired: 5, Repeats: true},
		},
	})
	s.add(ralph.EvCheckProof, ralph.Proof{
		Name: "hidden check 1", Canary: ralph.CanaryMute, Detail: "secret", Tests: 2, Lost: 1,
		Missing: []string{"TestSecret"},
	})
	s.add(ralph.EvTreeSnapshot, treeAfterChecks("work"))
	s.add(ralph.EvEvaluation, ralph.Evaluation{
		Task: "T-1", Accepted: true, Tries: 1, Agent: "codex", Model: "m", End: ralph.EndOK, Evidence: []string{"a.go:12"},
		Cost: dollars(0.125), Problem: "the answer | is empty",
		Tokens: &ralph.Tokens{Input: 10}, Duration: ralph.Span(3 * time.Second),
	})
	s.add(ralph.EvEvaluation, ralph.Evaluation{
		Task: "T-2", Tries: 1, Agent: "codex", End: ralph.EndOK, Category: ralph.RejectedGap, Concern: evil,
		NextStep: "write it", Duration: ralph.Span(4 * time.Second),
	})
	s.add(ralph.EvVerdict, ralph.VerdictReached{Verdict: ralph.Verdict{
		Row: 10, Action: ralph.GoOn, Counted: true, Progress: true, Claimed: true,
		Breaker: ralph.Breaker{State: ralph.BreakerClosed},
		Gates: []ralph.Gate{
			{Name: "the agent ended well", State: ralph.GateOpen},
			{Name: "no task is open", State: ralph.GateShut, Refusal: ralph.RefusedTasksOpen, Detail: "T-2 is open"},
		},
		Tasks: ralph.TaskVerdict{
			Current: "T-1", Done: []string{"T-1"},
			Refused: []ralph.TaskRefusal{{Task: "T-2", Code: "evaluator_rejected:acceptance_gap", Detail: evil}},
		},
	}})
	s.add(ralph.EvTaskDone, ralph.TaskMoved{Task: "T-1", Title: "First"})
	s.add(ralph.EvCommit, ralph.CommitResult{Commit: "fedcba9876543210fedcba9876543210fedcba98", Subject: "T-1"})
	s.add(ralph.EvRunStopped, ralph.RunStopped{
		Reason: ralph.MaxIterations, ExitCode: 1, Status: ralph.StatusExhausted,
		Detail:  "iteration limit (2) reached; work unfinished",
		Changed: "2 files changed", Elapsed: ralph.Span(200 * time.Second),
	})
	return s
}

var goodReceipt = Receipt{
	Head:     "aaaac44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	Recorded: "aaaac44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	At:       31, Events: 31, Linked: 31,
}

func buildReport(tb testing.TB, events []ralph.Event, receipt Receipt) Report {
	tb.Helper()
	var b Builder
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			tb.Fatal(err)
		}
		if e.Data, err = ralph.DecodePayload(e.Type, data); err != nil { // as read from the log
			tb.Fatal(err)
		}
		if err := b.See(e); err != nil {
			tb.Fatal(err)
		}
	}
	return b.Report(receipt)
}

func markdown(tb testing.TB, r Report) string {
	tb.Helper()
	var out bytes.Buffer
	if err := r.Markdown(&out); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestReportOfAWholeStory(t *testing.T) {
	r := buildReport(t, wholeStory().events, goodReceipt)
	golden(t, "whole.md", markdown(t, r))
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "whole.json", string(text)+"\n")
}

// TestCasesAreClaims checks that every submission counts as a claim, whatever its outcome.
func TestCasesAreClaims(t *testing.T) {
	s := &story{}
	s.add(ralph.EvRunStarted, ralph.RunStarted{Agent: "worker", Policy: ralph.DefaultPolicy()})
	s.add(ralph.EvTreeSnapshot, tree("base"))
	s.iteration = 1
	s.add(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 1, Of: 10})
	submit := func(round int, summary string, answer *ralph.CaseAnswered) {
		s.add(ralph.EvCase, ralph.CaseSubmitted{Round: round, Case: ralph.Case{Summary: summary}})
		if answer != nil {
			answer.Round = round
			s.add(ralph.EvCaseAnswered, *answer)
		}
	}
	submit(1, evil,
		&ralph.CaseAnswered{
			Refusals: []ralph.Refusal{{Code: "check_failed", Detail: evil}, {Code: "unfinished", Detail: "a TODO"}},
		})
	submit(2, "a task",
		&ralph.CaseAnswered{Tasks: []ralph.TaskRefusal{{Task: "T-1", Code: "check_failed", Detail: "red"}}})
	submit(3, "no reason", &ralph.CaseAnswered{Over: true})
	submit(4, "good", &ralph.CaseAnswered{Accepted: true, Over: true})
	submit(5, "cut", nil)
	s.add(ralph.EvAgentExited, ralph.AgentOutcome{Agent: "worker", End: ralph.EndOK})
	s.add(ralph.EvVerdict, ralph.VerdictReached{Verdict: ralph.Verdict{Row: 10, Action: ralph.GoOn, Counted: true}})
	r := buildReport(t, s.events, Receipt{})
	want := []Claim{
		{1, 1, clean(evil), clean("refused: check_failed: " + evil + "; unfinished: a TODO"), HoldsNo,
			[]string{"check_failed", "unfinished"}},
		{1, 2, "a task", "refused: T-1: check_failed: red", HoldsNo, []string{"check_failed"}},
		{1, 3, "no reason", "refused", HoldsNo, nil},
		{1, 4, "good", "accepted", HoldsYes, nil},
		{1, 5, "cut", "it was not judged", HoldsUnknown, nil},
	}
	if diff := cmp.Diff(want, r.Claims); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	page := markdown(t, r)
	for _, line := range []string{
		"\n| 1 | case 1: " + prose(clean(evil)) + " | ", "\n| 1 | case 5: cut | it was not judged | unknown |\n",
		"\nNo verdict checked the gates. See Claimed / seen for the agent's cases.\n",
	} {
		if !strings.Contains(page, line) {
			t.Errorf("%q is not in\n%s", line, page)
		}
	}
}

func TestReportAtEveryMoment(t *testing.T) {
	events := wholeStory().events
	for n := range events {
		r := buildReport(t, events[:n], Receipt{})
		if page := markdown(t, r); r.Format != FormatVersion || page == "" {
			t.Errorf("after %d events: %q", n, page)
		}
	}
	if err := new(Builder).See(events[3]); err == nil {
		t.Error("a gap in the events was not noticed")
	}
}

func TestReceiptsInWords(t *testing.T) {
	tests := []struct {
		name            string
		receipt         Receipt
		chain, recorded string
	}{
		{"good", goodReceipt, "intact", "the same"},
		{"old", Receipt{Head: "h", Events: 5}, "none: an old version wrote this log without links",
			"none: the run has not ended, or an old version ended it"},
		{"begun by an old version", Receipt{Head: "h", Events: 5, Linked: 4, Recorded: "h", At: 5},
			"intact; 1 event from an old version without links", "the same"},
		{"went on", Receipt{Head: "h", Events: 5, Linked: 5, Recorded: "g", At: 3}, "intact",
			"`g`, after event 3: the run continued"},
		{"cut", Receipt{Head: "h", Events: 5, Linked: 5, Recorded: "g", Break: &Break{6, 700, "gone"}},
			"**broken** at event 6, byte 700: gone", "`g` **is not in the log**"},
	}
	for _, test := range tests {
		if got := test.receipt.chain(); got != test.chain {
			t.Errorf("%s: got %q, want %q", test.name, got, test.chain)
		}
		if got := test.receipt.recorded(); got != test.recorded {
			t.Errorf("%s: got %q, want %q", test.name, got, test.recorded)
		}
	}
}

func TestWhatWasSpentIsWritten(t *testing.T) {
	tokens := &ralph.Tokens{Input: 7}
	for _, test := range []struct {
		spent         Spent
		tokens, money string
	}{
		{Spent{}, "unknown", "unknown"},
		{Spent{Tokens: tokens, Cost: dollars(0.5)}, "7", "$0.5000"},
		{Spent{Tokens: tokens, Cost: dollars(0.5), CostEstimated: true}, "7", "~$0.5000 (estimated)"},
		{Spent{Tokens: tokens, Cost: dollars(0.5), CostPartial: true}, "7", "at least $0.5000"},
		{Spent{Tokens: tokens, Cost: dollars(0.5), CostEstimated: true, CostPartial: true, TokensPartial: true}, "at least 7",
			"at least ~$0.5000 (estimated)"},
		{Spent{CostPartial: true, TokensPartial: true}, "unknown", "unknown"},
	} {
		if diff := cmp.Diff([]string{
			test.tokens, test.money,
		}, []string{test.spent.tokens(), test.spent.money()}); diff != "" {
			t.Errorf("%+v: %s", test.spent, diff)
		}
	}
}

// TestSkippedReviewsCostNothing checks that neither a cached verdict nor a review that the budget
// did not allow makes a bill partial.
func TestSkippedReviewsCostNothing(t *testing.T) {
	s := &story{}
	s.add(ralph.EvRunStarted, ralph.RunStarted{Policy: ralph.DefaultPolicy()})
	s.add(ralph.EvTaskSelected, ralph.TaskSelected{
		Task: "T-1", Try: 1, List: []ralph.TaskState{{ID: "T-1", Status: ralph.TaskPending}},
	})
	s.add(ralph.EvEvaluation, ralph.Evaluation{
		Task: "T-1", Tries: 1, End: ralph.EndOK, Category: ralph.RejectedGap, Cost: dollars(1),
		Tokens: &ralph.Tokens{Input: 5},
	})
	s.add(ralph.EvEvaluation, ralph.Evaluation{Task: "T-1", Cached: true, End: ralph.EndOK, Category: ralph.RejectedGap})
	s.add(ralph.EvEvaluation, ralph.Evaluation{
		Task: "T-1", End: ralph.EndOverBudget, Error: "cost limit reached: $1.00 of $1.00",
	})
	r := buildReport(t, s.events, Receipt{})
	if diff := cmp.Diff(Spent{Cost: dollars(1), Tokens: &ralph.Tokens{Input: 5}}, r.Tasks[0].Spent); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSpentAddsUp(t *testing.T) {
	known := Spent{
		Duration: 1e9, Cost: dollars(1), Tokens: &ralph.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
	}
	tests := []struct {
		name  string
		parts []Spent
		want  Spent
	}{
		{"nothing", nil, Spent{}},
		{"one", []Spent{known}, known},
		{"two", []Spent{known, known},
			Spent{Duration: 2e9, Cost: dollars(2), Tokens: &ralph.Tokens{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8}}},
		{"a part is reckoned", []Spent{known, {Cost: dollars(1), CostEstimated: true, Tokens: &ralph.Tokens{}}},
			Spent{Duration: 1e9, Cost: dollars(2), CostEstimated: true, Tokens: known.Tokens}},
		{"a part is unknown", []Spent{known, {Duration: 1e9}},
			Spent{Duration: 2e9, Cost: dollars(1), CostPartial: true, Tokens: known.Tokens, TokensPartial: true}},
		{"the first part is unknown", []Spent{{Duration: 1e9}, known},
			Spent{Duration: 2e9, Cost: dollars(1), CostPartial: true, Tokens: known.Tokens, TokensPartial: true}},
		{"only the cost of a part is unknown", []Spent{known, {Tokens: &ralph.Tokens{}}},
			Spent{Duration: 1e9, Cost: dollars(1), CostPartial: true, Tokens: known.Tokens}},
		{"a part is itself a part", []Spent{{Cost: dollars(1), CostPartial: true, Tokens: known.Tokens}, known},
			Spent{
				Duration: 1e9, Cost: dollars(2), CostPartial: true,
				Tokens: &ralph.Tokens{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8},
			}},
		{"all is unknown", []Spent{{Duration: 1e9}, {Duration: 1e9}}, Spent{Duration: 2e9}},
	}
	for _, test := range tests {
		var got Spent
		for _, part := range test.parts {
			got.add(part)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// A table with more columns than this cannot be read on a page of usual width.
func TestTablesAreNarrow(t *testing.T) {
	text, err := os.ReadFile("testdata/whole.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n := strings.Count(line, "---"); strings.HasPrefix(line, "| ---") && n > 7 {
			t.Errorf("a table has %d columns", n)
		}
	}
}
