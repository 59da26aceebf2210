package acp

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// authRequired is the protocol's code for a required login.
const authRequired = -32000

// rpcError is an error response.
type rpcError struct {
	Code    int64     `json:"code"`
	Message string    `json:"message"`
	Data    errorData `json:"data"`
}

// errorData is where agents put the answer of the model's server.
type errorData struct {
	Details string `json:"details"`
	Error   string `json:"error"`
	Message string `json:"message"`
	Name    string `json:"errorName"` // opencode's name for the error
}

// UnmarshalJSON also accepts a string.
func (d *errorData) UnmarshalJSON(text []byte) error {
	type plain errorData
	if json.Unmarshal(text, &d.Details) != nil {
		stream.Decode(text, (*plain)(d))
	}
	return nil
}

func (e rpcError) details() string { return cmp.Or(e.Data.Details, e.Data.Error, e.Data.Message) }

// statusPatterns match a status in the lower-cased text of an error.
var statusPatterns = []func() *regexp.Regexp{
	text.LazyRegexp(`^(?:\[?api error: |internal error: )?(\d{3})\b`),
	text.LazyRegexp(`"(?:code|status|statuscode)": ?(\d{3})\b`),
	text.LazyRegexp(`\b(?:error|status|code|http)[ :=(]{1,3}(\d{3})\b`),
}

// status returns the HTTP status of the model's server, or 0 if it is not reported. gemini gives it
// as the code, qwen puts it before the details, others quote the server's answer.
func (e rpcError) status() int {
	if e.Code >= 400 && e.Code < 600 {
		return int(e.Code)
	}
	for _, words := range []string{e.details(), e.Message} {
		for _, expression := range statusPatterns {
			if m := expression().FindStringSubmatch(strings.ToLower(words)); m != nil {
				if status, _ := strconv.Atoi(m[1]); status >= 400 && status < 600 {
					return status
				}
			}
		}
	}
	return 0
}

// text returns the agent's own description of the error. The details say more than the message,
// which may be a mere "Internal error".
func (e rpcError) text() string {
	message, details := promise.OneLine(e.Message, stream.SentenceSize), promise.OneLine(e.details(), stream.SentenceSize)
	if details != "" && !strings.Contains(message, details) {
		message = strings.TrimPrefix(message+": "+details, ": ")
	}
	return message
}

// Words, in lower case, that classify an error without any status.
var (
	authWords = []string{
		"unauthorized", "api key", "api_key", "not logged in", "please run /login", "authentication", "please log in",
	}
	limitWords    = []string{"rate limit", "usage limit", "quota", "too many requests"}
	providerWords = []string{
		"overloaded", "high demand", "fetch failed", "econn", "connection", "timed out", "timeout", "server error",
		"unavailable",
	}
)

// fault classifies an error; login is the hint for a failed login.
func (e rpcError) fault(login string) *stream.Fault {
	status, words := e.status(), strings.ToLower(e.Message+" "+e.details())
	told := e.Code == authRequired || status != 0
	has := func(list []string) bool {
		return !told && slices.ContainsFunc(list, func(w string) bool { return strings.Contains(words, w) })
	}
	f := &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}
	switch class := stream.StatusClass(int64(status)); {
	case e.Code == authRequired, class == ralph.EndAuth, has(authWords):
		f.Class, f.Text, f.Hint = ralph.EndAuth, stream.LoginRefused, login
		if e.Code == authRequired {
			f.Text = "the agent requires a login"
		}
	case class == ralph.EndLimit, has(limitWords):
		f.Class, f.Text = ralph.EndLimit, stream.LimitReached
	case class == ralph.EndProvider, has(providerWords), status == 0 && e.Data.Name == "APIError":
		f.Class, f.Text = ralph.EndProvider, stream.ModelFailed
	}
	if said := e.text(); said != "" {
		f.Text += ": " + said
	}
	return f
}

// stopFault returns what is wrong with a turn that ended for this reason, or nil if nothing is.
func stopFault(reason string) *stream.Fault {
	if sdk.StopReason(reason) == sdk.StopReasonEndTurn {
		return nil
	}
	known := map[sdk.StopReason]string{
		sdk.StopReasonCancelled:       "the agent canceled its turn by itself",
		sdk.StopReasonRefusal:         "the agent refused to continue",
		sdk.StopReasonMaxTokens:       "the agent's answer was cut at its token limit",
		sdk.StopReasonMaxTurnRequests: "the agent used up its model calls for this turn",
	}[sdk.StopReason(reason)]
	unknown := "the agent stopped for an unknown reason: " + promise.OneLine(reason, stream.DetailSize)
	return &stream.Fault{Class: ralph.EndFailed, Text: cmp.Or(known, unknown)}
}

// loginHint returns the hint for a failed login: the agent's own way to log in, which needs a
// person.
func loginHint(methods []string) string {
	hint := "log in with the agent's own program first"
	if len(methods) > 0 {
		hint += "; it offers: " + strings.Join(methods, ", ")
	}
	return promise.OneLine(hint, stream.SentenceSize)
}
