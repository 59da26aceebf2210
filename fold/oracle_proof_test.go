package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// This part of the oracle is about proofs, tampering and evaluators.

// proofRefusals returns the refusals for checks that prove nothing, for tampering and for stale
// evidence, in the order of the gate table.
func (o oracle) proofRefusals(counting []ralph.CheckResult) []string {
	now := o.now()
	var codes []string
	has := func(bad func(ralph.Proof) bool) bool {
		return slices.ContainsFunc(counting, func(c ralph.CheckResult) bool { return c.Proof != nil && bad(*c.Proof) })
	}
	switch {
	case has(func(p ralph.Proof) bool { return p.Canary == ralph.CanaryGreen }):
		codes = append(codes, "check_inert")
	case has(func(p ralph.Proof) bool { return p.Lost > 0 }):
		codes = append(codes, "tests_missing")
	}
	switch {
	case len(now.Tampered) > 0, o.cannotCompare():
		codes = append(codes, "tampered")
	case o.testChange(now) != "":
		codes = append(codes, o.testChange(now))
	}
	if now.Stale {
		codes = append(codes, "stale_evidence")
	}
	return codes
}

// cannotCompare reports whether files are protected and nothing shows how they were at the base.
func (o oracle) cannotCompare() bool { return len(o.policy.Protects) > 0 && o.base.Snapshot == "" }

// latestEvaluations returns the newest evaluation of each task in an iteration, in the order of the
// first ones.
func latestEvaluations(q iteration) []ralph.Evaluation {
	var last []ralph.Evaluation
	for _, e := range q.Evaluations {
		if i := slices.IndexFunc(last, func(l ralph.Evaluation) bool { return l.Task == e.Task }); i >= 0 {
			last[i] = e
		} else {
			last = append(last, e)
		}
	}
	return last
}

// evaluatorAccepted reports whether the evaluator was asked and accepted everything.
func (o oracle) evaluatorAccepted() bool {
	last := latestEvaluations(o.now())
	return len(last) > 0 && !slices.ContainsFunc(last, func(e ralph.Evaluation) bool { return !e.Accepted })
}

// evaluatorRefusal returns the refusal of the evaluator's gate. In a list, each task was reviewed
// when it was done.
func (o oracle) evaluatorRefusal() string {
	if o.policy.Evaluator == "" {
		return ""
	}
	last := latestEvaluations(o.now())
	if len(last) == 0 && len(o.list) == 0 {
		return "evaluator_rejected"
	}
	for _, e := range last {
		switch {
		case e.End != ralph.EndOK:
			return "evaluator_rejected:unavailable"
		case !e.Accepted:
			return "evaluator_rejected:" + string(e.Category)
		}
	}
	return ""
}

// evaluatorStop returns how a run ends if its evaluator is not available: as for an agent that
// cannot work, or with the limit that prevents the review. If files changed after the checks, the
// evaluator is not needed.
func (o oracle) evaluatorStop() ralph.StopReason {
	for _, e := range latestEvaluations(o.now()) {
		if o.now().Stale {
			break
		}
		switch e.End {
		case ralph.EndAuth:
			return ralph.AuthError
		case ralph.EndMissing:
			return ralph.ProgramMissing
		case ralph.EndSandbox:
			return ralph.SandboxError
		case ralph.EndLimit:
			return ralph.RateLimited
		case ralph.EndProvider:
			return ralph.ProviderFailed
		case ralph.EndFailed, ralph.EndTimeout:
			return ralph.AgentFailed
		case ralph.EndOverBudget:
			if limit := o.limitHit(o.now().at.Elapsed); limit != "" {
				return limit
			}
		}
	}
	return ""
}

// overBudget reports whether the newest evaluation of a task is that the budget was used up.
func overBudget(q iteration, id string) bool {
	isOver := func(e ralph.Evaluation) bool { return e.Task == id && e.End == ralph.EndOverBudget }
	return slices.ContainsFunc(latestEvaluations(q), isOver)
}

// testChange returns the refusal for weakened tests, or for code that asks whether it is being tested.
func (o oracle) testChange(q iteration) string {
	switch {
	case q.BaseTests == nil || !oneOf(o.policy.TestChange, ralph.TestsRefuse, ralph.TestsAsk):
		return ""
	case !q.BaseTests.OldPassed:
		return "tests_changed"
	case len(q.BaseTests.Aware) > 0:
		return "test_aware"
	}
	return ""
}

// evaluatorOn returns the refusal of the evaluator's gate for a task. One that was not asked yet has no say while
// something else refuses the claim.
func (o oracle) evaluatorOn(q iteration, id string, others int) string {
	if o.policy.Evaluator == "" {
		return ""
	}
	for _, e := range latestEvaluations(q) {
		if e.Task == id && e.Accepted {
			return ""
		}
		if e.Task == id {
			return "evaluator_rejected:" + string(e.Category)
		}
	}
	if others > 0 {
		return ""
	}
	return "evaluator_rejected"
}

// addRejections adds the rejections in an iteration to those before.
func addRejections(before map[string]int, q iteration) map[string]int {
	after := map[string]int{}
	for task, times := range before {
		after[task] = times
	}
	for _, e := range q.Evaluations {
		if e.End == ralph.EndOK && !e.Accepted {
			after[e.Task]++
		}
	}
	return after
}

// addEvidence adds evidence besides the checks to an iteration.
func (d dice) addEvidence(st *step, p ralph.Policy, list []ralph.TaskState) {
	often := 1
	if d.calm {
		often = 4
	}
	if d.oneIn(12 * often) {
		st.Tampered = []string{"a_test.go (changed)"}
	}
	if d.oneIn(12) {
		st.Unseen = []string{"conftest.py"}
	}
	if !st.counts() {
		return
	}
	st.Stale, st.moved = d.oneIn(20*often), d.oneIn(20*often)
	if d.oneIn(8) {
		st.BaseTests = &ralph.BaseTestsRun{Files: []string{"b_test.go"}, OldPassed: d.oneIn(2)}
		if d.oneIn(3) {
			st.BaseTests.Aware = []string{"a.go: if testing.Testing() {"}
		}
	}
	if !d.oneIn(6) {
		st.Work = d.work(*st)
	}
	for p.Evaluator != "" && !d.oneIn(4) {
		e := d.evaluation()
		if len(list) > 0 {
			e.Task = pick(d, list...).ID
		}
		st.Evaluations = append(st.Evaluations, e)
	}
}

func (d dice) evaluation() ralph.Evaluation {
	e := ralph.Evaluation{Agent: "judge", Tries: 1, End: ralph.EndOK, Accepted: d.oneIn(2)}
	switch {
	case d.oneIn(10):
		e.Accepted = false
		e.End = pick(d, ralph.EndAuth, ralph.EndMissing, ralph.EndSandbox, ralph.EndLimit, ralph.EndProvider,
			ralph.EndFailed, ralph.EndTimeout, ralph.EndOutOfTime, ralph.EndOverBudget)
		e.Error = "it broke"
	case !e.Accepted:
		e.Category = pick(d, ralph.RejectedGap, ralph.RejectedWeakTest, ralph.RejectedInvalid)
	}
	if d.oneIn(6) {
		e.Cost, e.Tokens = new(0.25), &ralph.Tokens{Input: 20}
	}
	return e
}

// addProofs adds what is known about passing checks.
func (d dice) addProofs(checks []ralph.CheckResult) {
	for i := range checks {
		if checks[i].Passed && d.oneIn(2) {
			checks[i].Proof = &ralph.Proof{
				Name:   checks[i].Name,
				Task:   checks[i].Task,
				Canary: pick(d, ralph.CanaryRed, ralph.CanaryRed, ralph.CanaryMute, ralph.CanaryNone, ralph.CanaryGreen),
				Lost:   max(0, d.IntN(9)-6),
			}
		}
	}
}

// gatherEvidence emits the events of everything in a step besides its tree. The evaluator reviews
// only what is claimed and not done.
func (r *simulation) gatherEvidence(st *step) {
	if len(st.Tampered)+len(st.Unseen) > 0 {
		r.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedFiles, Details: st.Tampered, Unseen: st.Unseen})
	}
	if st.moved { // files changed while the first checks ran, and nothing of them counts
		again := st.Tree
		again.Again = true
		r.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: "on another tree"})
		r.emit(ralph.EvTestsChanged, ralph.BaseTestsRun{Files: []string{"on another tree"}})
		r.emit(ralph.EvTreeSnapshot, again)
	}
	for _, c := range st.Checks {
		c.Proof = nil
		r.emit(ralph.EvCheckFinished, c)
	}
	if st.BaseTests != nil {
		r.emit(ralph.EvTestsChanged, *st.BaseTests)
	}
	r.showWork(st)
	for _, c := range st.Checks {
		if c.Proof != nil {
			r.emit(ralph.EvCheckProof, *c.Proof)
		}
	}
	if st.Stale {
		r.emit(ralph.EvTreeSnapshot, ralph.TreeState{Known: true, Head: "c9", Hash: "h9", AfterChecks: true})
	}
	st.Evaluations = slices.DeleteFunc(st.Evaluations, func(e ralph.Evaluation) bool {
		t, _ := judge.FindTask(r.state.History.Tasks, e.Task)
		return len(r.oracle.list) > 0 && (t.Status == ralph.TaskDone || !r.oracle.claims(st.iteration, e.Task)) ||
			len(r.oracle.list) == 0 && !r.oracle.claimedOn(st.iteration)
	})
	for _, e := range st.Evaluations {
		r.emit(ralph.EvEvaluation, e)
	}
}
