package promise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes one short printable line of any text from an agent, a model or a program: at most
// limit characters, without anything that could move a cursor or reverse the writing direction.
func OneLine(text string, limit int) string {
	var b strings.Builder
	b.Grow(min(len(text), limit+len("…"))) // allocate once: every remark and call of an agent passes through here
	blank, n := false, 0
	for _, c := range text {
		switch {
		case unicode.IsSpace(c):
			blank = n > 0
			continue
		case c == utf8.RuneError || !unicode.IsPrint(c):
			continue
		}
		if n >= limit || blank && n+1 >= limit {
			b.WriteString("…")
			break
		}
		if blank {
			b.WriteByte(' ')
			n++
		}
		blank = false
		b.WriteRune(c)
		n++
	}
	return b.String()
}
