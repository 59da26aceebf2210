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

// sentences are lower-case patterns for errors without a code. The first match determines the
// class.
type sentences []struct {
	class   ralph.EndClass
	pattern func() *regexp.Regexp
}

// known classifies and quotes an error; nil if nothing matches. login is the hint for a failed
// login.
func (s sentences) known(words, login string) *stream.Fault {
	small := strings.ToLower(words)
	for _, one := range s {
		if one.pattern().MatchString(small) {
			return quotedFault(one.class, words, login)
		}
	}
	return nil
}

// fault is like known, but returns a failure of the agent itself if nothing matches.
func (s sentences) fault(words, login string) *stream.Fault {
	if f := s.known(words, login); f != nil {
		return f
	}
	return quotedFault(ralph.EndFailed, words, login)
}

// complaints is known for what a CLI prints on standard error before it exits.
func (s sentences) complaints(login string) func(line string) *stream.Fault {
	return func(line string) *stream.Fault { return s.known(strings.TrimPrefix(line, "Error: "), login) }
}

// quotedFault quotes the CLI's own text.
func quotedFault(class ralph.EndClass, words, login string) *stream.Fault {
	f := &stream.Fault{Class: class, Text: cmp.Or(promise.OneLine(words, stream.SentenceSize), stream.EndedWithError)}
	if class == ralph.EndAuth {
		f.Hint = login
	}
	return f
}

// errorWords matches error events of CLIs whose errors have no codes and are otherwise unknown.
var errorWords = sentences{
	{
		ralph.EndAuth,
		text.LazyRegexp(`\b(401|403|unauthenticated|unauthorized|not logged in|authentication|` +
			`invalid api key|missing api key|access token expired)\b`),
	},
	{
		ralph.EndLimit,
		text.LazyRegexp(
			`\b(429|rate limit|usage limit|resource_exhausted|quota|out of credits|credit balance|insufficient credits?)\b`,
		),
	},
	{
		ralph.EndProvider,
		text.LazyRegexp(`\b(5\d\d|overloaded|unavailable|timed? ?out|deadline_exceeded|connection|network|stream)\b`),
	},
}

// connectionWords matches the errors of Node programs that cannot reach a server, in lower case.
var connectionWords = text.LazyRegexp(
	`\b(?:fetch failed|connection error|econn(?:refused|reset)|etimedout|enotfound|eai_again|socket hang up|timed out)\b`,
)

// Error texts of gemini and its forks: the answer of the model's server, in brackets, followed by
// advice; or why a turn failed.
var (
	apiError  = text.LazyRegexp(`(?s)^\[API Error: (.*)\](?:\s*\n(.*))?$`)
	emptyTurn = text.LazyRegexp(
		`^(?:The model returned (?:an empty response|reasoning thoughts but no final response)|` +
			`Model stream ended with empty response text)\b`,
	)
	brokenStream = text.LazyRegexp(`^(?:Model stream ended without a finish reason|Invalid stream)\b`)
	// In lower case. The last form is that of Google accounts, known from reports of users.
	askedWait = text.LazyRegexp(`\b(?:retry in|retry after|reset after) ((?:\d+(?:\.\d+)?(?:h|ms|m|s))+)`)
)

// turnTrouble classifies a failed turn that the closing event does not explain.
func turnTrouble(message string) *stream.Fault {
	switch {
	case emptyTurn().MatchString(message):
		return (&stream.Fault{Class: ralph.EndEmpty, Text: stream.SaidNothing}).Saying(message)
	case brokenStream().MatchString(message):
		return (&stream.Fault{Class: ralph.EndProvider, Text: "the model's answer was cut off"}).Saying(message)
	}
	return (&stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}).Saying(message)
}

// waitIn returns how long a message asks to wait; 0 if it does not say.
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
