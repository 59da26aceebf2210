package fold

import (
	"slices"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// shownCounts counts what the random runs reached, so that a property is not true only because nothing
// happened.
type shownCounts struct {
	proofs       map[ralph.ProofWord]int // of runs that completed
	accepted     int                     // times that a person accepted something
	keptWaiting  int                     // times that other tasks still waited for a person after that
	leftBehind   int                     // tasks left to a person while others could be worked on
	askedAtOnce  int                     // claims that a person must settle because of UNTESTABLE
	askedAgain   int                     // and because they were made again
	refusedFirst int                     // claims that were refused, with what is missing
}

func (c *shownCounts) add(other shownCounts) {
	if c.proofs == nil {
		c.proofs = map[ralph.ProofWord]int{}
	}
	for word, times := range other.proofs {
		c.proofs[word] += times
	}
	c.accepted += other.accepted
	c.keptWaiting += other.keptWaiting
	c.leftBehind += other.leftBehind
	c.askedAtOnce += other.askedAtOnce
	c.askedAgain += other.askedAgain
	c.refusedFirst += other.refusedFirst
}

func (c *shownCounts) requireAll(t *testing.T) {
	t.Helper()
	words := []ralph.ProofWord{
		"", ralph.ProvenShown, ralph.ProvenWorkspace, ralph.ProvenAccepted, ralph.ProvenUnbroken, ralph.ProvenNone,
	}
	for _, word := range words {
		if c.proofs[word] == 0 {
			t.Errorf("no random run completed with proof %q", word)
		}
	}
	counts := []int{c.accepted, c.leftBehind, c.askedAtOnce, c.askedAgain, c.refusedFirst}
	if !testing.Short() { // it is rare
		counts = append(counts, c.keptWaiting)
	}
	if slices.Contains(counts, 0) {
		t.Errorf("random runs did not reach everything about shown work: %+v", *c)
	}
	t.Logf("shown: %+v", *c)
}

// requireShown checks the last verdict against the log: what no verdict may ever do, whatever the oracle says.
func (r *simulation) requireShown(v ralph.Verdict) {
	r.t.Helper()
	r.requireOldPolicyAsBefore(v)
	r.requireAskedTwice(v)
	if v.Action != ralph.Stop {
		return
	}
	if v.Reason == ralph.Unconfirmed && !passesCounting(r.oracle) {
		r.t.Fatalf("seed %d: the run ended as unconfirmed, and a check fails: %+v", r.seed, r.oracle.now().Checks)
	}
	if ralph.ExitCode(v.Reason, v.Signal) == 0 {
		r.requireEvidence(v)
	}
}

// requireOldPolicyAsBefore checks that a policy of an earlier version knows nothing of shown work.
func (r *simulation) requireOldPolicyAsBefore(v ralph.Verdict) {
	r.t.Helper()
	if r.state.Policy.Shown != "" {
		return
	}
	codes := ralph.RefusalsOf(v.Gates)
	for _, refused := range slices.Concat(v.Tasks.Refused, v.Tasks.Unconfirmed) {
		codes = append(codes, ralph.Refusal{Code: refused.Code})
	}
	isNew := func(refusal ralph.Refusal) bool { return oneOf(refusal.Code, "not_shown", "nothing_changed") }
	if v.Reason == ralph.Unconfirmed || len(v.Tasks.Unconfirmed) > 0 || slices.ContainsFunc(codes, isNew) {
		r.t.Fatalf("seed %d: a policy without gate.shown gives %+v", r.seed, v)
	}
}

// requireAskedTwice checks that a claim is left to a person only after it was refused in this process, or if
// the agent said that no test can show it.
func (r *simulation) requireAskedTwice(v ralph.Verdict) {
	r.t.Helper()
	var left []string
	for _, refused := range v.Tasks.Unconfirmed {
		left = append(left, refused.Task)
	}
	if judged := len(v.Gates) > 0; len(r.oracle.list) == 0 && v.Reason == ralph.Unconfirmed && judged {
		left = append(left, "")
	}
	for _, refused := range v.Tasks.Refused {
		if aboutEvidence(refused.Code) {
			r.shown.refusedFirst++
		}
	}
	now := r.state.History.Now
	for _, id := range left {
		switch {
		case now.Agent.Said.Untestable != nil && now.Task == id:
			r.shown.askedAtOnce++
		case r.refusedBefore(id):
			r.shown.askedAgain++
		default:
			r.t.Fatalf("seed %d, iteration %d: %q is left to a person, and was never refused before",
				r.seed, r.number, id)
		}
		if _, more := judge.NextTask(r.state.History.Tasks); more {
			r.shown.leftBehind++
		}
	}
}

// refusedBefore reports whether the log has a refusal of the same claim since the last resume, before the last
// verdict.
func (r *simulation) refusedBefore(id string) bool {
	for i := len(r.log) - 2; i >= 0; i-- {
		switch data := r.log[i].Data.(type) {
		case ralph.RunResumed:
			return false
		case ralph.VerdictReached:
			sameTask := func(refused ralph.TaskRefusal) bool { return refused.Task == id && aboutEvidence(refused.Code) }
			if slices.ContainsFunc(data.Verdict.Tasks.Refused, sameTask) || id == "" && len(data.Verdict.Refusals()) > 0 {
				return true
			}
		}
	}
	return false
}

// requireEvidence checks that exit 0 says no more about the work than the log does.
func (r *simulation) requireEvidence(v ralph.Verdict) {
	r.t.Helper()
	word := judge.ProofOf(r.state.Policy, r.state.History, v)
	r.shown.proofs[word]++
	claims := []string{""}
	if len(r.oracle.list) > 0 {
		claims = nil
	}
	for _, t := range r.oracle.list {
		if !t.Optional && !t.Human && t.Status != ralph.TaskDone {
			claims = append(claims, t.ID)
		}
	}
	for _, id := range claims {
		switch {
		case oneOf(word, ralph.ProvenShown, ralph.ProvenWorkspace) && !r.logShows(id):
			r.t.Fatalf("seed %d: proof %s, and nothing in the log shows %q", r.seed, word, id)
		case oneOf(r.state.Policy.Shown, ralph.ShownAsk, ralph.ShownRefuse) && word == ralph.ProvenNone &&
			!r.state.Policy.AllowUnverified:
			r.t.Fatalf("seed %d: gate.shown is %s, and the run completed with proof none", r.seed, r.state.Policy.Shown)
		}
	}
	isYes := func(e ralph.Event) bool { return e.Type == ralph.EvAccepted }
	if word == ralph.ProvenAccepted && !slices.ContainsFunc(r.log, isYes) {
		r.t.Fatalf("seed %d: accepted, and no person said so", r.seed)
	}
}

// logShows reports whether an iteration in the log has evidence for the goal or a task.
func (r *simulation) logShows(id string) bool {
	type key struct{ task, name string }
	failed, passes, judging := map[key]bool{}, map[key]bool{}, false
	for _, e := range r.log {
		switch data := e.Data.(type) {
		case ralph.IterationStarted:
			passes, judging = map[key]bool{}, true
		case ralph.VerdictReached:
			judging = false
		case ralph.CheckResult:
			at := key{data.Task, data.Name}
			if !judging && fails(data) {
				failed[at] = true
			}
			passes[at] = data.Passed && oneOf(data.Task, "", id)
			if judging && passes[at] && failed[at] {
				return true
			}
		case ralph.WorkSeen:
			for _, c := range data.AtBase {
				if fails(c) && passes[key{c.Task, c.Name}] {
					return true
				}
			}
			for _, run := range data.NewTests {
				if !run.Passed && passes[key{run.Task, run.Name}] {
					return true
				}
			}
		case ralph.Evaluation:
			if data.Task == id && data.Accepted {
				return true
			}
		}
	}
	return false
}
