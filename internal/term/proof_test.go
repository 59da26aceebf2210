package term

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func TestWhatAnEvaluatorSaid(t *testing.T) {
	asked := func(change func(*ralph.Evaluation)) ralph.Evaluation {
		e := ralph.Evaluation{Agent: "judge", End: ralph.EndOK}
		change(&e)
		return e
	}
	const unused = "    an answer was invalid: the answer is empty"
	for name, c := range map[string]struct {
		said ralph.Evaluation
		want []string
	}{
		"accepts": {
			asked(func(e *ralph.Evaluation) { e.Accepted, e.Evidence = true, []string{"a.go:1"} }),
			[]string{"  ✓ judge accepts: a.go:1"},
		},
		"accepts at the second try": {
			asked(func(e *ralph.Evaluation) { e.Accepted, e.Task, e.Problem = true, "T-1", "the answer is empty" }),
			[]string{"  ✓ judge accepts T-1", unused},
		},
		"rejects at the second try": {
			asked(func(e *ralph.Evaluation) {
				e.Category, e.Concern, e.NextStep, e.Problem = ralph.RejectedGap, "no test", "add one", "the answer is empty"
			}),
			[]string{"  ✗ judge rejects (acceptance_gap): no test", "    next: add one", unused},
		},
		"breaks at the second try": {
			asked(func(e *ralph.Evaluation) {
				e.End, e.Error, e.Problem = ralph.EndFailed, "it broke", "the answer is empty"
			}),
			[]string{"  the evaluator judge could not be asked: it broke", unused},
		},
		"is cut": {
			asked(func(e *ralph.Evaluation) { e.End, e.Error = ralph.EndInterrupted, "interrupted" }),
			[]string{"  the evaluation by judge was interrupted"},
		},
		"says something hostile": {
			asked(func(e *ralph.Evaluation) { e.Accepted, e.Problem = true, hostile }),
			[]string{"  ✓ judge accepts", "    an answer was invalid: " + Clean(hostile)},
		},
		"was told before": {
			asked(func(e *ralph.Evaluation) {
				e.Cached, e.Category, e.Problem = true, ralph.RejectedGap, "the answer is empty"
			}),
			[]string{"  ✗ judge rejected before (acceptance_gap); nothing changed since, so it is not asked again"},
		},
	} {
		if diff := cmp.Diff(c.want, new(Lines).evaluation(c.said)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
