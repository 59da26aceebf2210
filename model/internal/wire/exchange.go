package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ralphloop/ralph/model"
)

// Assembly makes a reply of a stream's events.
type Assembly interface {
	// Add takes the data of one event, and reports whether it brought the reply forward.
	Add(data []byte) (came bool, err error)
	// AddWhole takes a reply that came in one piece, from a server that does not stream, and reports whether it is one.
	AddWhole(data []byte) bool
	// Trouble is the data of an event that tells an error, nil if none did.
	Trouble() []byte
	// Done says that nothing else needs to be read, Whole that the stream may end here.
	Done() bool
	Whole() bool
	// Usage is what was used so far, nil if it is not known.
	Usage() *model.Usage
	// Reply is what was put together.
	Reply() model.Reply
}

// Exchange sends a request, as JSON, and reads the reply into an assembly. What goes wrong is a [*model.Fault] with what was used by then, or ctx's error.
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

// readWhole reads a reply that is no stream. What is none at all is a [*Refusal].
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
