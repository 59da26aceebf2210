package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// acceptance settles claimed work that a person accepts, without an agent.
type acceptance struct {
	*journal
	tree   *workspace
	list   *taskList
	checks *checkRunner
	yes    *ralph.WorkAccepted // nil if agents are to work
}

// validate refuses a yes that a person may not give.
func (a *acceptance) validate() error {
	switch {
	case a.yes == nil:
		return nil
	case a.state.Phase != fold.PhaseNone:
		return errors.New("make loop: the last iteration was not judged; resume the run before you accept its work")
	case !a.maySettle():
		return errors.New("make loop: a person cannot settle what the last claim leaves open")
	}
	return nil
}

// maySettle reports whether the yes is for something that a person may settle.
func (a *acceptance) maySettle() bool {
	if a.yes == fold.UnfinishedYes(a.state) {
		return true
	}
	ids := a.yes.Tasks
	if len(ids) == 0 {
		ids = []string{""} // the goal
	}
	may := judge.Acceptable(a.policy, a.state.History, a.state.Verdict)
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(may, id) })
}

// settle records a person's yes and decides again. The yes is for the tree that was judged: if the files
// differ now, the checks run again first, and a failure refuses. A yes that completes the run settles only what
// evidence cannot: every other gate is judged as in a run.
func (a *acceptance) settle(ctx context.Context, yes ralph.WorkAccepted) ralph.Verdict {
	a.checks.accepting = true
	recorded := a.yes == fold.UnfinishedYes(a.state)
	if before := a.state.Verdict; recorded && judge.Completed(before) { // only the end was not recorded
		return before
	}
	ran, refusal := a.runChecks(ctx, &yes)
	completes := a.completes(yes)
	if refusal == "" && completes {
		refusal = a.judgeOthers(ctx, &yes)
	}
	switch {
	case ctx.Err() != nil || a.storage != nil:
		return a.decide(ctx)
	case refusal != "":
		return a.refuse(refusal)
	}
	if !recorded || ran {
		a.emit(ralph.EvAccepted, yes)
		for _, id := range yes.Tasks {
			t, _ := judge.FindTask(a.state.History.Tasks, id)
			a.emit(ralph.EvTaskDone, ralph.TaskMoved{Task: id, Title: t.Title, Detail: "accepted by " + yes.By})
		}
	}
	if a.list.tasks != nil {
		a.list.writeTasks()
	}
	return a.decide(ctx)
}

// completes reports whether nothing is left after a person's yes.
func (a *acceptance) completes(yes ralph.WorkAccepted) bool {
	return !slices.ContainsFunc(judge.OpenTasks(a.state.History.Tasks), func(id string) bool {
		return !slices.Contains(yes.Tasks, id)
	})
}

// runChecks runs the checks again, unless those that matter passed on this tree. It returns why the work cannot be
// accepted, or "".
func (a *acceptance) runChecks(ctx context.Context, yes *ralph.WorkAccepted) (ran bool, refusal string) {
	h := a.state.History
	changed := !a.tree.unchangedSince(ctx, h.Now.Tree, a.list.ownFile())
	if !changed && !h.Now.Stale && a.passed(*yes) {
		return false, ""
	}
	if changed && a.state.Started.InSession { // its agent may work on; the person has not seen that
		return false, "files changed since you were asked; look at them with ralph diff, continue with ralph goal resume, " +
			"and accept the work after the session's next stop"
	}
	results, ok := a.checks.runAgain(ctx)
	a.tree.acceptTree(ctx)
	failed := slices.IndexFunc(results, func(c ralph.CheckResult) bool {
		return !c.Passed && countsFor(h, *yes, c.Task)
	})
	switch {
	case !ok:
		return true, ""
	case failed >= 0 && changed:
		return true, fmt.Sprintf("the files changed since the claim, and %s fails now", results[failed].FullName())
	case failed >= 0:
		return true, results[failed].FullName() + " fails"
	}
	if h.Tree.Known && !a.tree.unchangedSince(ctx, h.Tree, a.list.ownFile()) {
		return true, "files changed while the checks ran; accept it again"
	}
	yes.Tree, yes.Checks = a.state.History.Tree, results
	return true, ""
}

// passed reports whether the last iteration ran every check that matters for the yes, and all of them passed. A check
// that flaked in a list was not confirmed yet: that is done when the run completes.
func (a *acceptance) passed(yes ralph.WorkAccepted) bool {
	h, completes := a.state.History, a.completes(yes)
	needed := a.checks.suite.checksToRun(true)
	if completes {
		needed = slices.Concat(needed, a.checks.suite.hiddenChecks())
	}
	return !slices.ContainsFunc(needed, func(c check) bool {
		now := a.checks.passedNow(c)
		same := now != nil && (c.hidden || now.Command == c.command)
		doubtful := completes && len(yes.Tasks) > 0 && h.HasFlaked(ralph.CheckResult{Name: c.name, Task: c.task})
		return countsFor(h, yes, c.task) && (!same || doubtful)
	})
}

// judgeOthers judges the gates that a person's yes does not settle. It returns why one of them refuses, or "". For a
// goal, whether the checks prove anything was found out with the claim.
func (a *acceptance) judgeOthers(ctx context.Context, yes *ralph.WorkAccepted) string {
	a.list.readPlan()
	h := a.state.History
	if len(yes.Tasks) > 0 {
		if !yes.Tree.Known {
			yes.Tree, yes.Checks = h.Tree, slices.Clone(h.Now.Checks)
		}
		isFailing := func(c check) bool {
			return slices.ContainsFunc(yes.Checks, func(r ralph.CheckResult) bool {
				return r.Name == c.name && r.Task == c.task && !r.Passed
			})
		}
		for _, proof := range a.checks.proveChecks(ctx, isFailing) {
			if proof.Canary == ralph.CanaryGreen || proof.Lost > 0 {
				return proof.Name + " proves nothing: " + judge.DescribeProof(a.policy, proof)
			}
			for i, c := range yes.Checks {
				if c.Name == proof.Name && c.Task == proof.Task {
					yes.Checks[i].Proof = &proof
				}
			}
		}
	}
	h = a.state.History
	h.Accept(*yes)
	if others := judge.OtherRefusals(a.policy, h); len(others) > 0 {
		return others[0].Code + ": " + others[0].Detail
	}
	return ""
}

// countsFor reports whether the checks of a task, or of the run, must pass for what a person accepts. The own checks
// of other tasks that are not done do not matter.
func countsFor(h judge.History, yes ralph.WorkAccepted, task string) bool {
	t, _ := judge.FindTask(h.Tasks, task)
	return task == "" || t.Status == ralph.TaskDone || slices.Contains(yes.Tasks, task)
}

// decide returns how the run ends now. If other work is left, the run ends as it did before, and no verdict
// is recorded, because none was reached. An interrupt is not recorded either: the claim that waits for a
// person is in the last verdict.
func (a *acceptance) decide(ctx context.Context) ralph.Verdict {
	if a.storage != nil {
		return a.storageVerdict()
	}
	at := a.moment(ctx)
	v := judge.Decide(a.policy, a.state.History.Judge(at))
	switch {
	case v.Reason == ralph.Interrupted:
		return v
	case !judge.Completed(v) && v.Reason != ralph.Unconfirmed:
		return a.endBefore()
	}
	a.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	return v
}

// refuse leaves the run as it was, and says why the work is not accepted.
func (a *acceptance) refuse(why string) ralph.Verdict {
	v := a.endBefore()
	v.Detail = "not accepted: " + why
	return v
}

// endBefore returns how the run ended before. One that was killed did not reach a verdict.
func (a *acceptance) endBefore() ralph.Verdict {
	if before := a.state.Verdict; before.Action == ralph.Stop {
		return before
	}
	return judge.Abort(a.state.History.Breaker, ralph.Interrupted, "other work is left; continue with ralph resume")
}

// runAgain runs every check that a claim must pass on the current tree. One that has flaked must pass the next time. It
// reports false if the run must end.
func (r *checkRunner) runAgain(ctx context.Context) ([]ralph.CheckResult, bool) {
	var results []ralph.CheckResult
	for _, part := range []struct {
		kind   ralph.ViewKind
		checks []check
	}{{ralph.ViewClaimed, r.suite.checksToRun(true)}, {ralph.ViewHidden, r.suite.hiddenChecks()}} {
		session := r.session(part.kind, checkFile("accept-"+string(part.kind)))
		session.judged = true
		for i, c := range part.checks {
			session.strict = r.state.History.HasFlaked(ralph.CheckResult{Name: c.name, Task: c.task})
			result, ok := session.check(ctx, i, c)
			if ok && result.Flaked {
				session.strict = true
				result, ok = session.check(ctx, i, c)
			}
			if !ok {
				session.close()
				return nil, false
			}
			results = append(results, result)
		}
		session.close()
	}
	return results, true
}
