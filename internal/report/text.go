package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

// textLimit is the maximum length of one text in a report, in characters.
const textLimit = 500

// clean turns untrusted text into one printable line of limited length.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= textLimit {
		return text
	}
	return string([]rune(text)[:textLimit-1]) + "…"
}

func cleanAll(texts []string) []string { return text.Mapped(texts, clean) }

// marks are the characters that Markdown or its dialects could read as markup. The bar ends a
// table cell even in code, and even after a backslash that is itself escaped, so the report never
// writes it.
const marks = "\\`*_[]<>|~&$@"

// prose escapes a cleaned text so that Markdown shows it unchanged: no markup, no HTML, no links,
// no mentions, and no end of a table cell.
func prose(text string) string {
	return escape(text, func(out *strings.Builder, r rune) {
		switch r {
		case '|':
			out.WriteString("&#124;")
		case '@':
			// Markdown hosts look for mentions in the rendered text. Only invisible markup prevents one.
			out.WriteString("@<!-- -->")
		default:
			out.WriteByte('\\')
			out.WriteRune(r)
		}
	})
}

// code shows a cleaned text as code. It replaces characters that could end the code span or the
// table cell.
func code(text string) string {
	switch {
	case text == "":
		return ""
	case !strings.ContainsAny(text, "`|"):
		return "`" + text + "`"
	}
	return "<code>" + escape(text, func(out *strings.Builder, r rune) { fmt.Fprintf(out, "&#%d;", r) }) + "</code>"
}

// escape copies a text, and calls mark to write each character that could be markup.
func escape(text string, mark func(out *strings.Builder, r rune)) string {
	var out strings.Builder
	for i, r := range text {
		if strings.ContainsRune(marks, r) || startsLink(text, i) {
			mark(&out, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// startsLink reports whether the character at i could turn the text around it into a link, as in
// http://example.com and www.example.com.
func startsLink(text string, i int) bool {
	switch text[i] {
	case ':':
		return strings.HasPrefix(text[i+1:], "//")
	case '.':
		return i >= 3 && strings.EqualFold(text[i-3:i], "www")
	}
	return false
}
