package loop

import (
	"context"

	"github.com/ralphloop/ralph"
)

// Preview returns the prompt of the first iteration, as it would be if the run started now. It
// starts nothing, writes nothing and does not change the loop: messages stay in the inbox, and the
// task list is only read.
func (l *Loop) Preview(ctx context.Context) (ralph.Prompt, error) {
	return l.previewLoop().firstPrompt(ctx)
}

// previewLoop returns a loop with the same parts, but without a recorder and observers.
func (l *Loop) previewLoop() *Loop {
	r := newLoop(l.run.cfg)
	r.run.policy, r.run.id, r.run.about, r.run.inbox = l.run.policy, l.run.id, l.run.about, l.run.inbox
	*r.run.state = *l.run.state // Apply changes nothing that two states share
	r.tree.store, r.tree.examiner = l.tree.store, l.tree.examiner
	r.list.tasks, r.prompter = l.list.tasks, l.prompter
	r.agents.agents, r.agents.tools = l.agents.agents, l.agents.tools
	r.inbox.asked, r.inbox.knownWhenAsked = l.inbox.asked, l.inbox.knownWhenAsked
	return r
}

func (l *Loop) firstPrompt(ctx context.Context) (ralph.Prompt, error) {
	if err := l.goals.readGoal(ctx); err != nil {
		return ralph.Prompt{}, err
	}
	l.run.emit(ralph.EvRunStarted, l.startedEvent())
	if l.list.tasks != nil {
		l.list.recordSelected()
	}
	l.inbox.readSteering(ralph.SteeringDelivered)
	if inbox, ok := l.run.inbox.(ralph.MessageInbox); ok {
		messages, _ := inbox.Messages()
		for _, message := range messages {
			l.inbox.previewMessage(message)
		}
	}
	// No check ran, so the prompt does not say whether they pass.
	in := l.promptInput(ctx, ralph.IterationStarted{Ordinal: 1, Of: l.run.policy.MaxIterations})
	return l.run.prompt(ctx, l.prompter, in)
}
