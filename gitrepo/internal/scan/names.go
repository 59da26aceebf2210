package scan

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

// List puts names into a sentence: the first five and how many more there are.
func List(names []string) string {
	return text.List(text.Mapped(names, Quote))
}

// Quote is a name as it is, or quoted if it could do something to a terminal.
func Quote(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}

// sentenceChars is how long a name or an entry may be in a sentence.
const sentenceChars = 160

// Shorten makes one printable line of an entry and cuts it.
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
