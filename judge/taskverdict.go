package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// judgeTasks decides which task claims are proven. A claim is proven if the agent did not fail, all
// checks of the run and of the task pass, no own check of a done task fails, and no gate refuses it.
func judgeTasks(p ralph.Policy, h History) ralph.TaskVerdict {
	v := ralph.TaskVerdict{Current: h.Now.Task}
	results := ownResults(p, h.Now.Checks)
	claimed := ClaimedTasks(p, h)
	for _, t := range h.Tasks {
		own := results[t.ID]
		switch {
		case t.Status == ralph.TaskDone && own.failed && !t.Regressed:
			v.Regressed = append(v.Regressed, t.ID)
		case t.Regressed && own.ran && !own.unclear:
			v.Mended = append(v.Mended, t.ID)
		}
	}
	judgeClaims(&v, p, h, claimed)
	giveUp(&v, p, h)
	for _, t := range h.Tasks {
		if t.Status == ralph.TaskUnconfirmed && results[t.ID].failed {
			v.Reopened = append(v.Reopened, t.ID)
		}
	}
	v.Question = questionOf(p, h, v)
	v.AllDone = len(h.Tasks) > 0 && len(OpenTasks(applyTasks(v, h.Tasks, false))) == 0
	return v
}

// judgeClaims decides on the claims for tasks. The current task comes first, because a piece of evidence
// shows only one of them.
func judgeClaims(v *ralph.TaskVerdict, p ralph.Policy, h History, claimed []string) {
	var given allotment
	isClaimed := map[string]bool{}
	for _, id := range claimed {
		isClaimed[id] = true
	}
	for _, t := range currentTaskFirst(h.Tasks, h.Now.Task) {
		if t.Status == ralph.TaskDone || !isClaimed[t.ID] {
			continue
		}
		used := given
		by, refusals := judgeClaim(p, h, t.ID, &used)
		others := slices.ContainsFunc(refusals, func(r ralph.TaskRefusal) bool { return !mayAsk(p, t.ID, r.Code) })
		switch {
		case len(refusals) == 0:
			given = used
			v.Done = append(v.Done, t.ID)
			if by.By != "" {
				v.Shown = append(v.Shown, by)
			}
		case !others && h.claimsAgain(t.ID):
			v.Unconfirmed = append(v.Unconfirmed, refusals[0])
		default:
			v.Refused = append(v.Refused, refusals[0])
		}
	}
	place := indexTasks(h.Tasks).at
	slices.SortFunc(v.Done, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
	slices.SortFunc(v.Refused, func(a, b ralph.TaskRefusal) int { return cmp.Compare(place[a.Task], place[b.Task]) })
}

// judgeClaim returns what shows a task, and why the claim for it is refused. If a person may settle the first
// reason, it looks for others.
func judgeClaim(
	p ralph.Policy, h History, id string, given *allotment,
) (by ralph.Showing, refusals []ralph.TaskRefusal) {
	refuse := func(code, detail string) {
		if code != "" {
			refusals = append(refusals, ralph.TaskRefusal{Task: id, Code: code, Detail: detail})
		}
	}
	code, detail := refuseTask(p, h, id)
	if refuse(code, detail); code != "" && !mayAsk(p, id, code) {
		return by, refusals
	}
	by, code, detail = showTask(p, h, id, given)
	refuse(code, detail)
	if code, detail = refuseByEvaluator(p, h, id); detail != notAsked || len(refusals) == 0 {
		refuse(code, detail)
	}
	return by, refusals
}

// showTask decides whether a claim for a task is shown. If the policy only warns, it passes unless nothing
// changed at all.
func showTask(p ralph.Policy, h History, id string, given *allotment) (by ralph.Showing, code, detail string) {
	by, code, detail = judgeShown(p, h, id, given)
	if code == ralph.RefusedNotShown && p.Shown == ralph.ShownWarn {
		return ralph.Showing{Task: id, By: ralph.ShownByNothing, Why: detail}, "", ""
	}
	return by, code, detail
}

func currentTaskFirst(tasks []ralph.TaskState, current string) []ralph.TaskState {
	tasks = slices.Clone(tasks)
	slices.SortStableFunc(tasks, func(a, b ralph.TaskState) int {
		return -compareBools(a.ID == current, b.ID == current)
	})
	return tasks
}

// ownResult sums up the own checks of a task: whether they ran, whether one failed, whether one did not pass.
type ownResult struct{ ran, failed, unclear bool }

// ownResults returns the results of every task whose own checks ran.
func ownResults(p ralph.Policy, checks []ralph.CheckResult) map[string]ownResult {
	results := map[string]ownResult{}
	for _, c := range checks {
		if c.Task != "" {
			r := results[c.Task]
			results[c.Task] = ownResult{ran: true, failed: r.failed || failsUnder(p)(c), unclear: r.unclear || !c.Passed}
		}
	}
	return results
}

// failsUnder returns whether a check failed, by the rules of a policy. In logs of older versions, one that cannot run
// failed, too.
func failsUnder(p ralph.Policy) func(ralph.CheckResult) bool {
	return func(c ralph.CheckResult) bool { return !c.Passed && (!c.Broken || p.Rules == 0) }
}

// ClaimedTasks lists the tasks that the agent claims are done, by tag or in the list. A claim that
// everything is done includes the current task.
func ClaimedTasks(p ralph.Policy, h History) []string {
	var claimed []string
	index := indexTasks(h.Tasks)
	for _, id := range slices.Concat(h.Now.Agent.Said.TasksDone, h.Now.Listed) {
		if t, ok := index.find(id); ok && !t.Human { // an agent cannot do a human task
			claimed = append(claimed, t.ID)
		}
	}
	if (claimsCompletion(p, h) || h.Now.Agent.Said.Untestable != nil) && h.Now.Task != "" {
		claimed = append(claimed, h.Now.Task)
	}
	return claimed
}

// refuseTask returns why the claim for a task is refused. The code is "" if it is not. What a person may settle
// comes last.
func refuseTask(p ralph.Policy, h History, id string) (code, detail string) {
	if gate := askEndedWell(p, h); gate.State == ralph.GateShut {
		return gate.Refusal, gate.Detail
	}
	if code, detail := refuseByChecks(p, h, id); code != "" {
		return code, detail
	}
	tampered := askTampered(p, h)
	gates := []ralph.Gate{tampered, askFresh(p, h)}
	if hasVerifierTools(p) {
		gates = append(gates, askTools(p, h))
	}
	for _, gate := range gates {
		if gate.State == ralph.GateShut && !PersonSettles(gate.Refusal) {
			return gate.Refusal, gate.Detail
		}
	}
	measured := slices.ContainsFunc(h.Now.Checks, func(c ralph.CheckResult) bool { return countsFor(c, id) })
	if !measured && !p.AllowUnverified && p.Evaluator == "" && !provenByTools(p, h) {
		return ralph.RefusedNoEvidence, "no check of the run or of the task ran, so nothing proves it"
	}
	if tampered.State == ralph.GateShut {
		return tampered.Refusal, tampered.Detail
	}
	return "", ""
}

// refuseByEvaluator returns why the evaluator refuses the claim for a task. The code is "" if it does not.
func refuseByEvaluator(p ralph.Policy, h History, id string) (code, detail string) {
	e, asked := h.Now.evaluationOf(id)
	switch {
	case p.Evaluator == "":
		return "", ""
	case !asked:
		return ralph.RefusedEvaluator, notAsked
	}
	return refusalOf(e)
}

// countsFor reports whether a check belongs to the run or to the task.
func countsFor(c ralph.CheckResult, id string) bool { return c.Task == "" || c.Task == id }

// refuseByChecks returns which check refuses the claim for a task: one of the run, one of the task, or one of a task
// that was done. A check that cannot run refuses as well, but it did not fail.
func refuseByChecks(p ralph.Policy, h History, id string) (code, detail string) {
	var failed, broken, regressed []string
	for _, c := range h.Now.Checks {
		t, _ := FindTask(h.Tasks, c.Task)
		ours, name := countsFor(c, id), c.Name
		if c.Hidden { // the agent must learn nothing else about it
			name = HiddenCheckName
		}
		switch {
		case c.Passed:
		case !ours && t.Status != ralph.TaskDone: // the own check of another claim does not affect this one
		case !ours && !failsUnder(p)(c):
			broken = append(broken, fmt.Sprintf("%s (the check of task %s, which was done)", name, c.Task))
		case c.Broken && (!c.Hidden || p.Rules > 0) && ours:
			broken = append(broken, name)
		case !ours:
			regressed = append(regressed, fmt.Sprintf("%s, the check of task %s, which was done", name, c.Task))
		case c.Hidden:
			failed = append(failed, name)
		default:
			failed = append(failed, name+" ("+c.HowFailed()+")")
		}
	}
	switch {
	case len(failed) > 0:
		return ralph.RefusedCheckFailed, strings.Join(slices.Compact(failed), ", ") + " failed" + whyNotInTree(h.Now.Checks)
	case len(regressed) > 0:
		return ralph.RefusedCheckFailed, strings.Join(regressed, "; ") + ", failed"
	case len(broken) > 0:
		return ralph.RefusedCheckBroken, strings.Join(slices.Compact(broken), ", ") + " cannot run"
	}
	return "", ""
}

// giveUp abandons the current task if it has used up its tries or evaluations, or if the agent gave it
// up. Regressed tasks take its place.
func giveUp(v *ralph.TaskVerdict, p ralph.Policy, h History) {
	t, ok := FindTask(h.Tasks, v.Current)
	settled := slices.Contains(v.Done, v.Current) ||
		slices.ContainsFunc(v.Unconfirmed, func(r ralph.TaskRefusal) bool { return r.Task == v.Current })
	if v.Current == "" || !ok {
		v.Reopened = regressedTasks(applyTasks(*v, h.Tasks, false))
		return
	}
	asks := h.Now.Agent.Said.Decide != nil && p.OnDecide == ralph.DecideWait // after the answer it gets another try
	tired := p.TaskTries > 0 && t.Tries+1 >= p.TaskTries
	rejected := p.MaxRejections > 0 && h.RejectionsOf(t.ID) >= p.MaxRejections
	ended := h.Now.Agent.TaskEnd
	e, _ := h.Now.evaluationOf(t.ID)
	unpaid := e.End == ralph.EndOverBudget // no evaluator rejected it
	if settled || asks || unpaid || !ralph.CountsAsIteration(h.Now.Agent.End) || !tired && !rejected && ended == "" {
		return
	}
	v.GivenUp, v.Rejected = t.ID, rejected
	if !rejected {
		v.Because = ended
	}
	v.Retried = p.OnTaskFailure == ralph.TaskRetry && t.Rounds < p.TaskRetries
	v.Reopened = regressedTasks(applyTasks(*v, h.Tasks, false))
}

// whyTaskEnded describes why the agent ended the task, and what became of its cases.
func (o Observation) whyTaskEnded(end ralph.StopReason) string {
	switch {
	case end == ralph.IterCap:
		return "the worker used all its turns" + o.caseSummary()
	case end == ralph.NoCase && o.Agent.AnswersCut:
		return "the model's replies were cut at its length limit several times in a row" + o.caseSummary()
	case end == ralph.NoCase:
		return "the worker replied several times in a row without calling a tool" + o.caseSummary()
	case end == ralph.EmptyResponses:
		return "the model's replies were empty several times in a row"
	}
	return string(end)
}

// caseSummary says what became of the worker's cases. One that was malformed is not among them: it was never judged.
func (o Observation) caseSummary() string {
	malformed := ""
	if problem := o.Agent.CaseProblem; problem != "" {
		malformed = "; its last malformed case: " + problem
	}
	switch n := len(o.Cases); {
	case n == 0 && malformed != "":
		return ", and no valid case was submitted" + malformed
	case n == 0:
		return ", and no case was submitted"
	case n == 1:
		return ", and its only case was not accepted" + malformed
	default:
		return fmt.Sprintf(", and none of its %d cases was accepted", n) + malformed
	}
}

// WhyGivenUp returns one sentence on why the verdict abandons a task.
func WhyGivenUp(p ralph.Policy, v ralph.TaskVerdict, now Observation) string {
	why := fmt.Sprintf("not proven in %s", text.Count(p.TaskTries, "iteration"))
	switch {
	case v.Rejected:
		why = strings.TrimSpace("rejected by the evaluator "+p.Evaluator) + " " + text.Times(p.MaxRejections)
	case v.Because != "":
		why = string(v.Because) + ": " + now.whyTaskEnded(v.Because)
	}
	if v.Retried {
		return why + "; it will be tried again after the others"
	}
	return why
}

// taskRule is row 6: a task used up its tries or its evaluations.
func taskRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if n := h.RejectionsOf(""); p.MaxRejections > 0 && n >= p.MaxRejections {
		return stopAt(v, 6, ralph.EvaluatorCap, "the evaluator rejected the work %s", text.Times(n))
	}
	if end := h.Now.Agent.TaskEnd; end != "" && len(h.Tasks) == 0 {
		v.Hint = h.Now.Agent.Hint
		return stopAt(v, 6, end, "%s", h.Now.whyTaskEnded(end))
	}
	if v.Tasks.GivenUp == "" || v.Tasks.Retried || p.OnTaskFailure == ralph.TaskSkip {
		return nil
	}
	if end := v.Tasks.Because; end != "" {
		v.Hint = h.Now.Agent.Hint
		return stopAt(v, 6, end, "task %s: %s", v.Tasks.GivenUp, h.Now.whyTaskEnded(end))
	}
	if v.Tasks.Rejected {
		return stopAt(v, 6, ralph.EvaluatorCap, "the evaluator rejected task %s %s",
			v.Tasks.GivenUp, text.Times(h.RejectionsOf(v.Tasks.GivenUp)))
	}
	return stopAt(v, 6, ralph.TaskTries, "task %s was worked on in %s without being proven", v.Tasks.GivenUp,
		text.Count(p.TaskTries*(roundsOf(h.Tasks, v.Tasks.GivenUp)+1), "iteration"))
}

// nothingLeftRule is row 4, before any agent starts: the list is already done, and all checks pass.
func nothingLeftRule(p ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	if h.Started > 0 || len(h.Tasks) == 0 || len(OpenTasks(h.Tasks)) > 0 || !AllPassed(h.Baseline) {
		return nil
	}
	v.VerifiedBy = ProvenBy(p, h)
	return stopAt(v, 4, ralph.TasksDone, "every task of the list was done already, and every check passes")
}

// stuckRule is row 6, between iterations: tasks are open, but none of them can be selected because
// tasks were abandoned.
func stuckRule(_ ralph.Policy, h History, v ralph.Verdict) *ralph.Verdict {
	open := OpenTasks(h.Tasks)
	if _, ok := NextTask(h.Tasks); ok || len(open) == 0 {
		return nil
	}
	var failed []string
	waiting := len(open)
	for _, t := range h.Tasks {
		if t.Status != ralph.TaskFailed {
			continue
		}
		failed = append(failed, t.ID)
		if t.Open() { // an optional task that another needs does not count as open
			waiting--
		}
	}
	if len(failed) == 0 {
		return nil
	}
	detail := fmt.Sprintf("abandoned: %s", strings.Join(failed, ", "))
	if waiting > 0 {
		detail += fmt.Sprintf("; %s for %s", tasksWait(waiting), pronoun(len(failed)))
	}
	return stopAt(v, 6, ralph.TaskTries, "%s", detail)
}

func tasksWait(n int) string {
	if n == 1 {
		return "1 task waits"
	}
	return fmt.Sprintf("%d tasks wait", n)
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// StashesFailedTasks reports whether the work on an abandoned task is stashed before the next task. A
// run that stops instead leaves the work in the tree for the user.
func StashesFailedTasks(p ralph.Policy) bool {
	return p.OnTaskFailure == ralph.TaskSkip || p.OnTaskFailure == ralph.TaskRetry
}
