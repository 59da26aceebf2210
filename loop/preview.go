package loop

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
)

// Preview is the prompt of the first iteration, as it would be if the run started now. It starts nothing and writes nothing: letters stay where
// they are, and the task list is only read.
func (l *Loop) Preview(ctx context.Context) (ralph.Prompt, error) {
	if err := l.readGoal(ctx); err != nil {
		return ralph.Prompt{}, err
	}
	l.recorder, l.observers = nil, nil
	l.emit(ralph.EvRunStarted, l.started())
	if l.tasks != nil {
		l.tellSelected()
	}
	l.readSteering()
	if post, ok := l.mailbox.(ralph.Post); ok {
		letters, _ := post.Letters()
		for _, letter := range letters {
			l.foresee(letter)
		}
	}
	return l.prompter.Prompt(ctx, l.promptInput(ctx, ralph.IterationStarted{Ordinal: 1, Of: l.policy.MaxIterations}))
}

// foresee remembers a letter as if it had been taken.
func (l *Loop) foresee(letter ralph.Letter) {
	if letter.Kind == ralph.LetterAnswer {
		l.asked = ""
		l.state.Remember(ralph.AnswerGiven{Question: letter.Question, Answer: letter.Text})
		return
	}
	file, item, line, err := placeSteering(l.cfg.Dir, letter.Text)
	known := slices.ContainsFunc(l.steering, func(other ralph.SteeringSeen) bool { return other.File == file && other.Text == item })
	if err != nil || line == "" || known {
		return
	}
	end := 0 // of the file that it goes to
	for i, other := range l.steering {
		if other.File == file {
			end = i + 1
		}
	}
	l.steering = slices.Insert(l.steering, end, ralph.SteeringSeen{State: ralph.SteeringDelivered, File: file, Text: item})
}
