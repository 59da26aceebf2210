package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

const (
	// outputChars is how many characters of a check's output go into its result.
	outputChars = 2000
	// tailBytes is how many bytes are kept for that: a character takes up to 4 bytes, and colored
	// output can hold more control sequences than text.
	tailBytes = 64 << 10
)

// tail keeps the end of what is written to it, in bounded memory.
type tail struct {
	kept []byte
	cut  bool // cut is set once bytes before kept were dropped
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > tailBytes {
		p = p[n-tailBytes:]
		t.kept, t.cut = t.kept[:0], true
	}
	t.kept = append(t.kept, p...)
	// Moving the bytes only when the buffer has doubled keeps many small writes cheap.
	if len(t.kept) > 2*tailBytes {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailBytes:]...)
		t.cut = true
	}
	return n, nil
}

// text returns the last outputChars characters as a person would have seen them, with the remark,
// if any, as the last line.
func (t *tail) text(remark string) string {
	raw := t.kept[max(0, len(t.kept)-tailBytes):]
	if t.cut || len(raw) < len(t.kept) {
		for len(raw) > 0 && !utf8.RuneStart(raw[0]) {
			raw = raw[1:]
		}
	}
	seen := readable(raw)
	if remark == "" {
		return lastChars(seen, outputChars)
	}
	remark = lastChars(readable([]byte(remark)), outputChars)
	if seen != "" && !strings.HasSuffix(seen, "\n") {
		seen += "\n"
	}
	return lastChars(seen, outputChars-utf8.RuneCountInString(remark)) + remark
}

func lastChars(s string, n int) string {
	from := len(s)
	for ; n > 0 && from > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		from -= size
	}
	return s[from:]
}

// readable turns raw terminal output into plain valid text. It drops control sequences, control
// characters, and text that was overwritten after a carriage return, as progress bars do.
func readable(raw []byte) string {
	out := make([]byte, 0, len(raw))
	line := 0 // where the current line begins in out
	returned := false
	for len(raw) > 0 {
		if raw[0] == 0x1b {
			raw = raw[sequenceLen(raw):]
			continue
		}
		r, size := utf8.DecodeRune(raw)
		raw = raw[size:]
		switch {
		case r == '\r':
			returned = true
		case r == '\n':
			out = append(out, '\n')
			line, returned = len(out), false
		case r != '\t' && isInvisible(r):
		default:
			if returned {
				out, returned = out[:line], false
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}

// isInvisible reports control characters and marks that change the writing direction, which can
// make output look different from what it contains.
func isInvisible(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// sequences matches terminal sequences: control sequences; OSC, DCS, APC, PM and SOS strings; and
// short ones. A string ends with BEL, ST, CAN or SUB, or, as captured, at the end of the line or at
// another sequence. Of an unfinished sequence only the ESC matches, so that the text after it is
// not lost.
var sequences = text.LazyRegexp(
	`^\x1b(?:\[[ -?]*[@-~]|` +
		`[\]P_^X][^\a\n\x18\x1a\x1b]*(?:[\a\x18\x1a]|\x1b\\)|` +
		`([\]P_^X][^\a\n\x18\x1a\x1b]*)[\n\x1b]|` +
		`[ -/]+[0-~]|[0-OQ-WYZ\\\x60a-~])?`,
)

// sequenceLen returns the length of the terminal sequence at the start of raw.
func sequenceLen(raw []byte) int {
	found := sequences().FindSubmatchIndex(raw)
	if found[3] > 0 {
		return found[3]
	}
	return found[1]
}
