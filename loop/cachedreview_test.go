package loop

import (
	"testing"

	"github.com/ralphloop/ralph"
)

// unchanging is an examined world whose agent claims again and again without touching anything
// after its first turn.
func unchanging(t *testing.T, verdicts ...ralph.Evaluation) (*world, *fakeEvaluator, *keeper, *fakeExaminer) {
	w, e, k := examined(t)
	w.agent.turns = []turn{done().then(k.becomes("1"))}
	w.policy.MaxIterations = 2
	return w, w.judgedBy(verdicts...), k, e
}

func TestAVerdictStandsWhileNothingChanges(t *testing.T) {
	bubble(t, "a rejection", func(t *testing.T) {
		costly := rejects(ralph.RejectedGap, "no rounding")
		costly.Cost, costly.Tokens = new(0.5), &ralph.Tokens{Input: 10}
		w, f, _, _ := unchanging(t, costly, accepts())
		result := w.ends(ralph.MaxIterations, 2)
		same(t, "asked", 1, len(f.inputs))
		same(
			t,
			"refusals",
			[][]string{{"evaluator_rejected:acceptance_gap"}, {"evaluator_rejected:acceptance_gap"}},
			refusedIn(result),
		)
		same(
			t,
			"the gate",
			"nothing changed since the last rejection: no rounding; next: mend it",
			w.loop.State().Verdict.Gates[8].Detail,
		)
		same(t, "paid", []any{0.5, int64(10)}, []any{*result.TotalCost, result.TotalTokens.Total()})
		same(t, "counted", 1, w.loop.State().LedgerOf("").Counts[ralph.RejectedGap])
		same(t, "towards the cap", 1, w.loop.State().History.RejectionsOf(""))
		w.mustFoldTheSame()
	})
	bubble(t, "until the files change", func(t *testing.T) {
		w, f, k, _ := unchanging(t, rejects(ralph.RejectedGap, "no rounding"), accepts())
		w.agent.turns = append(w.agent.turns, done(), done().then(k.becomes("2")))
		w.policy.MaxIterations = 5
		w.ends(ralph.AllChecksPassed, 3)
		same(t, "asked", 2, len(f.inputs))
	})
	bubble(t, "until what is asked for changes", func(t *testing.T) {
		w, f, _, _ := unchanging(t, rejects(ralph.RejectedGap, "no rounding"), accepts())
		w.cfg.Dir, w.cfg.Task, w.cfg.SpecFile = t.TempDir(), "", "spec.md"
		w.writeFile("spec.md", "round")
		first := w.agent.turns[0]
		w.agent.turns = []turn{first, done().then(func() { w.writeFile("spec.md", "do not round") }), done()}
		w.policy.MaxIterations = 5
		w.ends(ralph.AllChecksPassed, 3)
		same(t, "asked", 2, len(f.inputs))
	})
	bubble(t, "but not an answer that nobody understood", func(t *testing.T) {
		w, f, _, _ := unchanging(t, rejects(ralph.RejectedInvalid, "no verdict"), accepts())
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "asked", 2, len(f.inputs))
	})
	bubble(t, "a no in the wrong form is understood", func(t *testing.T) {
		no := rejects(ralph.RejectedInvalid, "it is ugly")
		no.Malformed = true
		w, f, _, _ := unchanging(t, no, accepts())
		result := w.ends(ralph.MaxIterations, 2)
		same(t, "asked", 1, len(f.inputs))
		same(
			t,
			"refusals",
			[][]string{{"evaluator_rejected:invalid_verdict"}, {"evaluator_rejected:invalid_verdict"}},
			refusedIn(result),
		)
	})
	bubble(t, "nor where the tree is not known", func(t *testing.T) {
		w, f, k, _ := unchanging(t, rejects(ralph.RejectedGap, "no rounding"), accepts())
		k.lost, w.policy.Protects, w.cfg.Checks = true, nil, nil
		w.ends(ralph.EvaluatorAccepted, 2)
		same(t, "asked", 2, len(f.inputs))
	})
	bubble(t, "and whoever resumes wants to hear it anew", func(t *testing.T) {
		w, _, k, e := unchanging(t, rejects(ralph.RejectedGap, "no rounding"))
		w.ends(ralph.MaxIterations, 2)
		again := w.reExamined(e, k, done())
		again.policy.MaxIterations = 4
		f := again.judgedBy(accepts())
		again.ends(ralph.AllChecksPassed, 1)
		same(t, "asked", 1, len(f.inputs))
	})
	bubble(t, "an acceptance", func(t *testing.T) {
		w, f, _, _ := unchanging(t, accepts("a.go:1"))
		c := &committer{results: []ralph.CommitResult{{Failed: true, Output: "the hook says no"}, {Commit: "c1"}}}
		committing(w, c, ralph.CommitIteration)
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "asked", 1, len(f.inputs))
		same(
			t, "the gate", "judge accepted this exact tree before, and points to a.go:1", w.loop.State().Verdict.Gates[8].Detail,
		)
	})
}

// TestWhatNobodyWasAskedAbout: an answer without a request is no review. It uses up no step of the
// evaluator's script, is not cached, and does not count.
func TestWhatNobodyWasAskedAbout(t *testing.T) {
	bubble(t, "does not stand when the check is green again", func(t *testing.T) {
		w, f, _, _ := unchanging(t, unasked(), accepts())
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "asked", 2, len(f.inputs))
		same(t, "ledger", 0, len(f.inputs[1].Ledger))
		w.mustFoldTheSame()
	})
	bubble(t, "nor towards the cap of rejections", func(t *testing.T) {
		w, _, _ := claiming(t)
		w.judgedBy(unasked())
		w.policy.MaxRejections, w.policy.MaxIterations = 1, 3
		result := w.ends(ralph.MaxIterations, 3)
		same(t, "refusals", []string{"evaluator_rejected:half_finished"}, result.Iterations[2].Refusals)
	})
	bubble(t, "nor as a review", func(t *testing.T) {
		again := accepts()
		again.Tries = 2
		w, _, k, _ := unchanging(t, unasked(), again)
		w.agent.turns = append(w.agent.turns, done().then(k.becomes("2")))
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "reviews", 2, w.loop.State().Reviews)
		w.mustFoldTheSame()
	})
}

func TestACaseWithOtherWordsIsTheSameWork(t *testing.T) {
	bubble(t, "in rounds", func(t *testing.T) {
		var k *keeper
		w, _, own, answers := inRounds(t, append(becoming(&k, "1"), nil, func() { k.becomes("2")() })...)
		k = own
		f := w.judgedBy(rejects(ralph.RejectedWeakTest, "weak"), accepts())
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "asked", 2, len(f.inputs))
		same(t, "rejected", []bool{true, true, false}, []bool{
			(*answers)[0].Rejected, (*answers)[1].Rejected, (*answers)[2].Rejected,
		})
	})
}
