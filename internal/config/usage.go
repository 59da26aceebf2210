package config

import "github.com/ralphloop/ralph/internal/text"

// UsageError is a mistake in what the user wrote: a flag, a key, a value, a file. It ends the program with status 64.
type UsageError struct {
	Msg  string // what is wrong and where
	Hint string // what would be right; may be empty
}

// Error is the message and the hint on one line.
func (e *UsageError) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + "; " + e.Hint
}

// problem is what is wrong with a value, before it is known who gave it.
type problem struct{ msg, hint string }

func (p *problem) from(subject string) error {
	return &UsageError{Msg: subject + ": " + p.msg, Hint: p.hint}
}

// Nearest is the candidate that name was most likely meant to be, or "" if none is near.
func Nearest(name string, candidates []string) string { return text.Nearest(name, candidates) }

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}
