package agent

import "github.com/ralphloop/ralph/agent/internal/stream"

import "bytes"

// eventTaker understands the events of one CLI: JSON objects with a "type", one a line.
type eventTaker interface {
	// ignores says that events of this kind hold nothing of interest, so that they need not be read to their end.
	ignores(kind []byte) bool
	// event reads one object and says whether it was a whole event; what it did not understand of it does not matter.
	event(text []byte) bool
	// longEvent reads the beginning of one that is too long and says whether nothing was lost that matters.
	longEvent(head []byte) bool
}

// eventLines feeds the events of a stream of lines to a taker.
type eventLines struct {
	*stream.Reading
	to eventTaker
}

func newEventReader(r *stream.Reading, to eventTaker) stream.Reader {
	r.Structured = true
	return &stream.Lines{To: &eventLines{r, to}}
}

func (e *eventLines) Wants(head []byte) bool {
	w := stream.Walker{Text: head}
	for key := range w.Fields() {
		if string(key) == "type" {
			kind, ok := w.Str()
			return !ok || !e.to.ignores(kind)
		}
	}
	return true
}

// Line takes one event. In some formats and versions they come as an array instead.
func (e *eventLines) Line(text []byte) {
	w := stream.Walker{Text: text}
	if w.Peek() != '[' {
		e.to.event(text)
		return
	}
	for range w.Elements() {
		if element := w.Raw(); element != nil {
			e.to.event(element)
		}
	}
}

func (e *eventLines) LongLine(head []byte) {
	if !e.to.longEvent(head) {
		e.Lost++
	}
}

func (e *eventLines) LastLine(text []byte) {
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return
	}
	w := stream.Walker{Text: text}
	if w.Skip(); w.Bad {
		e.Cut = true
		return
	}
	e.Line(text)
}
