package ralph

import "context"

// Preview is the prompt of the first iteration, as it would be if the run started now. It starts nothing and writes nothing: letters stay where
// they are, and the task list is only read.
func (l *Loop) Preview(ctx context.Context) (Prompt, error) {
	if err := l.readGoal(); err != nil {
		return Prompt{}, err
	}
	l.recorder, l.observers = nil, nil
	l.emit(EvRunStarted, l.started())
	if l.tasks != nil {
		l.tellSelected()
	}
	if post, ok := l.mailbox.(Post); ok {
		letters, _ := post.Letters()
		for _, letter := range letters {
			if letter.Kind == LetterSteer {
				l.state.remember(SteeringSeen{State: SteeringDelivered, File: steeringFiles[0], Text: letter.Text})
			} else {
				l.asked = ""
				l.state.remember(AnswerGiven{Question: letter.Question, Answer: letter.Text})
			}
		}
	}
	queued := l.state.Steering
	l.state.Steering = nil
	l.readSteering()
	l.state.Steering = append(l.state.Steering, queued...)
	return l.prompter.Prompt(ctx, l.promptInput(ctx, IterationStarted{Ordinal: 1, Of: l.policy.MaxIterations}))
}
