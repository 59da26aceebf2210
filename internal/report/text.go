package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

// textLimit is how much of one text a report tells.
const textLimit = 500

// clean makes one printable line of bounded length of a text that anybody may have written.
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

// marks are the characters that Markdown or its dialects could read as markup. The bar ends a table's cell even in code and behind a backslash that
// is escaped itself, so that it is never written at all.
const marks = "\\`*_[]<>|~&$@"

// prose escapes a cleaned text so that Markdown shows it as it is: no markup, no HTML, no links, no mentions, and no end of a table's cell.
func prose(text string) string {
	return escape(text, func(out *strings.Builder, r rune) {
		switch r {
		case '|':
			out.WriteString("&#124;")
		case '@': // hosts of Markdown look for mentions in what is shown; only something that is not shown keeps them apart
			out.WriteString("@<!-- -->")
		default:
			out.WriteByte('\\')
			out.WriteRune(r)
		}
	})
}

// code shows a cleaned text as code. Text that could end a span of code, or a cell, is spelled out.
func code(text string) string {
	switch {
	case text == "":
		return ""
	case !strings.ContainsAny(text, "`|"):
		return "`" + text + "`"
	}
	return "<code>" + escape(text, func(out *strings.Builder, r rune) { fmt.Fprintf(out, "&#%d;", r) }) + "</code>"
}

// escape writes a text with every character that could be a mark in another way.
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

// startsLink reports whether what stands at i would make a link of its neighbours: as in http://example.com and www.example.com.
func startsLink(text string, i int) bool {
	switch text[i] {
	case ':':
		return strings.HasPrefix(text[i+1:], "//")
	case '.':
		return i >= 3 && strings.EqualFold(text[i-3:i], "www")
	}
	return false
}
