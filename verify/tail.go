package verify

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
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
		if raw[0] == esc {
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

const esc = 0x1b

// sequence is the length of the terminal sequence that raw begins with. Of an unfinished
// one only the ESC itself counts, so that text behind it is not lost.
func sequence(raw []byte) int {
	if len(raw) < 2 {
		return 1
	}
	switch raw[1] {
	case '[':
		return controlSequence(raw)
	case ']', 'P', '_', '^', 'X':
		return stringSequence(raw)
	}
	end := 1
	for end < len(raw) && raw[end] >= 0x20 && raw[end] <= 0x2f {
		end++
	}
	if end < len(raw) && raw[end] >= 0x30 && raw[end] <= 0x7e {
		return end + 1
	}
	return 1
}

func controlSequence(raw []byte) int {
	for i := 2; i < len(raw); i++ {
		switch c := raw[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 1
		}
	}
	return 1
}

// stringSequence measures an OSC, DCS, APC, PM or SOS sequence: it ends with BEL, ST,
// CAN or SUB, and at the latest with its line.
func stringSequence(raw []byte) int {
	end := bytes.IndexAny(raw[2:], "\a\n\x18\x1a\x1b")
	if end < 0 {
		return 1
	}
	end += 2
	switch {
	case raw[end] == '\n':
		return end
	case raw[end] != esc:
		return end + 1
	case end+1 < len(raw) && raw[end+1] == '\\':
		return end + 2
	}
	return end // another sequence begins and cancels this one
}
