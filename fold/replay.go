package fold

import (
	"iter"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// Judgement is one verdict of a run, as it was recorded and as Decide gives it from the log.
type Judgement struct {
	Iteration int               `json:"iteration"` // 0 when it was given before the first
	Number    int               `json:"ordinal"`   // i of N
	Judged    bool              `json:"judged"`    // an iteration was judged; otherwise only the limits were
	Seen      judge.Observation `json:"-"`
	Recorded  ralph.Verdict     `json:"recorded"`
	Again     ralph.Verdict     `json:"again"`
	// Cases and Evaluations are those of the iteration, in their order.
	Cases       []ralph.CaseRecord `json:"cases,omitempty"`
	Evaluations []ralph.Evaluation `json:"evaluations,omitempty"`
}

// Same reports whether both verdicts lead to the same action for the same reason with the same gates refusing.
func (j Judgement) Same() bool {
	a, b := j.Recorded, j.Again
	if a.Action != b.Action || a.Reason != b.Reason || a.Wait != b.Wait || a.Breaker != b.Breaker || a.Counted != b.Counted {
		return false
	}
	if (a.Cooldown == nil) != (b.Cooldown == nil) || a.Cooldown != nil && *a.Cooldown != *b.Cooldown {
		return false
	}
	if !slices.Equal(a.Tasks.Done, b.Tasks.Done) || a.Tasks.GivenUp != b.Tasks.GivenUp {
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

// Replay gives the decisions of a run again, from its events alone. change may return another policy, to ask what would have been. Replay
// ends where a verdict says stop: what the log holds behind it did not happen under that policy, but for a resume.
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
			j := Judgement{Iteration: e.Iteration, Number: history.Counted, Judged: history.Judging, Seen: history.Now, Recorded: reached.Verdict, Again: again}
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
