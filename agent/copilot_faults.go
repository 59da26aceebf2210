package agent

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// copilotFailure is what session.error and model.call_failure tell of something that went wrong.
type copilotFailure struct {
	ErrorType    string `json:"errorType"`
	FailureKind  string `json:"failureKind"`
	Message      string `json:"message"`
	ErrorMessage string `json:"errorMessage"`
	Status       int64  `json:"statusCode"`
}

func (f copilotFailure) kind() string { return cmp.Or(f.FailureKind, f.ErrorType) }

// fault says what a failure means, by its status first, then by its kind. Of the kinds, authentication, rate_limit, query and transport were seen;
// the others are known from the schema of its events. When a limit ends is not told.
func (f copilotFailure) fault() *stream.Fault {
	found := cmp.Or(stream.HTTPFault(f.Status, copilotLogin), f.byKind().WithStatus(f.Status))
	return found.Saying(strings.Trim(cmp.Or(f.ErrorMessage, f.Message), `"`))
}

func (f copilotFailure) byKind() *stream.Fault {
	switch f.kind() {
	case "authentication", "authorization":
		return &stream.Fault{Class: ralph.EndAuth, Text: stream.LoginRefused, Hint: copilotLogin}
	case "rate_limit", "quota":
		return &stream.Fault{Class: ralph.EndLimit, Text: stream.LimitReached}
	case "transport":
		return &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	case "context_limit":
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.ContextTooLong}
	}
	if f.Status != 0 {
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.ModelRefused}
	}
	return &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}
}

// copilotComplaints are what the CLI writes when it cannot begin. Only the lack of any login was seen.
var copilotComplaints = sentences{{ralph.EndAuth, text.LazyRegexp(`^no authentication information found\.`)}}

// copilotAllows is what allows a call that was denied.
func copilotAllows(call openCall) string {
	var flags []string
	switch {
	case call.name == "bash" || call.name == "powershell":
		for _, rule := range copilotRules(call.detail) {
			flags = append(flags, "--allow-tool="+shellQuote(rule))
		}
		// What it reaches beyond the workspace by path or address needs more than a rule for its programs.
		if strings.Contains(call.detail, "://") {
			flags = nil
		}
	case filepath.IsAbs(call.detail):
		flags = []string{"--add-dir " + shellQuote(filepath.Dir(call.detail))}
	case strings.Contains(call.detail, "://"):
		flags = []string{"--allow-url=" + shellQuote(call.detail)}
	}
	if len(flags) == 0 {
		return "--yolo"
	}
	return "-- " + strings.Join(flags, " ")
}
