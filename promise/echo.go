package promise

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// maxEchoLine is the longest line that can be an echo. It bounds the text that is held back.
const maxEchoLine = 32 << 10

// echoFilter drops the lines in which a plain command repeats its prompt: two or more consecutive
// lines that are also consecutive in the prompt. Blank lines between them, indent and quote marks
// do not matter. The filter therefore holds back one line until it has seen the next.
type echoFilter struct {
	next   textSink
	seed   maphash.Seed
	starts map[uint64]struct{}    // lines of the prompt that have a line after them
	pairs  map[[2]uint64]struct{} // pairs of consecutive lines

	line    []byte // the current line
	tooLong bool   // the current line is passed on as it arrives
	before  uint64 // hash of the last line that is in the prompt; valid if inRun
	inRun   bool   // the previous line is in the prompt: the next may continue it
	held    []byte // the previous line, until the next one shows whether it is an echo
	holding bool
	blank   bool // a blank line followed the held one
}

func newEchoFilter(prompt string, next textSink) *echoFilter {
	e := &echoFilter{
		next:   next,
		seed:   maphash.MakeSeed(),
		starts: map[uint64]struct{}{},
		pairs:  map[[2]uint64]struct{}{},
	}
	var clean cleanText
	cleaner := terminalCleaner{next: &clean}
	cleaner.text([]byte(prompt))
	cleaner.endMessage()
	var before uint64
	some := false
	for line := range bytes.Lines(clean.Bytes()) {
		said := withoutQuoteMarks(line)
		if len(said) == 0 {
			continue
		}
		hash := maphash.Bytes(e.seed, said)
		if some {
			e.starts[before] = struct{}{}
			e.pairs[[2]uint64{before, hash}] = struct{}{}
		}
		before, some = hash, true
	}
	return e
}

func (e *echoFilter) text(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		switch {
		case end < 0:
			e.add(p)
			return
		case len(e.line) == 0 && !e.tooLong && end <= maxEchoLine:
			e.judgeLine(p[:end+1])
		default:
			e.add(p[:end])
			e.endLine(p[end : end+1])
		}
		p = p[end+1:]
	}
}

func (e *echoFilter) endMessage() {
	e.endLine(nil)
	e.release()
	e.inRun = false
	e.next.endMessage()
}

func (e *echoFilter) add(p []byte) {
	if !e.tooLong && len(e.line)+len(p) > maxEchoLine {
		e.release()
		e.next.text(e.line)
		e.line, e.tooLong, e.inRun = e.line[:0], true, false
	}
	if e.tooLong {
		e.next.text(p)
		return
	}
	e.line = append(e.line, p...)
}

func (e *echoFilter) endLine(lineBreak []byte) {
	if e.tooLong {
		e.tooLong = false
		e.next.text(lineBreak)
		return
	}
	e.line = append(e.line, lineBreak...)
	e.judgeLine(e.line)
	e.line = e.line[:0]
}

// judgeLine judges one line, including its line break.
func (e *echoFilter) judgeLine(line []byte) {
	said := withoutQuoteMarks(line)
	if len(said) == 0 {
		if e.holding {
			e.blank = true
			return
		}
		e.next.text(line)
		return
	}
	hash := maphash.Bytes(e.seed, said)
	_, continues := e.pairs[[2]uint64{e.before, hash}]
	if e.inRun && continues {
		e.before, e.holding = hash, false
		return
	}
	e.release()
	e.before = hash
	if _, e.inRun = e.starts[hash]; e.inRun {
		e.held, e.holding, e.blank = append(e.held[:0], line...), true, false
		return
	}
	e.next.text(line)
}

// release passes on the held line, which turned out not to be an echo.
func (e *echoFilter) release() {
	if !e.holding {
		return
	}
	e.holding = false
	e.next.text(e.held)
	if e.blank {
		e.next.text([]byte{'\n'})
	}
}

// withoutQuoteMarks strips indent, quote marks and trailing white space from a line.
func withoutQuoteMarks(line []byte) []byte {
	if len(line) > 0 && line[0] > '>' && line[0] < utf8.RuneSelf {
		return bytes.TrimSpace(line)
	}
	for {
		line = bytes.TrimSpace(line)
		rest := bytes.TrimLeft(line, ">")
		if len(rest) == len(line) {
			return line
		}
		line = rest
	}
}

// cleanText collects the cleaned text of a whole message.
type cleanText struct{ bytes.Buffer }

func (c *cleanText) text(p []byte) { c.Write(p) }
func (c *cleanText) endMessage()   {}
