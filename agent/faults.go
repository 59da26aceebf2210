package agent

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// fault is a way of not ending well.
type fault struct {
	class ralph.EndClass
	text  string
	hint  string
	wait  time.Duration // with EndLimit, until the reset
}

// What people are told, whatever the CLI calls it.
const (
	loginRefused     = "the login was refused"
	noLogin          = "no login was found"
	limitReached     = "the usage limit is reached"
	modelOverloaded  = "the model is overloaded"
	modelFailed      = "the model failed"
	modelUnreachable = "the model could not be reached"
	modelRefused     = "the model refused"
	contextTooLong   = "the context is too long for the model"
	endedWithError   = "the agent ended with an error"
	saidNothing      = "the agent said nothing of its own"
)

// statusOverloaded is what some providers answer when they have too much to do.
const statusOverloaded = 529

// statusClass says what a status of the model's server means; "" if there is none.
func statusClass(status int64) ralph.EndClass {
	switch {
	case status == 0:
		return ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ralph.EndAuth
	case status == http.StatusTooManyRequests:
		return ralph.EndLimit
	case status >= 500, status == http.StatusRequestTimeout:
		return ralph.EndProvider
	}
	return ralph.EndFailed
}

// httpFault says what a status of the model's server means; nil if it is 0, or the agent's own affair. Login is what helps when it was refused.
func httpFault(status int64, login string) *fault {
	switch statusClass(status) {
	case ralph.EndAuth:
		return (&fault{class: ralph.EndAuth, text: loginRefused, hint: login}).withStatus(status)
	case ralph.EndLimit:
		return (&fault{class: ralph.EndLimit, text: limitReached}).withStatus(status)
	case ralph.EndProvider:
		text := modelFailed
		if status == http.StatusServiceUnavailable || status == statusOverloaded {
			text = modelOverloaded
		}
		return (&fault{class: ralph.EndProvider, text: text}).withStatus(status)
	}
	return nil
}

// withStatus adds the status that told it, if one did.
func (f *fault) withStatus(status int64) *fault {
	if status != 0 {
		f.text += fmt.Sprintf(" (status %d)", status)
	}
	return f
}

// saying adds what the CLI said about it.
func (f *fault) saying(words string) *fault {
	if words = promise.OneLine(words, sentenceSize); words != "" {
		f.text += ": " + words
	}
	return f
}

// sentences is what a CLI says of an error that has no code, in small letters: what fits first tells the class.
type sentences []struct {
	class   ralph.EndClass
	pattern func() *regexp.Regexp
}

// known quotes what was said; nil if nothing fits. Login is what helps when it was refused.
func (s sentences) known(words, login string) *fault {
	small := strings.ToLower(words)
	for _, one := range s {
		if one.pattern().MatchString(small) {
			return quotedFault(one.class, words, login)
		}
	}
	return nil
}

// fault is known, but an error of the agent's own if nothing fits.
func (s sentences) fault(words, login string) *fault {
	if f := s.known(words, login); f != nil {
		return f
	}
	return quotedFault(ralph.EndFailed, words, login)
}

// complaints is known for what a CLI writes to standard error before it ends.
func (s sentences) complaints(login string) func(line string) *fault {
	return func(line string) *fault { return s.known(strings.TrimPrefix(line, "Error: "), login) }
}

// quotedFault is told in the CLI's own words.
func quotedFault(class ralph.EndClass, words, login string) *fault {
	f := &fault{class: class, text: promise.OneLine(words, sentenceSize)}
	if f.text == "" {
		f.text = endedWithError
	}
	if class == ralph.EndAuth {
		f.hint = login
	}
	return f
}

// errorWords are those of error events, for CLIs of which no more is known than that their errors have no codes.
var errorWords = sentences{
	{ralph.EndAuth, text.LazyRegexp(`\b(401|403|unauthenticated|unauthorized|not logged in|authentication|invalid api key|missing api key|access token expired)\b`)},
	{ralph.EndLimit, text.LazyRegexp(`\b(429|rate limit|usage limit|resource_exhausted|quota|out of credits|credit balance|insufficient credits?)\b`)},
	{ralph.EndProvider, text.LazyRegexp(`\b(5\d\d|overloaded|unavailable|timed? ?out|deadline_exceeded|connection|network|stream)\b`)},
}

// connectionWords are those of a server that was not reached, as Node programs have them, in small letters.
var connectionWords = text.LazyRegexp(`\b(?:fetch failed|connection error|econn(?:refused|reset)|etimedout|enotfound|eai_again|socket hang up|timed out)\b`)

// What gemini and its kin say in an error: what the model's server answered, in brackets, and advice behind it; or how a turn came to nothing.
var (
	apiError     = text.LazyRegexp(`(?s)^\[API Error: (.*)\](?:\s*\n(.*))?$`)
	emptyTurn    = text.LazyRegexp(`^(?:The model returned (?:an empty response|reasoning thoughts but no final response)|Model stream ended with empty response text)\b`)
	brokenStream = text.LazyRegexp(`^(?:Model stream ended without a finish reason|Invalid stream)\b`)
	// In small letters. The last form is that of Google accounts, known from reports of users.
	askedWait = text.LazyRegexp(`\b(?:retry in|retry after|reset after) ((?:\d+(?:\.\d+)?(?:h|ms|m|s))+)`)
)

// turnTrouble says what it means that a turn came to nothing, for which the closing event has no word.
func turnTrouble(message string) *fault {
	switch {
	case emptyTurn().MatchString(message):
		return (&fault{class: ralph.EndEmpty, text: saidNothing}).saying(message)
	case brokenStream().MatchString(message):
		return (&fault{class: ralph.EndProvider, text: "the model's answer broke off"}).saying(message)
	}
	return (&fault{class: ralph.EndFailed, text: endedWithError}).saying(message)
}

// waitIn is how long a message asks to wait; 0 if it does not say.
func waitIn(message string) time.Duration {
	m := askedWait().FindStringSubmatch(strings.ToLower(message))
	if m == nil {
		return 0
	}
	wait, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return wait
}
