package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ralphloop/ralph/model"
)

// Assembly builds a reply from the events of a stream.
type Assembly interface {
	// Add processes the data of one event, and reports whether it added to the reply.
	Add(data []byte) (came bool, err error)
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
func (l Line) Exchange(ctx context.Context, ask any, into Assembly) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	if l.Unfit != nil {
		unfit := *l.Unfit
		return model.Reply{}, &unfit
	}
	if err := l.exchange(ctx, ask, into); err != nil {
		if f, ok := errors.AsType[*model.Fault](err); ok {
			f.Usage = into.Usage()
		}
		return model.Reply{}, err
	}
	return into.Reply(), nil
}

func (l Line) exchange(ctx context.Context, ask any, into Assembly) error {
	watched, watch := l.Watch(ctx)
	defer watch.End()
	response, err := l.Post(watched, ask)
	if err != nil {
		return l.Fault(watch, err, nil)
	}
	defer response.Body.Close()
	watch.Progress()
	if isJSON(response.Header) {
		err = l.readWhole(response, into)
	} else {
		err = l.readEvents(response, watch, into)
	}
	if err != nil {
		return l.Fault(watch, err, response)
	}
	return nil
}

// readWhole reads a reply that is not a stream. Anything else is a [*Refusal].
func (l Line) readWhole(response *http.Response, into Assembly) error {
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case !into.AddWhole(body):
		return refusalOf(response, body[:min(len(body), maxRefusal)])
	case into.Trouble() != nil:
		return l.StreamFault(into.Trouble())
	}
	return nil
}

func (l Line) readEvents(response *http.Response, watch *Watch, into Assembly) error {
	some := false
	for data, err := range Events(response.Body) {
		if err != nil {
			return err
		}
		some = true
		came, err := into.Add(data)
		if err != nil {
			return err
		}
		if came {
			watch.Progress()
		}
		if trouble := into.Trouble(); trouble != nil {
			return l.StreamFault(trouble)
		}
		if into.Done() {
			break
		}
	}
	switch {
	case into.Whole():
		return nil
	case !some:
		return Cut(l.Clean(fmt.Sprintf("%s answers with nothing that a model streams (%s)", placeOf(response),
			kindOfBody(response.Header))))
	}
	return Cut("the stream ended before the reply did")
}
