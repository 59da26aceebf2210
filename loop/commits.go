package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
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
	if l.list.tasks != nil && len(likely.Tasks.Done) > 0 {
		states := l.list.statuses()
		for _, id := range likely.Tasks.Done {
			states[id] = ralph.TaskDone
		}
		if l.list.writeStates(states); l.list.unwritten != nil { // the commit would lack it
			l.run.storageFailed(fmt.Errorf("update %s: %w", l.list.tasks.File(), l.list.unwritten))
			return
		}
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
	made, err := l.commits.by.Commit(ctx, l.commits.message(facts))
	if (err != nil || made.Failed) && l.list.tasks != nil { // nothing more is proven
		l.list.writeTasks()
	}
	if errors.Is(err, ralph.ErrIO) && ctx.Err() == nil {
		l.run.storageFailed(fmt.Errorf("commit: %w", err))
		return
	}
	if err != nil {
		made = ralph.CommitResult{Failed: true, Output: err.Error()}
	}
	switch {
	case ctx.Err() != nil:
	case made.Failed:
		l.run.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: ralph.CommitCheck, Output: made.Output, ExitCode: 1})
	case made.Commit != "":
		l.run.emit(ralph.EvCommit, made)
		l.tree.snapshot(ctx, ralph.TreeInput{BaseHead: l.run.state.History.Base.Head, Claimed: true})
		if made.Changed && len(now.Checks)+len(now.Evaluations) > 0 {
			l.tree.compare(ctx, l.run.state.History.Now.Tree)
			l.gather(ctx, judge.MayComplete(l.run.policy, l.run.state.History))
		}
	}
}
