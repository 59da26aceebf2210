package scan

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

// List formats names for a sentence: the first five and how many more there are.
func List(names []string) string {
	return text.List(text.Mapped(names, Quote))
}

// Quote returns a name, quoted if it could affect a terminal.
func Quote(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}

// sentenceChars is the most characters of a name or an entry in a sentence.
const sentenceChars = 160

// Shorten makes an entry one printable line and truncates it.
func Shorten(entry string) string {
	entry = strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case unicode.IsControl(c):
			return -1
		}
		return c
	}, entry)
	if utf8.RuneCountInString(entry) > sentenceChars {
		entry = string([]rune(entry)[:sentenceChars])
	}
	return strings.TrimSpace(entry)
}
