package stream

import (
	"fmt"
	"net/http"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// Fault is a way of not ending well.
type Fault struct {
	Class ralph.EndClass
	Text  string
	Hint  string
	Wait  time.Duration // with EndLimit, until the reset
}

// Texts for people, independent of the CLI.
const (
	LoginRefused     = "the login was refused"
	NoLogin          = "no login was found"
	LimitReached     = "the usage limit is reached"
	CreditUsedUp     = "the account's credit is used up"
	ModelOverloaded  = "the model is overloaded"
	ModelFailed      = "the model failed"
	ModelUnreachable = "the model could not be reached"
	ModelRefused     = "the model refused"
	ModelUnknown     = "the model's server does not know the model"
	ContextTooLong   = "the context is too long for the model"
	EndedWithError   = "the agent ended with an error"
	SaidNothing      = "the agent wrote no message"
)

// CreditHint is the hint for an account whose credit is used up: no reset brings it back.
const CreditHint = "add credit to the account, or let another agent take over with --fallback"

// BrokenHint is the hint for output in an unknown format.
const BrokenHint = "test this version of the CLI with `ralph doctor`, or use its plain output with --agent-cmd"

// statusOverloaded is what some providers answer when they are overloaded.
const statusOverloaded = 529

// StatusClass classifies a status of the model's server; "" if there is none.
func StatusClass(status int64) ralph.EndClass {
	switch {
	case status == 0:
		return ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ralph.EndAuth
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return ralph.EndLimit
	case status == http.StatusNotFound:
		return ralph.EndModel
	case status >= 500, status == http.StatusRequestTimeout:
		return ralph.EndProvider
	}
	return ralph.EndFailed
}

// HTTPFault classifies a status of the model's server; nil if it is 0, or the agent's own error.
// login is the hint for a failed login.
func HTTPFault(status int64, login string) *Fault {
	switch StatusClass(status) {
	case ralph.EndAuth:
		return (&Fault{Class: ralph.EndAuth, Text: LoginRefused, Hint: login}).WithStatus(status)
	case ralph.EndLimit:
		f := &Fault{Class: ralph.EndLimit, Text: LimitReached}
		if status == http.StatusPaymentRequired {
			f.Text, f.Hint = CreditUsedUp, CreditHint
		}
		return f.WithStatus(status)
	case ralph.EndModel:
		return (&Fault{Class: ralph.EndModel, Text: ModelUnknown}).WithStatus(status)
	case ralph.EndProvider:
		text := ModelFailed
		if status == http.StatusServiceUnavailable || status == statusOverloaded {
			text = ModelOverloaded
		}
		return (&Fault{Class: ralph.EndProvider, Text: text}).WithStatus(status)
	}
	return nil
}

// WithStatus adds the status, if there is one.
func (f *Fault) WithStatus(status int64) *Fault {
	if status != 0 {
		f.Text += fmt.Sprintf(" (status %d)", status)
	}
	return f
}

// Saying adds what the CLI said about it.
func (f *Fault) Saying(words string) *Fault {
	if words = promise.OneLine(words, SentenceSize); words != "" {
		f.Text += ": " + words
	}
	return f
}
