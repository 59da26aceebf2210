package promise

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProblemOfABlockIsNamed(t *testing.T) {
	text := `All done.
---RALPH_STATUS---
status: COMPLETE
TASKS_COMPLETED_THIS_LOOP: one
FILES_MODIFIED: 2
FILES_MODIFIED: 3
TESTS_STATUS: passing
WORK_TYPE: FUN
CONFIDENCE: high
RECOMMENDATION: ship it
and then rest
---END_RALPH_STATUS---
`
	want := []StatusProblem{
		{3, `unexpected line "status: COMPLETE"`, "write it as STATUS: IN_PROGRESS | COMPLETE | BLOCKED"},
		{4, `TASKS_COMPLETED_THIS_LOOP must be a number, not "one"`, "write TASKS_COMPLETED_THIS_LOOP: a number"},
		{6, "FILES_MODIFIED is given twice", "keep this line or line 5"},
		{7, `TESTS_STATUS must be one of PASSING, FAILING, NOT_RUN, not "passing"`, "write TESTS_STATUS: PASSING"},
		{
			8, `WORK_TYPE must be one of IMPLEMENTATION, TESTING, DOCUMENTATION, REFACTORING, not "FUN"`,
			"write WORK_TYPE: IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING",
		},
		{9, `unexpected line "CONFIDENCE: high"`, "remove it; details belong in RECOMMENDATION"},
		{11, `unexpected line "and then rest"`, "keep RECOMMENDATION on one line, and remove this one"},
		{12, "EXIT_SIGNAL is missing", "add the line EXIT_SIGNAL: false | true"},
	}
	if diff := cmp.Diff(StatusCheck{Problems: want, Warnings: []string{}}, CheckStatus(text)); diff != "" {
		t.Error(diff)
	}
}

// The other errors of a block are named, too, if it does not end. Text behind its last field is not part of it.
func TestEveryProblemOfABlockWithoutAnEndIsNamed(t *testing.T) {
	text := "---RALPH_STATUS---\nSTATUS: DONE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 2\nNOTES: x\n" +
		"TESTS_STATUS: PASSING\nWORK_TYPE: TESTING\nRECOMMENDATION: ship it\n\nThat was all.\n"
	want := []StatusProblem{
		{
			2, `STATUS must be one of IN_PROGRESS, COMPLETE, BLOCKED, not "DONE"`,
			"write STATUS: IN_PROGRESS | COMPLETE | BLOCKED",
		},
		{5, `unexpected line "NOTES: x"`, "remove it; details belong in RECOMMENDATION"},
		{8, "EXIT_SIGNAL is missing", "add the line EXIT_SIGNAL: false | true"},
		{8, "the block has no end", "end it with the line " + blockEnds},
	}
	if diff := cmp.Diff(want, CheckStatus(text).Problems); diff != "" {
		t.Error(diff)
	}
	if got := CheckStatus(blockBegins).Problems; len(got) != len(statusFields)+1 || got[0].Line != 1 {
		t.Errorf("only a beginning: %+v", got)
	}
	marked := strings.Replace(text, "\nThat was all", "--- END RALPH STATUS ---\nThat was all", 1)
	if got := CheckStatus(marked).Problems; len(got) != 4 || got[3].Line != 9 {
		t.Errorf("another end: %+v", got)
	}
}

func TestCheckOfTextsWithoutAValidBlock(t *testing.T) {
	body := strings.TrimPrefix(validBlock, blockBegins+"\n")
	for name, c := range map[string]struct {
		text string
		want StatusProblem
	}{
		"empty":    {"", StatusProblem{0, "there is no status block", "begin one with the line " + blockBegins}},
		"no block": {"All done.\n", StatusProblem{0, "there is no status block", "begin one with the line " + blockBegins}},
		"another mark": {
			"Hello\n--- Ralph Status ---\n" + body,
			StatusProblem{2, `"--- Ralph Status ---" does not begin a block`, "write the line as " + blockBegins},
		},
		"no end": {
			strings.TrimSuffix(validBlock, blockEnds+"\n") + "\n\n",
			StatusProblem{8, "the block has no end", "end it with the line " + blockEnds},
		},
		"another end": {
			strings.Replace(validBlock, blockEnds, "--- END RALPH STATUS ---", 1),
			StatusProblem{9, "the block has no end", "write the line as " + blockEnds},
		},
		"colors": {
			"\x1b[1m" + strings.Replace(validBlock, "ship it", "\x1b[0m", 1),
			StatusProblem{8, "RECOMMENDATION is empty", "write RECOMMENDATION: one line, not empty"},
		},
		"in a thought": {
			"<think>\n" + validBlock + "</think>\n",
			StatusProblem{
				0, "the block is not part of the agent's own text", "print the block alone, as the end of the message",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := StatusCheck{Problems: []StatusProblem{c.want}, Warnings: []string{}}
			if diff := cmp.Diff(want, CheckStatus(c.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckOfValidBlocks(t *testing.T) {
	status := Status{
		State: "COMPLETE", TasksCompleted: 1, FilesModified: 2, Tests: "PASSING", WorkType: "TESTING", ExitSignal: true,
		Recommendation: "ship it",
	}
	for name, c := range map[string]struct {
		change   func(*Status)
		claim    bool
		warnings []string
	}{
		"a claim": {func(*Status) {}, true, []string{}},
		"tests fail": {
			func(s *Status) { s.Tests = "FAILING" }, false,
			[]string{"the block does not claim completion: TESTS_STATUS is FAILING"},
		},
		"blocked with an exit": {
			func(s *Status) { s.State = "BLOCKED" }, false,
			[]string{"STATUS is BLOCKED, so EXIT_SIGNAL should be false"},
		},
		"blocked":     {func(s *Status) { s.State, s.ExitSignal = "BLOCKED", false }, false, []string{}},
		"in progress": {func(s *Status) { s.State, s.ExitSignal = "IN_PROGRESS", false }, false, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := status
			c.change(&s)
			want := StatusCheck{Status: &s, Claim: c.claim, Problems: []StatusProblem{}, Warnings: c.warnings}
			want.Blocked = strings.HasPrefix(name, "blocked")
			if diff := cmp.Diff(want, CheckStatus("Words.\n"+printed(s))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Parse alone decides: a text is either valid or has problems, never both and never neither.
func TestCheckAgreesWithParse(t *testing.T) {
	for _, c := range allCases(t) {
		text := c.messages()[0]
		report, check := Parse(text, Options{}), CheckStatus(text)
		valid := report.Status != nil && report.StatusProblem == ""
		if valid != (check.Status != nil) || valid != (len(check.Problems) == 0) {
			t.Errorf("%s: valid %t, check %+v", c.Name, valid, check)
		}
	}
}
