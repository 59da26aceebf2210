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

// opencodeError is the content of an error event.
type opencodeError struct {
	Name      string            `json:"name"`
	Message   string            `json:"message"`
	Status    int64             `json:"statusCode"`
	Retryable bool              `json:"isRetryable"`
	Headers   map[string]string `json:"responseHeaders"`
}

// UnmarshalJSON reads the details from data, or in some errors from beside the name.
func (e *opencodeError) UnmarshalJSON(text []byte) error {
	type plain opencodeError
	var inner struct {
		Data *plain `json:"data"`
	}
	stream.Decode(text, (*plain)(e))
	inner.Data = (*plain)(e)
	stream.Decode(text, &inner)
	return nil
}

// wait returns when to retry: given in milliseconds, seconds, or as a date compared with the
// server's own.
func (e opencodeError) wait() time.Duration {
	headers := e.Headers
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

// boundedWait limits a server's answer to what a duration can hold.
func boundedWait(seconds float64) time.Duration {
	const most = 365 * 24 * 3600
	return time.Duration(min(seconds, most) * float64(time.Second))
}

// fault classifies the error, by its status first, then by its name.
func (e opencodeError) fault() *stream.Fault {
	f := stream.HTTPFault(e.Status, opencodeLogin)
	switch {
	case f == nil:
		f = e.byName().WithStatus(e.Status)
	case f.Class == ralph.EndLimit:
		f.Wait = e.wait()
	}
	return f.Saying(cmp.Or(promise.OneLine(e.Message, stream.SentenceSize), promise.OneLine(e.Name, stream.DetailSize)))
}

func (e opencodeError) byName() *stream.Fault {
	switch {
	case e.Name == "ProviderAuthError":
		return &stream.Fault{Class: ralph.EndAuth, Text: stream.LoginRefused, Hint: opencodeLogin}
	case e.Status != 0:
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.ModelRefused}
	case e.Name == "APIError" && e.Retryable:
		return &stream.Fault{Class: ralph.EndProvider, Text: stream.ModelUnreachable}
	case e.Name == "ContextOverflowError":
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.ContextTooLong}
	case e.Name == "UnknownError":
		return &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError, Hint: opencodeModel}
	}
	return &stream.Fault{Class: ralph.EndFailed, Text: stream.EndedWithError}
}
