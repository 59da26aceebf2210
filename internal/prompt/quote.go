package prompt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest name, path, id or sentence that is put on a line of ours.
const inlineCap = 300

// Cut shortens text to limit characters: 35 % from its head, 65 % from its tail, with a mark between.
func Cut(text string, limit int) (string, bool) {
	head := limit * 35 / 100
	return cut(text, head, limit-head)
}

// keepHead shortens text to its beginning.
func keepHead(text string, limit int) (string, bool) { return cut(text, limit, 0) }

// keepTail shortens text to its end, from the beginning of a line where one is near.
func keepTail(text string, limit int) (string, bool) {
	short, truncated := cut(text, 0, limit)
	if !truncated {
		return text, false
	}
	mark, tail, _ := strings.Cut(short, "\n")
	if _, rest, ok := strings.Cut(tail, "\n"); ok && len(rest) > len(tail)/2 {
		tail = rest
		mark = cutMark(utf8.RuneCountInString(text) - utf8.RuneCountInString(rest))
	}
	return mark + "\n" + tail, true
}

// cut keeps head characters of the beginning and tail characters of the end.
func cut(text string, head, tail int) (string, bool) {
	if len(text) <= head+tail {
		return text, false
	}
	runes := utf8.RuneCountInString(text)
	if runes <= head+tail {
		return text, false
	}
	from, to := 0, len(text)
	for range head {
		_, size := utf8.DecodeRuneInString(text[from:])
		from += size
	}
	for range tail {
		_, size := utf8.DecodeLastRuneInString(text[:to])
		to -= size
	}
	short := cutMark(runes - head - tail)
	if head > 0 {
		short = text[:from] + "\n" + short
	}
	if tail > 0 {
		short += "\n" + text[to:]
	}
	return short, true
}

func cutMark(characters int) string { return fmt.Sprintf("[… %d characters cut …]", characters) }

// quote puts text on lines of its own that are marked as quoted: nothing in it can be taken for a heading, and repeated as it stands it reports nothing.
func quote(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(strings.TrimRight("\n> "+line, " "))
	}
	return b.String()[1:]
}

// clean takes control characters out of text, line breaks and tabs aside, and mends its encoding.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r != '\n' && r != '\t' && unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}

// inline makes text fit for a line of ours: short, on one line, and without the beginning of a tag.
func inline(text string) string {
	if far := 10 * inlineCap; len(text) > far {
		text = text[:far] // nobody reads on
	}
	text = strings.Join(strings.Fields(clean(text)), " ")
	if runes := []rune(text); len(runes) > inlineCap {
		text = strings.TrimSpace(string(runes[:inlineCap])) + "…"
	}
	return strings.ReplaceAll(text, "<promise>", `<promise\>`)
}

// code is inline text in a code span.
func code(text string) string {
	return "`" + strings.ReplaceAll(inline(text), "`", "'") + "`"
}

// exactCode is text in a code span, as it is. It belongs on quoted lines.
func exactCode(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	if longest == 0 {
		return "`" + text + "`"
	}
	marks := strings.Repeat("`", longest+1)
	return marks + " " + text + " " + marks
}

// bullets makes a list of texts; further lines of a text are indented below its first.
func bullets(texts []string) string {
	items := make([]string, 0, len(texts))
	for _, t := range texts {
		if t = strings.TrimSpace(clean(t)); t != "" {
			items = append(items, "- "+strings.ReplaceAll(t, "\n", "\n  "))
		}
	}
	return strings.Join(items, "\n")
}
