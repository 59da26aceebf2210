package promise

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSignalsCountLikeWords makes each report once by tool and once in words.
func TestSignalsCountLikeWords(t *testing.T) {
	complete := Status{
		State: "COMPLETE", TasksCompleted: 1, FilesModified: 2, Tests: "PASSING", WorkType: "IMPLEMENTATION",
		ExitSignal: true, Recommendation: "All tasks complete, tests passing",
	}
	blocked := complete
	blocked.State, blocked.Recommendation = "BLOCKED", "Blocked: no key"
	long := strings.Repeat("a long reason ", 400)
	for name, c := range map[string]struct {
		signal func(*Signals)
		words  string
	}{
		"blocked":    {func(s *Signals) { s.Blocked("no\n key") }, "<promise>BLOCKED:no\n key</promise>"},
		"decide":     {func(s *Signals) { s.Decide("a or b?") }, "<promise>DECIDE:a or b?</promise>"},
		"untestable": {func(s *Signals) { s.Untestable("taste") }, "<promise>UNTESTABLE:taste</promise>"},
		"done":       {func(s *Signals) { s.Complete("DONE", "it works") }, "<promise>DONE:it works</promise>"},
		"task":       {func(s *Signals) { _ = s.TaskDone("T-1") }, "<promise>T-1:DONE</promise>"},
		"learning":   {func(s *Signals) { s.Learn("use make") }, "LEARNING: use make"},
		"status":     {func(s *Signals) { _ = s.ReportStatus(complete) }, printed(complete)},
		"both":       {func(s *Signals) { _ = s.ReportStatus(blocked) }, printed(blocked)},
		"long":       {func(s *Signals) { s.Blocked(long) }, "<promise>BLOCKED:" + long + "</promise>"},
		"last counts": {
			func(s *Signals) { s.Blocked("a"); s.Blocked("b") },
			"<promise>BLOCKED:a</promise>\n<promise>BLOCKED:b</promise>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSignals(Options{})
			c.signal(s)
			if diff := cmp.Diff(Parse(c.words, Options{}), s.AddTo(Report{})); diff != "" {
				t.Errorf("by words (-) and by tool (+):\n%s", diff)
			}
		})
	}
}

// TestSignalsComeLast adds signals to what the agent printed before.
func TestSignalsComeLast(t *testing.T) {
	s := NewSignals(Options{})
	status := Status{
		State: "IN_PROGRESS", Tests: "NOT_RUN", WorkType: "TESTING", Recommendation: "Next: the tests",
	}
	if err := s.ReportStatus(status); err != nil {
		t.Fatal(err)
	}
	if err := s.TaskDone("T-2"); err != nil {
		t.Fatal(err)
	}
	s.Learn("use make")
	printed := Parse(validBlock+"<promise>T-1:DONE</promise>\nLEARNING: use go", Options{})
	want := Report{
		TasksDone: []string{"T-1", "T-2"}, Learnings: []string{"use go", "use make"}, Status: &status, Text: true,
		Phrases: printed.Phrases,
	}
	if diff := cmp.Diff(want, s.AddTo(printed)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSignalsRefuseWhatWordsWould(t *testing.T) {
	s := NewSignals(Options{})
	if err := s.TaskDone("not an id"); err == nil {
		t.Error("an id with spaces counts")
	}
	if err := s.ReportStatus(Status{State: "DONE"}); err == nil {
		t.Error("an unknown status counts")
	}
	if got := s.AddTo(Report{}); s.Given() || got.Text {
		t.Errorf("a refused signal counts: %+v", got)
	}
}
