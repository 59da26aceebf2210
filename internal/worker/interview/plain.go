package interview

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph/promise"
)

// detailSize is how many characters identify something.
const detailSize = 200

// plainText returns a printable text: line breaks and tabs stay, and nothing else in it can move a
// cursor or change the direction of writing.
func plainText(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if isHidden(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(text, string(utf8.RuneError))))
}

// isHidden reports whether a character is invisible but has an effect.
func isHidden(c rune) bool {
	return c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
}

// plainLine returns a text on one line.
func plainLine(text string) string { return promise.OneLine(text, len(text)) }

// brief returns the beginning of a text on one line.
func brief(text string) string { return promise.OneLine(text, detailSize) }
