package loop

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// accept records a person's yes to claimed work and decides again, without an agent. The yes is for the tree
// that was judged: if the files differ now, the checks run again first, and a failure refuses.
func (l *Loop) accept(ctx context.Context, yes ralph.WorkAccepted) ralph.Verdict {
	before := l.run.state.Verdict
	h := l.run.state.History
	judged := h.Now.Tree
	holds := len(h.Now.Checks) == 0 || judge.AllPassed(h.Now.Checks)
	if !holds || !l.tree.unchangedSince(ctx, judged, l.list.ownFile()) {
		results, ok := l.checks.runAgain(ctx)
		if !ok {
			return l.endAccept(ctx, before)
		}
		yes.Tree, yes.Checks = l.run.state.History.Tree, results
		if failed := slices.IndexFunc(results, func(c ralph.CheckResult) bool { return !c.Passed }); failed >= 0 {
			return judge.Abort(h.Breaker, ralph.Unconfirmed,
				"not accepted: the files changed since the claim, and %s fails now", results[failed].FullName())
		}
	}
	l.run.emit(ralph.EvAccepted, yes)
	for _, id := range yes.Tasks {
		t, _ := judge.FindTask(l.run.state.History.Tasks, id)
		l.run.emit(ralph.EvTaskDone, ralph.TaskMoved{Task: id, Title: t.Title, Detail: "accepted by " + yes.By})
	}
	if l.list.tasks != nil {
		l.list.writeTasks()
	}
	return l.endAccept(ctx, before)
}

// endAccept decides how the run ends now. If other work is left, it ends as it did before.
func (l *Loop) endAccept(ctx context.Context, before ralph.Verdict) ralph.Verdict {
	if l.run.storage != nil {
		return l.run.storageVerdict()
	}
	at := l.run.moment(ctx)
	v := judge.Decide(l.run.policy, l.run.state.History.Judge(at))
	if v.Action != ralph.Stop {
		v = before
	}
	l.run.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	return v
}

// runAgain runs every check that a claim must pass on the current tree. It reports false if the run must end.
func (r *checkRunner) runAgain(ctx context.Context) ([]ralph.CheckResult, bool) {
	var results []ralph.CheckResult
	for _, part := range []struct {
		kind   ralph.ViewKind
		checks []check
	}{{ralph.ViewClaimed, r.suite.checksToRun(true)}, {ralph.ViewHidden, r.suite.hiddenChecks()}} {
		session := r.session(part.kind, checkFile("accept-"+string(part.kind)))
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
