package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// What the oracle makes of proofs, of files that are not the agent's, and of evaluators.

// doubts are the refusals of what green checks are worth, of tampering and of stale evidence, in the order of the gate table.
func (n notebook) doubts(counting []ralph.CheckResult) []string {
	p, now := n.policy, n.now()
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
	case len(now.Tampered) > 0:
		codes = append(codes, "tampered")
	case now.BaseTests != nil && !now.BaseTests.OldPassed && p.TestChange == ralph.TestsRefuse:
		codes = append(codes, "tests_changed")
	case now.BaseTests != nil && len(now.BaseTests.Aware) > 0 && p.TestChange == ralph.TestsRefuse:
		codes = append(codes, "test_aware")
	}
	if now.Stale {
		codes = append(codes, "stale_evidence")
	}
	return codes
}

// lastWords are the newest verdicts of a page on each task, in the order in which the tasks were first asked about.
func lastWords(q page) []ralph.Evaluation {
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

// accepted: it was asked, and has nothing against anything.
func (n notebook) accepted() bool {
	last := lastWords(n.now())
	return len(last) > 0 && !slices.ContainsFunc(last, func(e ralph.Evaluation) bool { return !e.Accepted })
}

// evaluated is the refusal of the evaluator's gate. Of a list, every task was asked about when it was done.
func (n notebook) evaluated() string {
	if n.policy.Evaluator == "" {
		return ""
	}
	last := lastWords(n.now())
	if len(last) == 0 && len(n.list) == 0 {
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

// unasked is how a run ends whose evaluator cannot be asked: as with an agent that cannot work, or with the limit that is in the way. Of files that
// changed it need not be asked.
func (n notebook) unasked() ralph.StopReason {
	for _, e := range lastWords(n.now()) {
		if n.now().Stale {
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
			if limit := n.limitHit(n.now().at.Elapsed); limit != "" {
				return limit
			}
		}
	}
	return ""
}

// unpaid: the newest word on a task is that the budget was used up.
func unpaid(q page, id string) bool {
	return slices.ContainsFunc(
		lastWords(q),
		func(e ralph.Evaluation) bool { return e.Task == id && e.End == ralph.EndOverBudget },
	)
}

// trusted: nothing that is measured beside the checks stands against the claim for a task.
func (n notebook) trusted(q page, id string) bool {
	fooled := len(q.Tampered) > 0 ||
		q.BaseTests != nil && (!q.BaseTests.OldPassed || len(q.BaseTests.Aware) > 0) &&
			n.policy.TestChange == ralph.TestsRefuse
	if fooled || q.Stale {
		return false
	}
	return n.policy.Evaluator == "" ||
		slices.ContainsFunc(lastWords(q), func(e ralph.Evaluation) bool { return e.Task == id && e.Accepted })
}

// angrier counts the rejections of a page to those before.
func angrier(before map[string]int, q page) map[string]int {
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

// aboutEvidence adds what is found out beside the checks of an iteration.
func (d dice) aboutEvidence(st *step, p ralph.Policy, list []ralph.TaskState) {
	if d.oneIn(12) {
		st.Tampered = []string{"a_test.go (changed)"}
	}
	if d.oneIn(12) {
		st.Unseen = []string{"conftest.py"}
	}
	if !st.against() {
		return
	}
	st.Stale = d.oneIn(20)
	if d.oneIn(8) {
		st.BaseTests = &ralph.BaseTestsRun{Files: []string{"b_test.go"}, OldPassed: d.oneIn(2)}
		if d.oneIn(3) {
			st.BaseTests.Aware = []string{"a.go: if testing.Testing() {"}
		}
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
		e.Accepted, e.End = false, pick(
			d,
			ralph.EndAuth,
			ralph.EndMissing,
			ralph.EndSandbox,
			ralph.EndLimit,
			ralph.EndProvider,
			ralph.EndFailed,
			ralph.EndTimeout,
			ralph.EndOutOfTime,
			ralph.EndOverBudget,
		)
		e.Error = "it broke"
	case !e.Accepted:
		e.Category = pick(d, ralph.RejectedGap, ralph.RejectedWeakTest, ralph.RejectedInvalid)
	}
	if d.oneIn(6) {
		e.Cost, e.Tokens = new(0.25), &ralph.Tokens{Input: 20}
	}
	return e
}

// proofs are what green checks are worth.
func (d dice) proofs(checks []ralph.CheckResult) {
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

// gatherEvidence has everything seen that a page holds beside its tree. An evaluator is asked only about what is claimed and not done.
func (r *enacted) gatherEvidence(st *step) {
	if len(st.Tampered)+len(st.Unseen) > 0 {
		r.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedFiles, Details: st.Tampered, Unseen: st.Unseen})
	}
	for _, c := range st.Checks {
		c.Proof = nil
		r.emit(ralph.EvCheckFinished, c)
	}
	if st.BaseTests != nil {
		r.emit(ralph.EvTestsChanged, *st.BaseTests)
	}
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
		return len(r.notes.list) > 0 && (t.Status == ralph.TaskDone || !r.notes.claims(st.page, e.Task)) ||
			len(r.notes.list) == 0 && !r.notes.claimedOn(st.page)
	})
	for _, e := range st.Evaluations {
		r.emit(ralph.EvEvaluation, e)
	}
}
