package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// mayAsk reports whether a person may settle what a refusal leaves open. A task that is claimed with no
// change becomes unconfirmed even if the policy only warns: it must not keep the run from ending.
func mayAsk(p ralph.Policy, id, code string) bool {
	switch code {
	case ralph.RefusedNoChange:
		return p.Shown == ralph.ShownAsk || p.Shown == ralph.ShownWarn && id != ""
	case ralph.RefusedNotShown:
		return p.Shown == ralph.ShownAsk
	case ralph.RefusedTestsChanged, ralph.RefusedTestAware, ralph.RefusedTestsMissing, ralph.RefusedEnvironment,
		ralph.RefusedDependencies:
		return p.TestChange == ralph.TestsAsk
	}
	return false
}

// claimsAgain reports whether a claim that only a person can settle brings nothing new: the agent says
// that no test can show it, or the same claim was refused before.
func (h History) claimsAgain(id string) bool {
	if h.Now.Agent.Said.Untestable != nil && id == h.Now.Task {
		return true
	}
	for _, before := range h.NotShown {
		if before.Task == id {
			return before.Tree == h.Now.Tree.ID() && before.Tree != "" || before.Times+1 >= mostUnshownClaims
		}
	}
	return false
}

// PersonSettles reports whether a refusal leaves open what a person may settle.
func PersonSettles(code string) bool {
	switch code {
	case ralph.RefusedNotShown, ralph.RefusedNoChange,
		ralph.RefusedTestsChanged, ralph.RefusedTestAware, ralph.RefusedTestsMissing, ralph.RefusedEnvironment,
		ralph.RefusedDependencies:
		return true
	}
	return false
}

// noteUnshown remembers claims that were refused only for reasons that a person may settle.
func (h *History) noteUnshown(v ralph.Verdict) {
	var ids []string
	refusals := ralph.RefusalsOf(v.Gates)
	others := slices.ContainsFunc(refusals, func(r ralph.Refusal) bool { return !PersonSettles(r.Code) })
	if len(h.Tasks) == 0 && v.Claimed && len(refusals) > 0 && !others {
		ids = append(ids, "")
	}
	for _, r := range v.Tasks.Refused {
		if PersonSettles(r.Code) {
			ids = append(ids, r.Task)
		}
	}
	if len(ids) == 0 {
		return
	}
	h.NotShown = slices.Clone(h.NotShown)
	for _, id := range ids {
		i := slices.IndexFunc(h.NotShown, func(c UnshownClaim) bool { return c.Task == id })
		if i < 0 {
			i, h.NotShown = len(h.NotShown), append(h.NotShown, UnshownClaim{Task: id})
		}
		h.NotShown[i].Tree, h.NotShown[i].Times = h.Now.Tree.ID(), h.NotShown[i].Times+1
	}
}

// spendChecks remembers which repaired checks show nothing else: those that showed a task, and every check of
// the run that passes now, because the base of the next claim has their repair already.
func (h *History) spendChecks(shown []ralph.Showing) {
	if len(shown) == 0 {
		return
	}
	spend := func(name string) {
		if !slices.Contains(h.SpentChecks, name) {
			h.SpentChecks = append(slices.Clip(h.SpentChecks), name)
		}
	}
	for _, by := range shown {
		if by.By == ralph.ShownByRunCheck || by.By == ralph.ShownByTaskCheck {
			spend(by.Check)
		}
	}
	for _, c := range h.Now.Checks {
		if c.Task == "" && c.Passed && failsAtRunBase(*h, c) {
			spend(c.Name)
		}
	}
}

// unconfirmedRule is row 5: the goal is claimed, and only a person can settle what is missing.
func unconfirmedRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	refusals := ralph.RefusalsOf(v.Gates)
	open := slices.ContainsFunc(refusals, func(r ralph.Refusal) bool { return !mayAsk(p, "", r.Code) })
	if len(h.Tasks) > 0 || len(refusals) == 0 || open || !v.Claimed || !h.claimsAgain("") {
		return nil
	}
	return stopAt(v, 5, ralph.Unconfirmed, "%s", refusals[0].Detail)
}

// unconfirmedTasksRule is row 5 for a list: only a person can settle the tasks that are left, and the checks pass.
func unconfirmedTasksRule(_ ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	h.Tasks = applyTasks(v.Tasks, h.Tasks, false)
	open := OpenTasks(h.Tasks)
	for _, t := range h.Tasks {
		if t.Open() && t.Status != ralph.TaskUnconfirmed {
			return nil
		}
	}
	checks := countedChecks(h)
	if _, more := NextTask(h.Tasks); more || len(open) == 0 || len(checks) > 0 && !AllPassed(checks) {
		return nil
	}
	return stopAt(v, 5, ralph.Unconfirmed, "%s", describeUnconfirmed(open, h.leftToPerson(v.Tasks)))
}

// leftToPerson returns why tasks are left to a person, those of this verdict included.
func (h History) leftToPerson(v ralph.TaskVerdict) []ralph.TaskRefusal {
	if len(v.Unconfirmed) == 0 {
		return h.ForPerson
	}
	again := func(before ralph.TaskRefusal) bool {
		return slices.ContainsFunc(v.Unconfirmed, func(r ralph.TaskRefusal) bool { return r.Task == before.Task })
	}
	return append(slices.DeleteFunc(slices.Clone(h.ForPerson), again), v.Unconfirmed...)
}

// describeUnconfirmed says why a person must settle these tasks: nothing shows them, or tests were weakened.
func describeUnconfirmed(ids []string, why []ralph.TaskRefusal) string {
	var unshown, weakened []string
	tasks := map[string][]string{} // by what is wrong with the tests
	for _, id := range ids {
		i := slices.IndexFunc(why, func(r ralph.TaskRefusal) bool { return r.Task == id })
		if i < 0 || why[i].Code == ralph.RefusedNotShown || why[i].Code == ralph.RefusedNoChange {
			unshown = append(unshown, id)
			continue
		}
		detail := why[i].Detail
		if tasks[detail] == nil {
			weakened = append(weakened, detail)
		}
		tasks[detail] = append(tasks[detail], id)
	}
	var parts []string
	if len(unshown) > 0 {
		parts = append(parts, "not shown: "+text.List(unshown))
	}
	for _, detail := range weakened {
		parts = append(parts, fmt.Sprintf("%s (%s)", detail, text.List(tasks[detail])))
	}
	return "claimed, but " + strings.Join(parts, "; ")
}

// acceptedRule is row 4, between iterations: a person accepted what the last one left, and no other gate refuses.
func acceptedRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if h.Accepted == nil || len(OtherRefusals(p, h)) > 0 {
		return nil
	}
	v.VerifiedBy = ProvenBy(p, h)
	if len(h.Tasks) > 0 {
		return stopAt(v, 4, ralph.TasksDone, "every task of the list is done, some of them accepted by a person")
	}
	by := ralph.Showing{By: ralph.ShownByPerson, Who: h.Accepted.By, Why: h.Accepted.Why}
	v.Shown = []ralph.Showing{by}
	if len(h.Now.Checks) == 0 {
		return stopAt(v, 4, ralph.Unverified, "%s, but nothing was checked", DescribeShowing(by))
	}
	return stopAt(v, 4, ralph.AllChecksPassed, "%s", DescribeShowing(by))
}

// OtherRefusals returns why a claim is refused that a person accepted: what a person cannot settle, such as a failing
// check or a changed protected file.
func OtherRefusals(p ralph.Policy, h History) []ralph.Refusal {
	return slices.DeleteFunc(ralph.RefusalsOf(askGates(p, h)), func(r ralph.Refusal) bool { return mayAsk(p, "", r.Code) })
}

// Accept applies a person's yes to the goal or to tasks.
func (h *History) Accept(yes ralph.WorkAccepted) {
	if yes.Tree.Known {
		h.Now.Checks, h.Now.Tree, h.Now.Stale = yes.Checks, yes.Tree, false
		h.Tree = yes.Tree
	}
	h.Accepted = &yes
	h.Tasks = slices.Clone(h.Tasks)
	for i := range h.Tasks {
		if slices.Contains(yes.Tasks, h.Tasks[i].ID) {
			h.Tasks[i].Status, h.Tasks[i].Regressed, h.Tasks[i].Proven = ralph.TaskDone, false, ralph.ProvenAccepted
		}
	}
}

func (h History) acceptedByPerson() bool {
	return h.Accepted != nil || slices.ContainsFunc(h.Tasks, func(t ralph.TaskState) bool {
		return t.Proven == ralph.ProvenAccepted
	})
}

// ProofOf returns how far a verdict proves the work. It returns "" for runs of versions that did not ask.
func ProofOf(p ralph.Policy, h History, v ralph.Verdict) ralph.ProofWord {
	switch {
	case p.Shown == "":
		return ""
	case !Completed(v):
		return ralph.ProvenNone
	case len(h.Tasks) == 0:
		return proofWord(h, v.Shown)
	}
	order := []ralph.ProofWord{
		ralph.ProvenShown, ralph.ProvenWorkspace, ralph.ProvenAccepted, ralph.ProvenUnbroken, ralph.ProvenReported,
		ralph.ProvenNone,
	}
	weakest := -1
	for _, t := range h.Tasks {
		if t.Status == ralph.TaskDone && t.Proven != "" {
			weakest = max(weakest, slices.Index(order, t.Proven))
		}
	}
	if weakest < 0 { // the list was done before the run
		return ralph.ProvenUnbroken
	}
	return order[weakest]
}

// proofWord returns the word for what shows a claim.
func proofWord(h History, shown []ralph.Showing) ralph.ProofWord {
	if len(shown) == 0 {
		return ralph.ProvenNone
	}
	switch shown[0].By {
	case ralph.ShownByPerson:
		return ralph.ProvenAccepted
	case ralph.ShownUnbroken:
		return ralph.ProvenUnbroken
	case ralph.ShownByTools:
		return ralph.ProvenReported
	case ralph.ShownByNothing:
		return ralph.ProvenNone
	}
	if slices.ContainsFunc(h.Now.Checks, ranInPlace) || len(h.Now.Dependencies) > 0 {
		return ralph.ProvenWorkspace
	}
	return ralph.ProvenShown
}

// Acceptable lists the tasks that a person may accept, or "" for the goal, after the last verdict v.
func Acceptable(p ralph.Policy, h History, v ralph.Verdict) []string {
	var ids []string
	for _, t := range h.Tasks {
		if t.Status == ralph.TaskUnconfirmed {
			ids = append(ids, t.ID)
		}
	}
	refusals := ralph.RefusalsOf(v.Gates)
	open := slices.ContainsFunc(refusals, func(r ralph.Refusal) bool { return !mayAsk(p, "", r.Code) })
	if len(h.Tasks) == 0 && v.Claimed && len(refusals) > 0 && !open {
		return []string{""}
	}
	return ids
}
