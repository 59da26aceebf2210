package prompt

import (
	"strings"
	"unicode"
)

// inlineCap is the maximum length of a name, path, ID or sentence on one of our lines.
const inlineCap = 300

// quote puts text on lines that are marked as quoted: nothing in it can be taken for a heading, and
// repeating it unchanged reports nothing.
func quote(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(strings.TrimRight("\n> "+line, " "))
	}
	return b.String()[1:]
}

// clean removes control characters except line breaks and tabs, and repairs the encoding.
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

// inline makes text fit for one of our lines: short, on one line, and without the beginning of a
// tag.
func inline(text string) string {
	if far := 10 * inlineCap; len(text) > far {
		text = text[:far] // the rest would be cut anyway
	}
	text = strings.Join(strings.Fields(clean(text)), " ")
	if runes := []rune(text); len(runes) > inlineCap {
		text = strings.TrimSpace(string(runes[:inlineCap])) + "…"
	}
	return strings.ReplaceAll(text, "<promise>", `<promise\>`)
}

// code returns inline text in a code span.
func code(text string) string {
	return "`" + strings.ReplaceAll(inline(text), "`", "'") + "`"
}

// exactCode returns unchanged text in a code span. It belongs on quoted lines.
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
