package canary

import (
	"bytes"
	"io"
)

// Listener reads what a check prints while it runs. It remembers tests by name, and passes on what the user's own
// command would have printed, without the options that [Invoke] added.
//
// Where nothing was added, bytes pass through unchanged. Otherwise whole lines do, so a line appears when it is
// complete. See goOutput and plainLines for where the text differs from that of the user's own command.
type Listener struct {
	inv    Invocation
	plants []Plant
	read   *reading
	out    *printer
	goText *goOutput   // nil if go test was not given -json
	lines  *plainLines // nil if no other runner was given anything

	held []byte // the current line so far, at most maxLine bytes
	rest string // the end of the piece before, if the current line is a long one
}

// NewListener returns a listener for one run. out gets what the user's own command would have printed.
func NewListener(inv Invocation, plants []Plant, out io.Writer) *Listener {
	l := &Listener{inv: inv, plants: plants, read: newReading(plants), out: &printer{to: out}}
	if inv.GoJSON {
		l.goText = newGoOutput(inv, l.out)
	}
	if reports := addedReports(inv); inv.UnittestVerbose || len(reports) > 0 {
		l.lines = &plainLines{unittest: inv.UnittestVerbose, reports: reports}
	}
	return l
}

// Write takes the next bytes of the output, split anywhere. It returns the first error of the writer behind it, and
// keeps reading after one.
func (l *Listener) Write(p []byte) (int, error) {
	if l.passesAll() {
		l.out.printBytes(p)
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxLine-len(l.held))
		end := bytes.IndexByte(rest[:n], '\n') + 1
		if end > 0 {
			n = end
		}
		l.held = append(l.held, rest[:n]...)
		rest = rest[n:]
		switch {
		case end > 0:
			l.endPiece(wholeLine)
		case len(l.held) == maxLine:
			l.endPiece(longLine)
		}
	}
	if l.out.err != nil {
		return 0, l.out.err
	}
	return len(p), nil
}

// Close reads the last line, if it has no end, and passes on everything that was held back. Call it once, after the
// process ended.
func (l *Listener) Close() error {
	if len(l.held) > 0 {
		l.endPiece(lastLine)
	}
	if l.goText != nil {
		l.goText.close()
	}
	if l.lines != nil {
		l.out.printText(l.lines.close())
	}
	return l.out.err
}

// Outcome makes an outcome from what was read, the exit status, and the reports. Call it once, after Close.
func (l *Listener) Outcome(exit int, reports [][]byte) Outcome {
	r := l.read
	for _, report := range reports {
		r.report(report)
	}
	r.failures.unbuilt = r.failures.unbuilt || r.unbuilt
	out := Outcome{Exit: exit, Red: exit != 0, Unbuilt: r.failures.unbuilt, Counted: r.failures.count()}
	r.judge(&out, l.inv, l.plants)
	r.count(&out)
	return out
}

func (l *Listener) passesAll() bool { return l.goText == nil && l.lines == nil }

// ending is how a piece of the output ends.
type ending int

const (
	wholeLine ending = iota // with the end of its line
	longLine                // in the middle of a line that does not fit into memory
	lastLine                // with the end of the output
)

// endPiece reads the held piece and passes it on. Pieces of a long line overlap by the length of a token.
func (l *Listener) endPiece(how ending) {
	begins := l.rest == ""
	text := l.rest + string(l.held)
	l.rest = ""
	event, isEvent := l.read.line(plain(text))
	if how == longLine {
		l.rest = text[max(0, len(text)-overlap):]
	}
	if !l.passesAll() {
		switch {
		case !begins || how == longLine:
			l.pass(text[len(text)-len(l.held):], nil)
		case isEvent && l.held[0] == '{':
			l.pass(text, &event)
		default:
			l.passLine(text, how)
		}
	}
	l.held = l.held[:0]
}

// passLine passes on a line that is not an event of the go command.
func (l *Listener) passLine(line string, how ending) {
	if l.goText != nil {
		// A program before go test may have printed text without an end of line.
		if at := goEventStart(line); at > 0 {
			if event, ok := parseGoEvent(line[at:]); ok {
				l.pass(line[:at], nil)
				l.pass(line[at:], &event)
				return
			}
		}
	}
	if l.lines != nil && how == wholeLine {
		line = l.lines.line(line)
	} else if l.lines != nil {
		line = l.lines.close() + line
	}
	l.pass(line, nil)
}

// pass passes on text, or what the go command would have printed instead of an event.
func (l *Listener) pass(text string, event *goEvent) {
	switch {
	case l.goText == nil:
		l.out.printText(text)
	case event != nil && event.known():
		l.goText.event(*event)
	case text != "":
		l.goText.other(text)
	}
}

// printer writes to a writer until its first error.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) printBytes(text []byte) {
	if p.err == nil && len(text) > 0 {
		_, p.err = p.to.Write(text)
	}
}

func (p *printer) printText(text string) { p.printBytes([]byte(text)) }
