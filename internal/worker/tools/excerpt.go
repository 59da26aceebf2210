package tools

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// A character has at most 4 bytes, so this many bytes hold all that can be shown.
	headBytes = 4 * bashLimit
	tailBytes = headBytes / 2
)

// excerpt keeps the beginning and the end of what is written to it, in limited memory.
type excerpt struct {
	head  []byte
	tail  []byte // what came after the head, or the end of it
	total int
}

func (e *excerpt) Write(p []byte) (int, error) {
	n := len(p)
	e.total += n
	if room := headBytes - len(e.head); room > 0 {
		room = min(room, len(p))
		e.head = append(e.head, p[:room]...)
		p = p[room:]
	}
	e.tail = append(e.tail, p[max(0, len(p)-tailBytes):]...)
	// Moving the tail only when it has doubled makes many small writes cheap.
	if len(e.tail) > 2*tailBytes {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-tailBytes:]...)
	}
	return n, nil
}

// text returns what was written, with the remarks below it, in at most limit characters.
func (e *excerpt) text(limit int, remarks string) (text string, cut bool) {
	start, end, lossy := e.ends()
	if lossy {
		remarks = "[bytes that are not UTF-8 are shown as \uFFFD]\n" + remarks
	}
	limit -= utf8.RuneCountInString(remarks) + 1
	if e.whole() && utf8.RuneCountInString(start) <= limit {
		return onLine(start) + remarks, false
	}
	const markRoom = 60
	half := (limit - markRoom) / 2
	start, end = firstRunes(start, half), lastRunes(end, half)
	return fmt.Sprintf("%s\n[… %d bytes cut …]\n%s", start, max(e.total-len(start)-len(end), 1), onLine(end)) +
		remarks, true
}

// whole reports whether nothing was dropped so far.
func (e *excerpt) whole() bool { return e.total == len(e.head)+len(e.tail) }

// ends returns the beginning and the end as text; the same text twice if it is whole.
func (e *excerpt) ends() (start, end string, lossy bool) {
	if e.whole() {
		start, lossy = plain(slices.Concat(e.head, e.tail))
		return start, start, lossy
	}
	start, lossyStart := plain(untilRune(e.head))
	end, lossyEnd := plain(fromRune(e.tail))
	return start, end, lossyStart || lossyEnd
}

// untilRune drops a possibly incomplete character at the end.
func untilRune(raw []byte) []byte {
	for i := len(raw) - 1; i >= max(0, len(raw)-utf8.UTFMax); i-- {
		if utf8.RuneStart(raw[i]) {
			return raw[:i]
		}
	}
	return raw
}

// fromRune drops the rest of a character at the beginning.
func fromRune(raw []byte) []byte {
	for i := range min(len(raw), utf8.UTFMax) {
		if utf8.RuneStart(raw[i]) {
			return raw[i:]
		}
	}
	return raw
}

// onLine ends a text with a line break unless it is empty.
func onLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
