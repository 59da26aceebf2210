package agent

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

// What the CLI says in an error result: what the model's server answered, in brackets, and after a status 429 an advice.
var (
	apiError     = regexp.MustCompile(`(?s)^\[API Error: (.*)\](?:\s*\n(.*))?$`)
	geminiAdvice = regexp.MustCompile(`^(?:Please wait and try again later|Possible quota limitations)\b`)
	// In small letters, these two. The last form of the first is that of Google accounts, known from reports of users.
	geminiWait   = regexp.MustCompile(`\b(?:retry in|retry after|reset after) ((?:\d+(?:\.\d+)?(?:h|ms|m|s))+)`)
	unreachable  = regexp.MustCompile(`\b(?:fetch failed|connection error|econn(?:refused|reset)|etimedout|enotfound|eai_again|socket hang up|timed out)\b`)
	emptyTurn    = regexp.MustCompile(`^(?:The model returned (?:an empty response|reasoning thoughts but no final response)|Model stream ended with empty response text)\b`)
	brokenStream = regexp.MustCompile(`^(?:Model stream ended without a finish reason|Invalid stream)\b`)
)

// geminiFault says what the error of a closing event means.
func geminiFault(kind, message string) *fault {
	said, advice := message, ""
	if m := apiError.FindStringSubmatch(message); m != nil {
		said, advice = m[1], m[2]
	}
	status, said := serverError(said)
	if status == 0 && geminiAdvice.MatchString(advice) {
		status = 429
	}
	f := httpFault(status, geminiLogin)
	switch {
	case status == 429 && strings.HasPrefix(said, "No capacity available"): // known from reports of users
		f = &fault{class: ralph.EndProvider, text: "the model is overloaded (status 429)"}
	case status == 429:
		f.wait = waitIn(said)
	case kind == "FatalAuthenticationError", status == 400 && strings.HasPrefix(said, "API key not valid"): // the second is known from documentation only
		f = &fault{class: ralph.EndAuth, text: "the login was refused", hint: geminiLogin}
	case f == nil && unreachable.MatchString(strings.ToLower(said)):
		f = &fault{class: ralph.EndProvider, text: "the model could not be reached"}
	case f == nil:
		return &fault{class: ralph.EndFailed, text: cmp.Or(oneLine(said, sentenceSize), "the agent ended with an error")}
	}
	return f.saying(said)
}

// turnTrouble says what it means that a turn came to nothing, for which the closing event has no word.
func turnTrouble(message string) *fault {
	switch {
	case emptyTurn.MatchString(message):
		return (&fault{class: ralph.EndEmpty, text: "the agent said nothing of its own"}).saying(message)
	case brokenStream.MatchString(message):
		return (&fault{class: ralph.EndProvider, text: "the model's answer broke off"}).saying(message)
	}
	return (&fault{class: ralph.EndFailed, text: "the agent ended with an error"}).saying(message)
}

// geminiStatuses are the exit statuses that tell a status of HTTP, of which a process can tell the last eight bits only, and the CLI's own for a
// login that is missing.
var geminiStatuses = map[int]int64{
	401 & 0xff: 401, 403 & 0xff: 403, 429 & 0xff: 429, 500 & 0xff: 500, 502 & 0xff: 502, 503 & 0xff: 503, 504 & 0xff: 504, 529 & 0xff: 529,
}

const geminiNoLogin = 41

// fromStatus says what an exit status means where no event does.
func (g *geminiStream) fromStatus(exit int) *fault {
	if exit == geminiNoLogin {
		return (&fault{class: ralph.EndAuth, text: "no login was found", hint: geminiLogin}).saying(g.unclear)
	}
	f := httpFault(geminiStatuses[exit], geminiLogin)
	if f == nil {
		return nil
	}
	if f.class == ralph.EndLimit {
		f.wait = waitIn(g.unclear)
	}
	return f.saying(g.unclear)
}

// httpFault says what a status of the model's server means; nil if it is 0, or the agent's own affair.
func httpFault(status int64, login string) *fault {
	f := claudeFault(status, "")
	if f != nil && f.class == ralph.EndAuth {
		f.hint = login
	}
	return f
}

// saying adds what the CLI said about it.
func (f *fault) saying(words string) *fault {
	if words = oneLine(words, sentenceSize); words != "" {
		f.text += ": " + words
	}
	return f
}

// serverError takes apart what a server of Google's answered: an object, the message of which may be one again.
func serverError(text string) (status int64, said string) {
	said = strings.TrimSpace(text)
	for range 3 {
		w := walker{text: []byte(said)}
		if !strings.HasPrefix(said, "{") {
			break
		}
		message := ""
		for key := range w.fields() {
			if string(key) != "error" {
				continue
			}
			for key := range w.fields() {
				switch string(key) {
				case "code":
					if n := w.count(); n != 0 {
						status = n
					}
				case "message":
					message = strings.TrimSpace(w.word())
				}
			}
		}
		if message == "" {
			break
		}
		said = message
	}
	return status, said
}

// waitIn is how long a message asks to wait; 0 if it does not say.
func waitIn(message string) time.Duration {
	m := geminiWait.FindStringSubmatch(strings.ToLower(message))
	if m == nil {
		return 0
	}
	wait, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return wait
}
