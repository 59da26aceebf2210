package agent

import (
	"cmp"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// geminiAdvice follows the server's answer after status 429.
var geminiAdvice = text.LazyRegexp(`^(?:Please wait and try again later|Possible quota limitations)\b`)

// geminiFault classifies the error of a closing event.
func geminiFault(kind, message string) *stream.Fault {
	said, advice := message, ""
	if m := apiError().FindStringSubmatch(message); m != nil {
		said, advice = m[1], m[2]
	}
	status, said := serverError(said)
	if status == 0 && geminiAdvice().MatchString(advice) {
		status = 429
	}
	f := stream.HTTPFault(status, geminiLogin)
	switch {
	// known from reports of users
	case status == 429 && strings.HasPrefix(said, "No capacity available"):
		f = &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelOverloaded + " (status 429)"}
	case status == 429:
		f.Wait = waitIn(said)
	// the second is known only from documentation
	case kind == "FatalAuthenticationError", status == 400 && strings.HasPrefix(said, "API key not valid"):
		f = &stream.Fault{Class: ralph.EndAuth, Text: stream.LoginRefused, Hint: geminiLogin}
	case f == nil && connectionWords().MatchString(strings.ToLower(said)):
		f = &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	case f == nil && ownTurnLimit().MatchString(said):
		f = &stream.Fault{Class: ralph.EndCut, Text: "stopped at a limit of its own"}
	case f == nil:
		return quotedFault(ralph.EndFailed, said, "")
	}
	return f.Saying(said)
}

// ownTurnLimit matches what Gemini CLI and Qwen Code say when their settings allow no further turn.
var ownTurnLimit = text.LazyRegexp(`^Reached max(?:imum)? session turns\b`)

// geminiStatuses are the exit statuses that stand for an HTTP status, of which a process can return
// only the last eight bits.
var geminiStatuses = map[int]int64{
	401 & 0xff: 401, 403 & 0xff: 403, 429 & 0xff: 429, 500 & 0xff: 500, 502 & 0xff: 502, 503 & 0xff: 503,
	504 & 0xff: 504, 529 & 0xff: 529,
}

const geminiNoLogin = 41

// fromStatus classifies an exit status if no event explains the end.
func (g *geminiStream) fromStatus(exit int) *stream.Fault {
	if exit == geminiNoLogin {
		return (&stream.Fault{Class: ralph.EndAuth, Text: stream.NoLogin, Hint: geminiLogin}).Saying(g.unclear)
	}
	f := stream.HTTPFault(geminiStatuses[exit], geminiLogin)
	if f == nil {
		return nil
	}
	if f.Class == ralph.EndLimit {
		f.Wait = waitIn(g.unclear)
	}
	return f.Saying(g.unclear)
}

// serverError parses an answer of Google's servers: an object whose message may be another such
// object.
func serverError(text string) (status int64, said string) {
	said = strings.TrimSpace(text)
	for range 3 {
		var answer struct {
			Error struct {
				Code    int64  `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		stream.Decode([]byte(said), &answer)
		status = cmp.Or(answer.Error.Code, status)
		message := strings.TrimSpace(answer.Error.Message)
		if message == "" {
			break
		}
		said = message
	}
	return status, said
}
