package agent

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
	*reading
	to eventTaker
}

func newEventReader(r *reading, to eventTaker) reader {
	r.structured = true
	return &lines{to: &eventLines{r, to}}
}

func (e *eventLines) wants(head []byte) bool {
	w := walker{text: head}
	for key := range w.fields() {
		if string(key) == "type" {
			kind, ok := w.str()
			return !ok || !e.to.ignores(kind)
		}
	}
	return true
}

// line takes one event. In some formats and versions they come as an array instead.
func (e *eventLines) line(text []byte) {
	w := walker{text: text}
	if w.peek() != '[' {
		e.to.event(text)
		return
	}
	for range w.elements() {
		if element := w.raw(); element != nil {
			e.to.event(element)
		}
	}
}

func (e *eventLines) longLine(head []byte) {
	if !e.to.longEvent(head) {
		e.lost++
	}
}

func (e *eventLines) lastLine(text []byte) {
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return
	}
	w := walker{text: text}
	if w.skip(); w.bad {
		e.cut = true
		return
	}
	e.line(text)
}
