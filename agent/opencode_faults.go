package agent

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// opencodeError is what an error event tells.
type opencodeError struct {
	name, message string
	status        int64
	retryable     bool
	wait          time.Duration // until the model may be asked again, as its answer's headers say
}

func opencodeComplaint(failure []byte) *stream.Fault {
	var e opencodeError
	if failure != nil {
		e.parse(&stream.Walker{Text: failure})
	}
	return e.fault()
}

// parse reads the error. What it is about is in data, or beside the name in some.
func (e *opencodeError) parse(w *stream.Walker) {
	for key := range w.Fields() {
		if string(key) != "data" {
			e.field(w, string(key))
			continue
		}
		for key := range w.Fields() {
			e.field(w, string(key))
		}
	}
}

func (e *opencodeError) field(w *stream.Walker, key string) {
	switch key {
	case "name":
		e.name = w.Word()
	case "message":
		e.message = w.Word()
	case "statusCode":
		e.status = w.Count()
	case "isRetryable":
		e.retryable = w.Truth()
	case "responseHeaders":
		e.wait = opencodeWait(w)
	}
}

// opencodeWait reads when to try again: milliseconds, seconds, or a date beside the server's own.
func opencodeWait(w *stream.Walker) time.Duration {
	headers := map[string]string{}
	for key := range w.Fields() {
		switch name := string(key); name {
		case "retry-after-ms", "retry-after", "date":
			headers[name] = w.Word()
		}
	}
	if ms, err := strconv.ParseFloat(headers["retry-after-ms"], 64); err == nil && ms > 0 {
		return boundedWait(ms / 1000)
	}
	if seconds, err := strconv.ParseFloat(headers["retry-after"], 64); err == nil && seconds > 0 {
		return boundedWait(seconds)
	}
	reset, err := http.ParseTime(headers["retry-after"])
	now, err2 := http.ParseTime(headers["date"])
	if err == nil && err2 == nil && reset.After(now) {
		return reset.Sub(now)
	}
	return 0
}

// boundedWait keeps what a server says within what a clock can hold.
func boundedWait(seconds float64) time.Duration {
	const most = 365 * 24 * 3600
	return time.Duration(min(seconds, most) * float64(time.Second))
}

// fault says what the error means, by its status first, then by its name.
func (e opencodeError) fault() *stream.Fault {
	f := stream.HTTPFault(e.status, opencodeLogin)
	switch {
	case f == nil:
		f = e.byName().WithStatus(e.status)
	case f.Class == ralph.EndLimit:
		f.Wait = e.wait
	}
	return f.Saying(cmp.Or(promise.OneLine(e.message, stream.SentenceSize), promise.OneLine(e.name, stream.DetailSize)))
}

func (e opencodeError) byName() *stream.Fault {
	switch {
	case e.name == "ProviderAuthError":
		return &stream.Fault{Class: ralph.EndAuth, Text: stream.LoginRefused, Hint: opencodeLogin}
	case e.status != 0:
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.ModelRefused}
	case e.name == "APIError" && e.retryable:
		return &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	case e.name == "ContextOverflowError":
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.ContextTooLong}
	case e.name == "UnknownError":
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError, Hint: opencodeModel}
	}
	return &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}
}
