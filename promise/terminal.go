package promise

import (
	"bytes"
	"unicode/utf8"
)

// Bytes that begin, end or occur in terminal sequences.
const (
	bel       = 0x07
	can       = 0x18
	sub       = 0x1a
	esc       = 0x1b
	rawDCS    = 0x90
	rawSOS    = 0x98
	rawCSI    = 0x9b
	rawST     = 0x9c
	rawOSC    = 0x9d
	rawPM     = 0x9e
	rawAPC    = 0x9f
	firstC1   = 0x80
	lastC1    = 0x9f
	asciiLast = 0x7f
)

// Real sequences are far shorter than these limits. A longer short sequence is treated as text that
// lost its beginning. A longer string (a picture, a clipboard) is treated as a sequence even if
// nothing ends it.
const (
	maxShortSequence  = 256
	maxStringSequence = 16 << 10
)

var replacement = []byte("\uFFFD")

// textSink is one stage of reading. It receives whole characters of valid UTF-8 and must not keep
// the slice.
type textSink interface {
	text(p []byte)
	endMessage()
}

type sequenceState int

const (
	outsideSequence sequenceState = iota
	afterEscape
	inIntermediates // such as ESC ( B
	inCSI
	inString // OSC, DCS, APC, PM, SOS
	afterEscapeInString
)

// terminalCleaner removes terminal sequences and carriage returns from a byte stream and repairs
// its UTF-8. If a sequence turns out not to be one, it returns all but the introducer as text, so
// that a stray ESC cannot hide what the agent said.
type terminalCleaner struct {
	next      textSink
	state     sequenceState
	held      []byte // the sequence so far, including the introducer
	overflow  bool   // the string is too long to hold
	rereading bool   // an unfinished string is read again: any string inside it is unfinished too
	part      []byte // the beginning of a character that the next write may complete
}

func (c *terminalCleaner) text(p []byte) {
	for len(c.part) > 0 && len(p) > 0 {
		c.part = append(c.part, p[0])
		p = p[1:]
		c.part = append(c.part[:0], c.run(c.part)...)
	}
	c.part = append(c.part, c.run(p)...)
}

func (c *terminalCleaner) endMessage() {
	for _, b := range c.part {
		c.step(utf8.RuneError, []byte{b})
	}
	c.part = c.part[:0]
	if c.state == inString || c.state == afterEscapeInString {
		c.giveBackString()
	}
	c.giveBack()
	c.next.endMessage()
}

// run reads p up to a last incomplete character, which it returns.
func (c *terminalCleaner) run(p []byte) []byte {
	nextESC, nextCR := -1, -1
	for i := 0; i < len(p); {
		if c.state == outsideSequence {
			nextESC, nextCR = indexFrom(p, esc, i, nextESC), indexFrom(p, '\r', i, nextCR)
			if n := validPrefix(p[i:min(nextESC, nextCR)]); n > 0 {
				c.next.text(p[i : i+n])
				i += n
				continue
			}
		}
		if !utf8.FullRune(p[i:]) {
			return p[i:]
		}
		r, size := utf8.DecodeRune(p[i:])
		c.step(r, p[i:i+size])
		i += size
	}
	return nil
}

// indexFrom finds b at or after from. known is the result of the previous search, so that each byte
// is searched once.
func indexFrom(p []byte, b byte, from, known int) int {
	if known >= from {
		return known
	}
	if i := bytes.IndexByte(p[from:], b); i >= 0 {
		return from + i
	}
	return len(p)
}

func validPrefix(p []byte) int {
	if utf8.Valid(p) {
		return len(p)
	}
	i := 0
	for i < len(p) {
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// step handles one character, or one byte that is not part of a character.
func (c *terminalCleaner) step(r rune, raw []byte) {
	if r == '\r' {
		return
	}
	stray := r == utf8.RuneError && len(raw) == 1
	if stray && (raw[0] < firstC1 || raw[0] > lastC1) {
		raw, stray = replacement, false
	}
	switch c.state {
	case outsideSequence:
		c.outside(raw, stray)
	case afterEscape:
		c.escaped(r, raw)
	case inIntermediates, inCSI:
		c.short(r, raw)
	case inString:
		c.inside(raw, stray)
	case afterEscapeInString:
		c.state = inString
		if r == '\\' {
			c.drop()
			return
		}
		c.inside(raw, stray)
	}
}

func (c *terminalCleaner) outside(raw []byte, stray bool) {
	switch {
	case raw[0] == esc:
		c.begin(afterEscape, raw)
	case !stray:
		c.next.text(raw)
	case raw[0] == rawCSI:
		c.begin(inCSI, raw)
	case raw[0] == rawDCS, raw[0] == rawSOS, raw[0] == rawOSC, raw[0] == rawPM, raw[0] == rawAPC:
		c.beginString(raw)
	}
}

func (c *terminalCleaner) escaped(r rune, raw []byte) {
	switch {
	case r == '[':
		c.state, c.held = inCSI, append(c.held, raw...)
	case r == ']', r == 'P', r == 'X', r == '^', r == '_':
		c.held = append(c.held, raw...)
		c.beginString(c.held)
	case r >= ' ' && r <= '/':
		c.state, c.held = inIntermediates, append(c.held, raw...)
	case r >= '0' && r < asciiLast && r != '<':
		c.drop()
	default:
		// ESC < exists for terminals of the seventies; here it is a stray ESC before a tag.
		c.giveBack()
		c.step(r, raw)
	}
}

// short reads the rest of a sequence that ends with one final character.
func (c *terminalCleaner) short(r rune, raw []byte) {
	first, last := ' ', '/'
	if c.state == inCSI {
		last = '?'
	}
	switch {
	case r >= first && r <= last && len(c.held) < maxShortSequence:
		c.held = append(c.held, raw...)
	case r > last && r < asciiLast && r != '<':
		c.drop()
	default:
		c.giveBack()
		c.step(r, raw)
	}
}

// inside reads the body of a string sequence.
func (c *terminalCleaner) inside(raw []byte, stray bool) {
	switch b := raw[0]; {
	case b == bel, b == can, b == sub, stray && b == rawST:
		c.drop()
	case b == '\n':
		c.drop()
		c.next.text(raw)
	case len(c.held)+len(raw) > maxStringSequence:
		c.overflow = true
		fallthrough
	default:
		if b == esc {
			c.state = afterEscapeInString
		}
		if !c.overflow {
			c.held = append(c.held, raw...)
		}
	}
}

func (c *terminalCleaner) begin(s sequenceState, introducer []byte) {
	c.state, c.held, c.overflow = s, append(c.held[:0], introducer...), false
}

func (c *terminalCleaner) beginString(introducer []byte) {
	c.begin(inString, introducer)
	if c.rereading {
		c.giveBack()
	}
}

func (c *terminalCleaner) drop() { c.state, c.held = outsideSequence, c.held[:0] }

// giveBack ends a sequence that is not one: it drops the introducer and passes on the rest as text.
func (c *terminalCleaner) giveBack() {
	held := c.held
	c.drop()
	if len(held) > 1 {
		c.next.text(held[1:])
	}
}

func (c *terminalCleaner) giveBackString() {
	body := bytes.Clone(c.held[1:])
	c.drop()
	if c.overflow {
		return
	}
	c.rereading = true
	c.run(body)
	c.rereading = false
}
