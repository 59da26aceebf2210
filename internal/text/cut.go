package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cut shortens s to limit characters: 35 % from its start, 65 % from its end, with a mark between.
// It reports whether it cut anything, as KeepHead and KeepTail do.
func Cut(s string, limit int) (string, bool) {
	head := limit * 35 / 100
	return cut(s, head, limit-head)
}

// KeepHead shortens s to its beginning.
func KeepHead(s string, limit int) (string, bool) { return cut(s, limit, 0) }

// KeepTail shortens s to its end, starting at a new line if one is near.
func KeepTail(s string, limit int) (string, bool) {
	short, truncated := cut(s, 0, limit)
	if !truncated {
		return s, false
	}
	mark, tail, _ := strings.Cut(short, "\n")
	if _, rest, ok := strings.Cut(tail, "\n"); ok && len(rest) > len(tail)/2 {
		tail = rest
		mark = CutMark(utf8.RuneCountInString(s) - utf8.RuneCountInString(rest))
	}
	return mark + "\n" + tail, true
}

// cut keeps head characters of the start and tail characters of the end.
func cut(s string, head, tail int) (string, bool) {
	if len(s) <= head+tail {
		return s, false
	}
	runes := utf8.RuneCountInString(s)
	if runes <= head+tail {
		return s, false
	}
	from, to := 0, len(s)
	for range head {
		_, size := utf8.DecodeRuneInString(s[from:])
		from += size
	}
	for range tail {
		_, size := utf8.DecodeLastRuneInString(s[:to])
		to -= size
	}
	short := CutMark(runes - head - tail)
	if head > 0 {
		short = s[:from] + "\n" + short
	}
	if tail > 0 {
		short += "\n" + s[to:]
	}
	return short, true
}

// CutMark returns the mark for characters that were cut.
func CutMark(characters int) string { return fmt.Sprintf("[… %d characters cut …]", characters) }
