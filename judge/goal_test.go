package judge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

func TestDecideGoal(t *testing.T) {
	const done, blocked = "<promise>DONE</promise>", "<promise>BLOCKED: no key</promise>"
	passed := judge.Weighing{Word: judge.EvidencePassed, Detail: "go test passed"}
	failed := judge.Weighing{Word: judge.EvidenceFailed, Detail: "go test failed"}
	stale := judge.Weighing{Word: judge.EvidenceStale, Detail: "files changed after go test passed"}
	missing := judge.Weighing{Word: judge.EvidenceMissing, Detail: "not run yet: go test"}
	thrice := judge.GoalBlocker{Fault: 1, Times: 3}
	block := func(fields string) string {
		return "---RALPH_STATUS---\n" + fields + "\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 1\n" +
			"TESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nRECOMMENDATION: none\n---END_RALPH_STATUS---\n" + done
	}
	for _, test := range []struct {
		name   string
		text   string
		answer judge.GoalAnswer
		want   judge.GoalVerdict
	}{
		{"claim with evidence", done, judge.GoalAnswer{Evidence: passed},
			judge.GoalVerdict{Status: judge.GoalCompleted, Reason: judge.GoalVerified, Detail: "go test passed"}},
		{"in the last iteration", done, judge.GoalAnswer{Evidence: passed, Iteration: 20},
			judge.GoalVerdict{Status: judge.GoalCompleted, Reason: judge.GoalVerified, Detail: "go test passed"}},
		{"evidence beats a blocker beside the claim", done + "\n" + blocked, judge.GoalAnswer{Evidence: passed},
			judge.GoalVerdict{Status: judge.GoalCompleted, Reason: judge.GoalVerified, Detail: "go test passed"}},
		{"no claim", "I did it.", judge.GoalAnswer{Evidence: passed},
			judge.GoalVerdict{Status: judge.GoalActive, Reason: judge.GoalUnclaimed,
				Detail: "the answer does not claim that the work is done"}},
		{"only a mention", "I will print " + done + " later.", judge.GoalAnswer{Evidence: passed},
			judge.GoalVerdict{Status: judge.GoalActive, Reason: judge.GoalUnclaimed,
				Detail: "the answer only mentions DONE; to report it, write the tag on a line of its own"}},
		{"no evidence", done, judge.GoalAnswer{Evidence: missing},
			judge.GoalVerdict{Status: judge.GoalActive, Reason: judge.GoalMissing, Detail: "not run yet: go test"}},
		{"failed evidence", done, judge.GoalAnswer{Evidence: failed},
			judge.GoalVerdict{Status: judge.GoalActive, Reason: judge.GoalFailed, Detail: "go test failed"}},
		{"stale evidence", done, judge.GoalAnswer{Evidence: stale},
			judge.GoalVerdict{Status: judge.GoalActive, Reason: judge.GoalStale, Detail: "files changed after go test passed"}},
		{"limit", done, judge.GoalAnswer{Evidence: failed, Iteration: 20},
			judge.GoalVerdict{Status: judge.GoalExhausted, Reason: judge.GoalMaxIterations, Detail: "go test failed"}},
		{"blocked by the tag", blocked, judge.GoalAnswer{Evidence: passed},
			judge.GoalVerdict{Status: judge.GoalBlocked, Reason: judge.GoalIsBlocked, Detail: "no key"}},
		{"a question", "<promise>DECIDE: A or B?</promise>", judge.GoalAnswer{},
			judge.GoalVerdict{Status: judge.GoalBlocked, Reason: judge.GoalIsBlocked, Detail: "the agent asks: A or B?"}},
		{"the same failure three times", "Still fails.", judge.GoalAnswer{Evidence: failed, Blocker: thrice},
			judge.GoalVerdict{Status: judge.GoalBlocked, Reason: judge.GoalIsBlocked,
				Detail: "the same failure after 3 answers in a row: go test failed"}},
		{"no evidence is required", done, judge.GoalAnswer{Unverified: true, Evidence: missing},
			judge.GoalVerdict{Status: judge.GoalCompleted, Reason: judge.GoalPromised,
				Detail: "the agent claims completion, and no evidence is required"}},
		{"unverified, and blocked as well", done + "\n" + blocked, judge.GoalAnswer{Unverified: true, Evidence: missing},
			judge.GoalVerdict{Status: judge.GoalBlocked, Reason: judge.GoalIsBlocked, Detail: "no key"}},
		{"a contradiction", block("STATUS: COMPLETE\nEXIT_SIGNAL: false"), judge.GoalAnswer{Evidence: passed},
			judge.GoalVerdict{Status: judge.GoalActive, Reason: judge.GoalContradiction,
				Detail: "the answer claims completion, but reports EXIT_SIGNAL: false"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.answer.Said, test.answer.Limit = promise.Parse(test.text, promise.Options{}), 20
			if diff := cmp.Diff(test.want, judge.DecideGoal(test.answer)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGoalBlocker(t *testing.T) {
	failed := func(output string) judge.Weighing {
		return judge.Weighing{Word: judge.EvidenceFailed, Last: &ralph.ToolEvidence{Verifier: "go test", Output: output}}
	}
	edited := failed("FAIL in 3.4s")
	edited.Last.Stale = true
	claim, work := promise.Report{Complete: true}, promise.Report{}
	ran := []string{"go test"}
	var b judge.GoalBlocker
	for i, step := range []struct {
		said promise.Report
		w    judge.Weighing
		seen []string
		want int
	}{
		{claim, failed("FAIL in 1.2s"), ran, 1},
		{work, failed("FAIL in 3.4s"), ran, 2}, // the duration is no other failure
		{work, failed("FAIL in 3.4s"), nil, 2}, // work that was not checked
		{claim, edited, nil, 2},                // a new attempt
		{claim, failed("FAIL in 3.4s"), nil, 3},
		{claim, failed("other FAIL"), ran, 1},
		{claim, judge.Weighing{Word: judge.EvidenceMissing}, nil, 0},
		{claim, failed("other FAIL"), ran, 1},
	} {
		if b = b.After(step.said, step.w, step.seen); b.Times != step.want {
			t.Errorf("step %d: %d times, want %d", i+1, b.Times, step.want)
		}
	}
}
