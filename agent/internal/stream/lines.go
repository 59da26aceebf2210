package stream

import "bytes"

const (
	// MaxLine is the longest line that is kept to be read. Lines of an agent's own text are far shorter; what is longer is a tool's input or output.
	MaxLine = 4 << 20
	// HeadSize is how much of an unfinished line is awaited before its kind is looked for.
	HeadSize = 4 << 10
)

// LineTaker gets the lines of a stream, each valid only during the call.
type LineTaker interface {
	// Wants says, from the beginning of a line that is still coming in, whether the rest is worth keeping.
	Wants(head []byte) bool
	// Line takes one whole line without its end.
	Line(text []byte)
	// LongLine takes the beginning of a line that is longer than maxLine.
	LongLine(head []byte)
	// LastLine takes what came after the last line end, when the stream is over. It may be cut off; nil if it was not kept.
	LastLine(text []byte)
}

// Lines splits a stream into lines. What is whole within one write is passed on without a copy, what nobody wants is never stored.
type Lines struct {
	To      LineTaker
	held    []byte // the beginning of the line that is coming in
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

// drop lets go of the line's text; a big buffer is given back, since the next line will hardly need it.
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
