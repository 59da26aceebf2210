package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// Assembly builds a reply from the events of a stream.
type Assembly interface {
	// Add processes the data of one event, and reports whether it added to the reply.
	Add(data []byte) (progressed bool, err error)
	// AddWhole processes a reply that arrived in one piece, from a server that does not stream. It
	// reports whether the data is a reply.
	AddWhole(data []byte) bool
	// Trouble returns the data of an error event, or nil if there was none.
	Trouble() []byte
	// Done reports whether nothing else needs to be read; Whole, whether the stream may end here.
	Done() bool
	Whole() bool
	// Usage returns the usage so far, or nil if it is unknown.
	Usage() *model.Usage
	// Reply returns the assembled reply.
	Reply() model.Reply
}

// Exchange sends a request as JSON and reads the reply into an assembly. Its error is a
// [*model.Fault] with the usage so far, or ctx's error.
func (ep Endpoint) Exchange(ctx context.Context, ask any, into Assembly) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	if ep.Invalid != nil {
		unfit := *ep.Invalid
		return model.Reply{}, &unfit
	}
	if err := ep.exchange(ctx, ask, into); err != nil {
		if f, ok := errors.AsType[*model.Fault](err); ok {
			f.Usage = into.Usage()
		}
		return model.Reply{}, err
	}
	return into.Reply(), nil
}

func (ep Endpoint) exchange(ctx context.Context, ask any, into Assembly) error {
	watched, watch := ep.Watch(ctx)
	defer watch.End()
	response, err := ep.Post(watched, ask)
	if err != nil {
		return ep.Fault(watch, err, nil)
	}
	defer response.Body.Close()
	watch.Progress()
	body := bufio.NewReader(response.Body)
	response.Body = readCloser{body, response.Body}
	if isJSON(response.Header) && !startsEvents(body) {
		err = ep.readWhole(response, into)
	} else {
		err = ep.readEvents(response, watch, into)
	}
	if err != nil {
		return ep.Fault(watch, err, response)
	}
	return nil
}

// readCloser closes what its reader reads from.
type readCloser struct {
	io.Reader
	io.Closer
}

// startsEvents reports whether the body begins like server-sent events: some servers call them JSON.
func startsEvents(body *bufio.Reader) bool {
	for n := 1; n <= body.Size(); n++ {
		head, err := body.Peek(n)
		if err != nil {
			return false
		}
		if last := head[n-1]; !strings.ContainsRune(" \t\r\n", rune(last)) {
			return strings.ContainsRune("dei:r", rune(last)) // data, event, id, retry, or a comment
		}
	}
	return false
}

// readWhole reads a reply that is not a stream. Anything else is a [*Refusal].
func (ep Endpoint) readWhole(response *http.Response, into Assembly) error {
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case !into.AddWhole(body):
		return refusalOf(response, body[:min(len(body), maxRefusal)])
	case into.Trouble() != nil:
		return ep.StreamFault(into.Trouble())
	}
	return nil
}

func (ep Endpoint) readEvents(response *http.Response, watch *Watch, into Assembly) error {
	some := false
	for data, err := range Events(response.Body) {
		if err != nil {
			return err
		}
		some = true
		progressed, err := into.Add(data)
		if err != nil {
			return err
		}
		if progressed {
			watch.Progress()
		}
		if trouble := into.Trouble(); trouble != nil {
			return ep.StreamFault(trouble)
		}
		if into.Done() {
			break
		}
	}
	switch {
	case into.Whole():
		return nil
	case !some:
		return Cut(ep.Clean(fmt.Sprintf("%s sent no model events (%s)", placeOf(response),
			kindOfBody(response.Header))))
	}
	return Cut("the stream ended before the reply was complete")
}
