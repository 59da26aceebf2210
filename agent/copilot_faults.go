package agent

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// copilotFailure is the data of session.error and model.call_failure.
type copilotFailure struct {
	ErrorType    string `json:"errorType"`
	FailureKind  string `json:"failureKind"`
	Message      string `json:"message"`
	ErrorMessage string `json:"errorMessage"`
	Status       int64  `json:"statusCode"`
}

func (f copilotFailure) kind() string { return cmp.Or(f.FailureKind, f.ErrorType) }

// fault classifies a failure, by its status first, then by its kind. The kinds authentication,
// rate_limit, query and transport were seen; the others are known from the event schema. The end of
// a limit is not reported.
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

// copilotComplaints are what the CLI prints when it cannot start. Only a missing login was seen.
var copilotComplaints = sentences{{ralph.EndAuth, text.LazyRegexp(`^no authentication information found\.`)}}

// copilotAllows returns the flags that allow a denied call.
func copilotAllows(call openCall) string {
	var flags []string
	switch {
	case call.name == "bash" || call.name == "powershell":
		for _, rule := range copilotRules(call.detail) {
			flags = append(flags, "--allow-tool="+shellQuote(rule))
		}
		// Paths and addresses beyond the workspace need more than a rule for the program.
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
