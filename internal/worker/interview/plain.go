package interview

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/promise"
)

// detailSize is how many characters of something are enough to know it by.
const detailSize = 200

// plainText is a text that can be printed: line breaks and tabs stay, nothing else in it can move a cursor or turn the writing round.
func plainText(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if hidden(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(text, string(utf8.RuneError))))
}

// hidden are characters that are not seen and yet do something.
func hidden(c rune) bool {
	return c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
}

// plainLine is a text on one line.
func plainLine(text string) string { return promise.OneLine(text, len(text)) }

// brief is the beginning of a text on one line.
func brief(text string) string { return promise.OneLine(text, detailSize) }
