package fold

import (
	"iter"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// Judgement is one verdict of a run, both as recorded and as replayed.
type Judgement struct {
	Iteration int               `json:"iteration"` // 0 before the first iteration
	Number    int               `json:"ordinal"`   // i of N
	Judged    bool              `json:"judged"`    // the verdict is on an iteration, not between two
	Seen      judge.Observation `json:"-"`
	Recorded  ralph.Verdict     `json:"recorded"`
	Again     ralph.Verdict     `json:"again"`
	// Cases and Evaluations are those of the iteration, in order.
	Cases       []ralph.CaseRecord `json:"cases,omitempty"`
	Evaluations []ralph.Evaluation `json:"evaluations,omitempty"`
}

// Same reports whether both verdicts lead to the same action for the same reason with the same gates refusing.
func (j Judgement) Same() bool {
	a, b := j.Recorded, j.Again
	if a.Action != b.Action || a.Reason != b.Reason || a.Wait != b.Wait {
		return false
	}
	if a.Breaker != b.Breaker || a.Counted != b.Counted || a.Escalates != b.Escalates {
		return false
	}
	if (a.Cooldown == nil) != (b.Cooldown == nil) || a.Cooldown != nil && *a.Cooldown != *b.Cooldown {
		return false
	}
	if !slices.Equal(a.Tasks.Done, b.Tasks.Done) || a.Tasks.GivenUp != b.Tasks.GivenUp ||
		a.Tasks.Question != b.Tasks.Question {
		return false
	}
	ra, rb := a.Refusals(), b.Refusals()
	if len(ra) != len(rb) {
		return false
	}
	for i := range ra {
		if ra[i] != rb[i] {
			return false
		}
	}
	return true
}

// Replay repeats the decisions of a run from its events alone. change may return another policy to find
// out what would have happened. After a verdict that stops the run, Replay adds no judgements until a
// resume, because the recorded verdicts would not exist under that policy.
func Replay(events iter.Seq2[ralph.Event, error], change func(ralph.Policy) ralph.Policy) ([]Judgement, error) {
	var judgements []Judgement
	state, stopped := &State{}, false
	for e, err := range events {
		if err != nil {
			return judgements, err
		}
		if e.Type == ralph.EvRunResumed {
			stopped = false
		}
		if reached, ok := e.Data.(ralph.VerdictReached); ok && !stopped {
			policy := change(state.Policy)
			history := state.History.Judge(reached.At)
			again := judge.Decide(policy, history)
			j := Judgement{
				Iteration: e.Iteration,
				Number:    history.Counted,
				Judged:    history.Judging,
				Seen:      history.Now,
				Recorded:  reached.Verdict,
				Again:     again,
			}
			if j.Judged {
				j.Cases, j.Evaluations = history.Now.Cases, history.Now.Evaluations
			}
			judgements = append(judgements, j)
			stopped = again.Action == ralph.Stop
			reached.Verdict = again
			e.Data = reached
		}
		if err := state.Apply(e); err != nil {
			return judgements, err
		}
	}
	return judgements, nil
}
