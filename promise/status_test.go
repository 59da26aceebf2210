package promise

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const validBlock = blockBegins + `
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 2
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: ship it
` + blockEnds + "\n"

// printed formats a block as the contract shows it.
func printed(s Status) string {
	return fmt.Sprintf(blockBegins+`
STATUS: %s
TASKS_COMPLETED_THIS_LOOP: %d
FILES_MODIFIED: %d
TESTS_STATUS: %s
WORK_TYPE: %s
EXIT_SIGNAL: %t
RECOMMENDATION: %s
`+blockEnds+"\n", s.State, s.TasksCompleted, s.FilesModified, s.Tests, s.WorkType, s.ExitSignal, s.Recommendation)
}

func TestStatusClaims(t *testing.T) {
	for _, c := range []struct {
		status Status
		want   bool
	}{
		{Status{State: "COMPLETE", Tests: "PASSING", ExitSignal: true}, true},
		{Status{State: "COMPLETE", Tests: "PASSING"}, false},
		{Status{State: "COMPLETE", Tests: "NOT_RUN", ExitSignal: true}, false},
		{Status{State: "IN_PROGRESS", Tests: "PASSING", ExitSignal: true}, false},
		{Status{State: "BLOCKED", Tests: "PASSING", ExitSignal: true}, false},
	} {
		if got := c.status.Claims(); got != c.want {
			t.Errorf("%+v.Claims() = %t", c.status, got)
		}
	}
}

func TestReportAgain(t *testing.T) {
	s := NewScanner(Options{})
	s.WriteString(validBlock +
		"<promise>T-1:DONE</promise>\n> <promise>BLOCKED:x</promise>\nif <promise>BLOCKED:y</promise>\n<promise>z</promise>")
	first := s.Report()
	want := Report{
		Complete: true, TasksDone: []string{"T-1"}, Mentions: []string{"BLOCKED:y"}, Unknown: []string{"z"}, Text: true,
		Status: &Status{
			State: "COMPLETE", TasksCompleted: 1, FilesModified: 2, Tests: "PASSING", WorkType: "IMPLEMENTATION",
			ExitSignal: true, Recommendation: "ship it",
		},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first report (-want +got):\n%s", diff)
	}
	first.TasksDone[0], first.Mentions[0], first.Unknown[0], first.Status.State = "", "", "", ""
	if diff := cmp.Diff(want, s.Report()); diff != "" {
		t.Errorf("second report (-want +got):\n%s", diff)
	}
	s.WriteString("<promise>T-2:DONE</promise>")
	want.TasksDone = []string{"T-1", "T-2"}
	if diff := cmp.Diff(want, s.Report()); diff != "" {
		t.Errorf("report after more words (-want +got):\n%s", diff)
	}
}
