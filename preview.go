package ralph

import (
	"context"
	"slices"
)

// Preview is the prompt of the first iteration, as it would be if the run started now. It starts nothing and writes nothing: letters stay where
// they are, and the task list is only read.
func (l *Loop) Preview(ctx context.Context) (Prompt, error) {
	if err := l.readGoal(ctx); err != nil {
		return Prompt{}, err
	}
	l.recorder, l.observers = nil, nil
	l.emit(EvRunStarted, l.started())
	if l.tasks != nil {
		l.tellSelected()
	}
	l.readSteering()
	if post, ok := l.mailbox.(Post); ok {
		letters, _ := post.Letters()
		for _, letter := range letters {
			l.foresee(letter)
		}
	}
	return l.prompter.Prompt(ctx, l.promptInput(ctx, IterationStarted{Ordinal: 1, Of: l.policy.MaxIterations}))
}

// foresee remembers a letter as if it had been taken.
func (l *Loop) foresee(letter Letter) {
	if letter.Kind == LetterAnswer {
		l.asked = ""
		l.state.remember(AnswerGiven{Question: letter.Question, Answer: letter.Text})
		return
	}
	file, item, line, err := placeSteering(l.cfg.Dir, letter.Text)
	known := slices.ContainsFunc(l.steering, func(other SteeringSeen) bool { return other.File == file && other.Text == item })
	if err != nil || line == "" || known {
		return
	}
	end := 0 // of the file that it goes to
	for i, other := range l.steering {
		if other.File == file {
			end = i + 1
		}
	}
	l.steering = slices.Insert(l.steering, end, SteeringSeen{State: SteeringDelivered, File: file, Text: item})
}
