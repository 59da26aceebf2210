package agent

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// opencodeError is what an error event tells.
type opencodeError struct {
	name, message string
	status        int64
	retryable     bool
	wait          time.Duration // until the model may be asked again, as its answer's headers say
}

func opencodeComplaint(failure []byte) *fault {
	var e opencodeError
	if failure != nil {
		e.parse(&walker{text: failure})
	}
	return e.fault()
}

// parse reads the error. What it is about is in data, or beside the name in some.
func (e *opencodeError) parse(w *walker) {
	for key := range w.fields() {
		if string(key) != "data" {
			e.field(w, string(key))
			continue
		}
		for key := range w.fields() {
			e.field(w, string(key))
		}
	}
}

func (e *opencodeError) field(w *walker, key string) {
	switch key {
	case "name":
		e.name = w.word()
	case "message":
		e.message = w.word()
	case "statusCode":
		e.status = w.count()
	case "isRetryable":
		e.retryable = w.truth()
	case "responseHeaders":
		e.wait = opencodeWait(w)
	}
}

// opencodeWait reads when to try again: milliseconds, seconds, or a date beside the server's own.
func opencodeWait(w *walker) time.Duration {
	headers := map[string]string{}
	for key := range w.fields() {
		switch name := string(key); name {
		case "retry-after-ms", "retry-after", "date":
			headers[name] = w.word()
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
func (e opencodeError) fault() *fault {
	f := httpFault(e.status, opencodeLogin)
	switch {
	case f == nil:
		f = e.byName().withStatus(e.status)
	case f.class == ralph.EndLimit:
		f.wait = e.wait
	}
	return f.saying(cmp.Or(promise.OneLine(e.message, sentenceSize), promise.OneLine(e.name, detailSize)))
}

func (e opencodeError) byName() *fault {
	switch {
	case e.name == "ProviderAuthError":
		return &fault{class: ralph.EndAuth, text: loginRefused, hint: opencodeLogin}
	case e.status != 0:
		return &fault{class: ralph.EndFailed, text: modelRefused}
	case e.name == "APIError" && e.retryable:
		return &fault{class: ralph.EndProvider, text: modelUnreachable}
	case e.name == "ContextOverflowError":
		return &fault{class: ralph.EndFailed, text: contextTooLong}
	case e.name == "UnknownError":
		return &fault{class: ralph.EndFailed, text: endedWithError, hint: opencodeModel}
	}
	return &fault{class: ralph.EndFailed, text: endedWithError}
}
