package agent

import "bytes"

const (
	// maxLine is the longest line that is kept to be read. Lines of an agent's own text are far shorter; what is longer is a tool's input or output.
	maxLine = 4 << 20
	// headSize is how much of an unfinished line is awaited before its kind is looked for.
	headSize = 4 << 10
)

// lineTaker gets the lines of a stream, each valid only during the call.
type lineTaker interface {
	// wants says, from the beginning of a line that is still coming in, whether the rest is worth keeping.
	wants(head []byte) bool
	// line takes one whole line without its end.
	line(text []byte)
	// longLine takes the beginning of a line that is longer than maxLine.
	longLine(head []byte)
	// lastLine takes what came after the last line end, when the stream is over. It may be cut off; nil if it was not kept.
	lastLine(text []byte)
}

// lines splits a stream into lines. What is whole within one write is passed on without a copy, what nobody wants is never stored.
type lines struct {
	to      lineTaker
	held    []byte // the beginning of the line that is coming in
	judged  bool   // its kind was looked for
	dropped bool   // the rest of it is not kept
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	size := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.hold(p)
			return size, nil
		}
		if len(l.held) == 0 && !l.dropped && end <= maxLine {
			l.to.line(p[:end])
		} else {
			l.hold(p[:end])
			l.finish(l.to.line)
		}
		p = p[end+1:]
	}
}

// close ends the stream.
func (l *lines) close() {
	if l.dropped {
		l.to.lastLine(nil)
	}
	l.finish(l.to.lastLine)
}

func (l *lines) hold(p []byte) {
	if l.dropped || len(p) == 0 {
		return
	}
	if len(l.held)+len(p) > maxLine {
		l.held = append(l.held, p[:maxLine-len(l.held)]...)
		l.to.longLine(l.held)
		l.drop()
		return
	}
	l.held = append(l.held, p...)
	if !l.judged && len(l.held) >= headSize {
		l.judged = true
		if !l.to.wants(l.held) {
			l.drop()
		}
	}
}

// drop lets go of the line's text; a big buffer is given back, since the next line will hardly need it.
func (l *lines) drop() {
	l.dropped = true
	l.release()
}

func (l *lines) finish(take func([]byte)) {
	if !l.dropped && len(l.held) > 0 {
		take(l.held)
	}
	l.release()
	l.judged, l.dropped = false, false
}

func (l *lines) release() {
	if cap(l.held) > 1<<20 {
		l.held = nil
	}
	l.held = l.held[:0]
}
