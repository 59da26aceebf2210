package loop

import (
	"context"

	"github.com/ralphloop/ralph"
)

// Preview is the prompt of the first iteration, as it would be if the run started now. It starts nothing and writes nothing: letters stay where
// they are, and the task list is only read.
func (l *Loop) Preview(ctx context.Context) (ralph.Prompt, error) {
	if err := l.goals.readGoal(ctx); err != nil {
		return ralph.Prompt{}, err
	}
	l.run.recorder, l.run.observers = nil, nil
	l.run.emit(ralph.EvRunStarted, l.started())
	if l.list.tasks != nil {
		l.list.tellSelected()
	}
	l.inbox.readSteering()
	if post, ok := l.run.mailbox.(ralph.Post); ok {
		letters, _ := post.Letters()
		for _, letter := range letters {
			l.inbox.foresee(letter)
		}
	}
	return l.prompter.Prompt(ctx, l.promptInput(ctx, ralph.IterationStarted{Ordinal: 1, Of: l.run.policy.MaxIterations}))
}
