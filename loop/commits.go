package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// commits holds how a loop commits. The zero value does not commit.
type commits struct {
	by      ralph.Committer
	when    ralph.CommitRule
	message func(ralph.CommitFacts) string
}

// commit commits the iteration's work before it is judged, so that a failing hook or signature
// refuses the claim like any check. It first writes the list as the verdict would leave it, so that
// the commit contains what is proven.
func (l *Loop) commit(ctx context.Context) {
	now := l.run.state.History.Now
	if l.commits.by == nil || l.commits.when == ralph.CommitOff || l.run.storage != nil || ctx.Err() != nil ||
		!ralph.CountsAsIteration(now.Agent.End) {
		return
	}
	likely := judge.Decide(l.run.policy, l.run.state.History.Judge(l.run.moment(ctx)))
	complete := judge.Completed(likely)
	if l.commits.when == ralph.CommitTask && len(likely.Tasks.Done) == 0 && !complete {
		return
	}
	if !l.list.writeDone(likely.Tasks.Done) { // the commit would lack it
		l.run.storageFailed(fmt.Errorf("update %s: %w", l.list.tasks.File(), l.list.unwritten))
		return
	}
	worked, _ := judge.FindTask(l.run.state.History.Tasks, now.Task)
	facts := ralph.CommitFacts{
		Run:       l.run.id,
		Iteration: l.run.iteration,
		Goal:      l.goals.goal.text,
		Task:      now.Task,
		Title:     worked.Title,
		Done:      likely.Tasks.Done,
		Complete:  complete,
		Checks:    fold.VisibleChecks(now.Checks),
	}
	message := l.commits.message(facts)
	changed, made := l.commits.make(ctx, l.tree, l.list, message)
	if !made {
		return
	}
	proves := complete || len(likely.Tasks.Done) > 0
	if proves && l.tree.joinsEdits() && !l.tree.unchangedSince(ctx, now.Tree, l.list.ownFile()) {
		changed = true
		if l.tree.missingInHead(l.list.ownFile()) != "" { // a hook changed files after they were staged
			if _, made = l.commits.make(ctx, l.tree, l.list, message); !made {
				return
			}
		}
	}
	if changed && len(now.Checks)+len(now.Evaluations) > 0 {
		l.tree.compare(ctx, l.run.state.History.Now.Tree)
		l.gather(ctx, judge.MayComplete(l.run.policy, l.run.state.History))
	}
	missing := l.tree.missingInHead(l.list.ownFile())
	if proves && missing != "" && ctx.Err() == nil && l.run.storage == nil {
		l.run.commitFailed("the commit lacks what the checks saw in " + missing + ": a hook of the repository left it out, " +
			"or git's index hides it from git add; undo that (git read-tree HEAD renews the index)")
		l.list.unprove()
	}
}

// make makes a commit, if there is something to commit. It reports whether a hook changed files. If the commit
// failed, it records why, and made is false.
func (c commits) make(ctx context.Context, tree *workspace, list *taskList, message string) (changed, made bool) {
	result, err := c.by.Commit(ctx, message)
	if err != nil || result.Failed {
		list.unprove()
	}
	switch {
	case errors.Is(err, ralph.ErrIO) && ctx.Err() == nil:
		tree.storageFailed(fmt.Errorf("commit: %w", err))
	case ctx.Err() != nil:
	case err != nil:
		tree.commitFailed(err.Error())
	case result.Failed:
		tree.commitFailed(result.Output)
	case result.Commit != "":
		tree.emit(ralph.EvCommit, result)
		tree.snapshot(ctx, ralph.TreeInput{BaseHead: tree.state.History.Base.Head, Claimed: true})
	}
	return result.Changed, err == nil && !result.Failed && ctx.Err() == nil
}

// commitFailed records that no commit has the work.
func (j *journal) commitFailed(why string) {
	j.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: ralph.CommitCheck, Output: why, ExitCode: 1})
}

// writeDone writes the list with more tasks done, and reports whether that worked.
func (k *taskList) writeDone(tasks []string) bool {
	if k.tasks == nil || len(tasks) == 0 {
		return true
	}
	states := k.statuses()
	for _, id := range tasks {
		states[id] = ralph.TaskDone
	}
	k.writeStates(states)
	return k.unwritten == nil
}

// unprove writes the list as it was before the commit: nothing more is proven.
func (k *taskList) unprove() {
	if k.tasks != nil {
		k.writeTasks()
	}
}

// missingInHead names the files that HEAD does not have as they were judged, or returns "".
func (w *workspace) missingInHead(own func(name string) bool) string {
	count, names := judge.Uncommitted(w.state.History.First, w.state.History.Now.Tree)
	if count > 0 && names == nil {
		return text.Count(count, "file")
	}
	return text.List(slices.DeleteFunc(names, own))
}
