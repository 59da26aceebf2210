package config

import "github.com/ralphloop/ralph/internal/text"

// UsageError is a mistake in a flag, key, value or file of the user. It ends the program with
// status 64.
type UsageError struct {
	Msg  string // what is wrong and where
	Hint string // how to fix it; may be empty
}

// Error returns the message and the hint on one line.
func (e *UsageError) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + "; " + e.Hint
}

// problem is a mistake in a value. The caller adds where the value came from.
type problem struct{ msg, hint string }

func (p *problem) from(subject string) error {
	return &UsageError{Msg: subject + ": " + p.msg, Hint: p.hint}
}

// Nearest returns the candidate that name most likely stands for, or "" if none is close.
func Nearest(name string, candidates []string) string { return text.Nearest(name, candidates) }

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}
