package stream

import "bytes"

const (
	// MaxLine is the longest line that is kept. Lines of an agent's own text are far shorter;
	// longer ones are tool inputs or outputs.
	MaxLine = 4 << 20
	// HeadSize is how much of an incomplete line is needed to look for its kind.
	HeadSize = 4 << 10
)

// LineTaker gets the lines of a stream, each valid only during the call.
type LineTaker interface {
	// Wants reports, from the beginning of an incomplete line, whether the rest is worth keeping.
	Wants(head []byte) bool
	// Line handles one whole line without its end.
	Line(text []byte)
	// LongLine handles the beginning of a line that is longer than MaxLine.
	LongLine(head []byte)
	// LastLine handles what came after the last line end, when the stream is over. It may be cut
	// off; nil if it was not kept.
	LastLine(text []byte)
}

// Lines splits a stream into lines. A line that is complete within one write is passed on without a
// copy, and unwanted ones are never stored.
type Lines struct {
	To      LineTaker
	held    []byte // the beginning of the current line
	judged  bool   // its kind was looked for
	dropped bool   // the rest of it is not kept
}

// Write never fails.
func (l *Lines) Write(p []byte) (int, error) {
	size := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.hold(p)
			return size, nil
		}
		if len(l.held) == 0 && !l.dropped && end <= MaxLine {
			l.To.Line(p[:end])
		} else {
			l.hold(p[:end])
			l.finish(l.To.Line)
		}
		p = p[end+1:]
	}
}

// Close ends the stream.
func (l *Lines) Close() {
	if l.dropped {
		l.To.LastLine(nil)
	}
	l.finish(l.To.LastLine)
}

func (l *Lines) hold(p []byte) {
	if l.dropped || len(p) == 0 {
		return
	}
	if len(l.held)+len(p) > MaxLine {
		l.held = append(l.held, p[:MaxLine-len(l.held)]...)
		l.To.LongLine(l.held)
		l.drop()
		return
	}
	l.held = append(l.held, p...)
	if !l.judged && len(l.held) >= HeadSize {
		l.judged = true
		if !l.To.Wants(l.held[:HeadSize]) {
			l.drop()
		}
	}
}

// drop discards the line's text, and frees a big buffer, which the next line will hardly need.
func (l *Lines) drop() {
	l.dropped = true
	l.release()
}

func (l *Lines) finish(take func([]byte)) {
	if !l.dropped && len(l.held) > 0 {
		take(l.held)
	}
	l.release()
	l.judged, l.dropped = false, false
}

func (l *Lines) release() {
	if cap(l.held) > 1<<20 {
		l.held = nil
	}
	l.held = l.held[:0]
}
