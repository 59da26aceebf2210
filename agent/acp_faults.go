package agent

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// acpAuthRequired is the protocol's own code for a login that is needed.
const acpAuthRequired = -32000

// acpError is an error response taken apart.
type acpError struct {
	code    int64
	message string
	details string // of the data, where agents put what the model's server said
	name    string // of the data: opencode's own name for the error
}

func parseACPError(text []byte) (e acpError) {
	w := walker{text: text}
	for key := range w.fields() {
		switch string(key) {
		case "code":
			e.code = w.count()
		case "message":
			e.message = w.word()
		case "data":
			if w.peek() == '"' {
				e.details = w.word()
				continue
			}
			for key := range w.fields() {
				switch string(key) {
				case "details", "error", "message":
					if e.details == "" {
						e.details = w.word()
					}
				case "errorName":
					e.name = w.word()
				}
			}
		}
	}
	return e
}

// Where a status stands in an error's words, in small letters.
var acpStatus = []func() *regexp.Regexp{
	text.LazyRegexp(`^(?:\[?api error: |internal error: )?(\d{3})\b`),
	text.LazyRegexp(`"(?:code|status|statuscode)": ?(\d{3})\b`),
	text.LazyRegexp(`\b(?:error|status|code|http)[ :=(]{1,3}(\d{3})\b`),
}

// status is the HTTP status of the model's server, 0 if it is not told: gemini gives it as the code, qwen puts it before the details, others quote
// the server's answer.
func (e acpError) status() int {
	if e.code >= 400 && e.code < 600 {
		return int(e.code)
	}
	for _, words := range []string{e.details, e.message} {
		for _, expression := range acpStatus {
			if m := expression().FindStringSubmatch(strings.ToLower(words)); m != nil {
				if status, _ := strconv.Atoi(m[1]); status >= 400 && status < 600 {
					return status
				}
			}
		}
	}
	return 0
}

// text is what the agent says about its error. The details say more than the message, which may be a mere "Internal error".
func (e acpError) text() string {
	message, details := promise.OneLine(e.message, sentenceSize), promise.OneLine(e.details, sentenceSize)
	if details != "" && !strings.Contains(message, details) {
		message = strings.TrimPrefix(message+": "+details, ": ")
	}
	return message
}

// Words by which an error without any status is known, in small letters.
var (
	acpAuthWords     = []string{"unauthorized", "api key", "api_key", "not logged in", "please run /login", "authentication", "please log in"}
	acpLimitWords    = []string{"rate limit", "usage limit", "quota", "too many requests"}
	acpProviderWords = []string{"overloaded", "high demand", "fetch failed", "econn", "connection", "timed out", "timeout", "server error", "unavailable"}
)

// fault says what an error means; login is what would help if it is the login.
func (e acpError) fault(login string) *fault {
	status, words := e.status(), strings.ToLower(e.message+" "+e.details)
	told := e.code == acpAuthRequired || status != 0
	has := func(list []string) bool {
		for _, w := range list {
			if !told && strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	f := &fault{class: ralph.EndFailed, text: endedWithError}
	switch class := statusClass(int64(status)); {
	case e.code == acpAuthRequired, class == ralph.EndAuth, has(acpAuthWords):
		f.class, f.text, f.hint = ralph.EndAuth, loginRefused, login
		if e.code == acpAuthRequired {
			f.text = "the agent wants a login"
		}
	case class == ralph.EndLimit, has(acpLimitWords):
		f.class, f.text = ralph.EndLimit, limitReached
	case class == ralph.EndProvider, has(acpProviderWords), status == 0 && e.name == "APIError":
		f.class, f.text = ralph.EndProvider, modelFailed
	}
	if said := e.text(); said != "" {
		f.text += ": " + said
	}
	return f
}

// acpStop says what is wrong with a turn that ended for this reason; nil if nothing is.
func acpStop(reason string) *fault {
	switch acp.StopReason(reason) {
	case acp.StopReasonEndTurn:
		return nil
	case acp.StopReasonCancelled:
		return &fault{class: ralph.EndFailed, text: "the agent cancelled its turn of its own accord"}
	case acp.StopReasonRefusal:
		return &fault{class: ralph.EndFailed, text: "the agent refused to go on"}
	case acp.StopReasonMaxTokens:
		return &fault{class: ralph.EndFailed, text: "the agent's answer was cut at its token limit"}
	case acp.StopReasonMaxTurnRequests:
		return &fault{class: ralph.EndFailed, text: "the agent used up the model calls of a turn"}
	}
	return &fault{class: ralph.EndFailed, text: "the agent stopped for a reason that is not known: " + promise.OneLine(reason, detailSize)}
}

// loginHint is what helps when the login failed: the agent's own way, which cannot be gone without a person.
func loginHint(methods []string) string {
	hint := "log in with the agent's own program first"
	if len(methods) > 0 {
		hint += "; it offers: " + strings.Join(methods, ", ")
	}
	return promise.OneLine(hint, sentenceSize)
}
