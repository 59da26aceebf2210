package agent

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// sentences is what a CLI says of an error that has no code, in small letters: what fits first tells the class.
type sentences []struct {
	class   ralph.EndClass
	pattern func() *regexp.Regexp
}

// known quotes what was said; nil if nothing fits. Login is what helps when it was refused.
func (s sentences) known(words, login string) *stream.Fault {
	small := strings.ToLower(words)
	for _, one := range s {
		if one.pattern().MatchString(small) {
			return quotedFault(one.class, words, login)
		}
	}
	return nil
}

// fault is known, but an error of the agent's own if nothing fits.
func (s sentences) fault(words, login string) *stream.Fault {
	if f := s.known(words, login); f != nil {
		return f
	}
	return quotedFault(ralph.EndFailed, words, login)
}

// complaints is known for what a CLI writes to standard error before it ends.
func (s sentences) complaints(login string) func(line string) *stream.Fault {
	return func(line string) *stream.Fault { return s.known(strings.TrimPrefix(line, "Error: "), login) }
}

// quotedFault is told in the CLI's own words.
func quotedFault(class ralph.EndClass, words, login string) *stream.Fault {
	f := &stream.Fault{Class: class, Text: cmp.Or(promise.OneLine(words, stream.SentenceSize), stream.EndedWithError)}
	if class == ralph.EndAuth {
		f.Hint = login
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
func turnTrouble(message string) *stream.Fault {
	switch {
	case emptyTurn().MatchString(message):
		return (&stream.Fault{Class: ralph.EndEmpty, Text: stream.SaidNothing}).Saying(message)
	case brokenStream().MatchString(message):
		return (&stream.Fault{Class: ralph.EndProvider, Text: "the model's answer broke off"}).Saying(message)
	}
	return (&stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}).Saying(message)
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
