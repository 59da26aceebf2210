package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
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

// settle records a person's yes and decides again. The yes is for the tree that was judged: if the files
// differ now, the checks run again first, and a failure refuses.
func (a *acceptance) settle(ctx context.Context, yes ralph.WorkAccepted) ralph.Verdict {
	h := a.state.History
	refuses := func(c ralph.CheckResult) bool { return !c.Passed && countsFor(h, yes, c) }
	changed := !a.tree.unchangedSince(ctx, h.Now.Tree, a.list.ownFile())
	if changed || slices.ContainsFunc(h.Now.Checks, refuses) {
		results, ok := a.checks.runAgain(ctx)
		a.tree.acceptTree(ctx)
		failed := slices.IndexFunc(results, refuses)
		switch {
		case !ok:
			return a.decide(ctx)
		case failed >= 0 && changed:
			return a.refuse("the files changed since the claim, and %s fails now", results[failed].FullName())
		case failed >= 0:
			return a.refuse("%s fails", results[failed].FullName())
		}
		if h.Tree.Known && !a.tree.unchangedSince(ctx, h.Tree, a.list.ownFile()) {
			return a.refuse("files changed while the checks ran; accept it again")
		}
		yes.Tree, yes.Checks = a.state.History.Tree, results
	}
	if why := a.provesNothing(ctx, yes); why != "" {
		return a.refuse("%s", why)
	}
	a.emit(ralph.EvAccepted, yes)
	for _, id := range yes.Tasks {
		t, _ := judge.FindTask(a.state.History.Tasks, id)
		a.emit(ralph.EvTaskDone, ralph.TaskMoved{Task: id, Title: t.Title, Detail: "accepted by " + yes.By})
	}
	if a.list.tasks != nil {
		a.list.writeTasks()
	}
	return a.decide(ctx)
}

// provesNothing returns why the checks of a list that a person completes prove nothing, or "". For a goal that
// was found out with the claim.
func (a *acceptance) provesNothing(ctx context.Context, yes ralph.WorkAccepted) string {
	left := slices.DeleteFunc(judge.OpenTasks(a.state.History.Tasks), func(id string) bool {
		return slices.Contains(yes.Tasks, id)
	})
	if len(yes.Tasks) == 0 || len(left) > 0 {
		return ""
	}
	for _, proof := range a.checks.prove(ctx) {
		if proof.Canary == ralph.CanaryGreen || proof.Lost > 0 {
			return proof.Name + " proves nothing: " + judge.DescribeProof(a.policy, proof)
		}
	}
	return ""
}

// countsFor reports whether a check must pass for what a person accepts. The own checks of other tasks that are
// not done do not matter.
func countsFor(h judge.History, yes ralph.WorkAccepted, c ralph.CheckResult) bool {
	t, _ := judge.FindTask(h.Tasks, c.Task)
	return c.Task == "" || t.Status == ralph.TaskDone || slices.Contains(yes.Tasks, c.Task)
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
func (a *acceptance) refuse(format string, args ...any) ralph.Verdict {
	v := a.endBefore()
	v.Detail = "not accepted: " + fmt.Sprintf(format, args...)
	return v
}

// endBefore returns how the run ended before. One that was killed did not reach a verdict.
func (a *acceptance) endBefore() ralph.Verdict {
	if before := a.state.Verdict; before.Action == ralph.Stop {
		return before
	}
	return judge.Abort(a.state.History.Breaker, ralph.Interrupted, "other work is left; continue with ralph resume")
}

// runAgain runs every check that a claim must pass on the current tree. It reports false if the run must end.
func (r *checkRunner) runAgain(ctx context.Context) ([]ralph.CheckResult, bool) {
	var results []ralph.CheckResult
	for _, part := range []struct {
		kind   ralph.ViewKind
		checks []check
	}{{ralph.ViewClaimed, r.suite.checksToRun(true)}, {ralph.ViewHidden, r.suite.hiddenChecks()}} {
		session := r.session(part.kind, checkFile("accept-"+string(part.kind)))
		session.judged = true
		for i, c := range part.checks {
			result, ok := session.check(ctx, i, c)
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
