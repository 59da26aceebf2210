package agent

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
)

// copilotFailure is what an event tells of something that went wrong.
type copilotFailure struct {
	kind, message string
	status        int64
}

// field takes one field of the data of session.error or model.call_failure.
func (f *copilotFailure) field(w *walker, key string) {
	switch key {
	case "errorType", "failureKind":
		if kind := w.word(); f.kind == "" || key == "failureKind" {
			f.kind = kind
		}
	case "message", "errorMessage":
		f.message = w.word()
	case "statusCode":
		f.status = w.count()
	}
}

// fault says what a failure means, by its status first, then by its kind. Of the kinds, authentication, rate_limit, query and transport were seen;
// the others are known from the schema of its events. When a limit ends is not told.
func (f copilotFailure) fault() *fault {
	found := &fault{class: ralph.EndFailed, text: "the agent ended with an error"}
	switch {
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden, f.kind == "authentication", f.kind == "authorization":
		found.class, found.text, found.hint = ralph.EndAuth, "the login was refused", copilotLogin
	case f.status == http.StatusTooManyRequests, f.kind == "rate_limit", f.kind == "quota":
		found.class, found.text = ralph.EndLimit, "the usage limit is reached"
	case f.status == http.StatusServiceUnavailable, f.status == statusOverloaded:
		found.class, found.text = ralph.EndProvider, "the model is overloaded"
	case f.status >= 500, f.status == http.StatusRequestTimeout:
		found.class, found.text = ralph.EndProvider, "the model failed"
	case f.kind == "transport":
		found.class, found.text = ralph.EndProvider, "the model could not be reached"
	case f.kind == "context_limit":
		found.text = "the context is too long for the model"
	case f.status != 0:
		found.text = "the model refused"
	}
	if f.status != 0 {
		found.text += fmt.Sprintf(" (status %d)", f.status)
	}
	if said := oneLine(strings.Trim(f.message, `"`), sentenceSize); said != "" {
		found.text += ": " + said
	}
	return found
}

// copilotAllows is what allows a call that was denied.
func copilotAllows(call copilotCall) string {
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
