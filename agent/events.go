package agent

import (
	"bytes"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// eventTaker understands the events of one CLI: JSON objects with a "type", one per line.
type eventTaker[E any] interface {
	// ignores reports whether only the kind of these events matters.
	ignores(kind string) bool
	// event reads one event and reports whether its kind is known. An ignored one may come without
	// its fields.
	event(e *E) bool
	// longEvent reads the beginning of one that is too long and reports whether nothing that
	// matters was lost.
	longEvent(e *E) bool
}

// plainTextTaker is an eventTaker that also gets the lines that are not JSON.
type plainTextTaker interface{ plainText(line []byte) }

// newEventReader returns a reader that passes events to an eventTaker.
func newEventReader[E any](r *stream.Reading, to eventTaker[E]) stream.Reader {
	return stream.NewJSONReader(r, &eventReader[E]{r, to})
}

type eventReader[E any] struct {
	*stream.Reading
	to eventTaker[E]
}

// typeFirst is how events usually begin in all CLIs.
const typeFirst = `{"type":"`

// ignored returns a short event of the same kind for an event that is ignored: tool results are
// long, and make up most of the output.
func (r *eventReader[E]) ignored(text []byte) (short []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(typeFirst))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 || !r.to.ignores(string(rest[:end])) {
		return nil, false
	}
	return append(text[:len(typeFirst)+end+1:len(typeFirst)+end+1], '}'), true
}

func (r *eventReader[E]) Wants(head []byte) bool {
	if bytes.HasPrefix(head, []byte(typeFirst)) {
		_, ignored := r.ignored(head)
		return !ignored
	}
	var e struct {
		Type string `json:"type"`
	}
	stream.Decode(stream.Mend(head), &e)
	return e.Type == "" || !r.to.ignores(e.Type)
}

func (r *eventReader[E]) Object(text []byte) {
	if short, ok := r.ignored(text); ok {
		text = short
	}
	var e E
	if !stream.Decode(text, &e) && !(bytes.IndexByte(text, '{') >= 0 && stream.Decode(stream.Repair(text), &e)) {
		if to, ok := r.to.(plainTextTaker); ok {
			to.plainText(text)
		}
		return
	}
	if r.to.event(&e) {
		r.Events++
	}
}

func (r *eventReader[E]) LongObject(text []byte) bool {
	var e E
	stream.Decode(text, &e)
	return r.to.longEvent(&e)
}
