package verify

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

const (
	// outputChars is how much of a check's output goes into its result.
	outputChars = 2000
	// tailBytes is how much is looked at for that: characters take up to 4 bytes, and
	// coloured output holds more control sequences than text.
	tailBytes = 64 << 10
)

// tail keeps the end of what is written to it, in bounded memory.
type tail struct {
	kept []byte
	cut  bool // something before kept is gone
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > tailBytes {
		p = p[n-tailBytes:]
		t.kept, t.cut = t.kept[:0], true
	}
	t.kept = append(t.kept, p...)
	// Moving only when it has doubled makes the copying cheap for many small writes.
	if len(t.kept) > 2*tailBytes {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailBytes:]...)
		t.cut = true
	}
	return n, nil
}

// text is the last outputChars characters of what a person would have seen, with the
// remark, if there is one, as the last line.
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

// readable turns raw terminal output into plain valid text: without control sequences
// and control characters, and without the parts of a line that were drawn over after a
// carriage return, as progress bars do.
func readable(raw []byte) string {
	out := make([]byte, 0, len(raw))
	line := 0 // where the current line begins in out
	returned := false
	for len(raw) > 0 {
		if raw[0] == 0x1b {
			raw = raw[sequence(raw):]
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
		case r != '\t' && unseen(r):
		default:
			if returned {
				out, returned = out[:line], false
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}

// unseen are control characters and the marks that turn the direction of writing, with
// which output can show something else than it holds.
func unseen(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// sequences are what a terminal takes for orders: a control sequence; an OSC, DCS, APC, PM or SOS string that ends with BEL,
// ST, CAN or SUB, or, the one that is captured, is cut off by its line's end or another sequence; and short ones. Of an
// unfinished one only the ESC itself counts, so that text behind it is not lost.
var sequences = text.LazyRegexp(`^\x1b(?:\[[ -?]*[@-~]|[\]P_^X][^\a\n\x18\x1a\x1b]*(?:[\a\x18\x1a]|\x1b\\)|([\]P_^X][^\a\n\x18\x1a\x1b]*)[\n\x1b]|[ -/]+[0-~]|[0-OQ-WYZ\\\x60a-~])?`)

// sequence is the length of the terminal sequence that raw begins with.
func sequence(raw []byte) int {
	found := sequences().FindSubmatchIndex(raw)
	if found[3] > 0 {
		return found[3]
	}
	return found[1]
}
