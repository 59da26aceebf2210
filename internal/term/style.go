// Package term shows a run to a person: a status line on a terminal, plain lines elsewhere, and a
// final screen that says why the run stopped.
//
// Views read only events. They never access the loop.
package term

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Style colors text, or leaves it as it is.
type Style struct{ Color bool }

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold makes text bold.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim makes text dim.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red makes text red.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green makes text green.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow makes text yellow.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan makes text cyan.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Clean turns text from an agent or a command into one printable line. Nothing in it can move the
// cursor or reach the clipboard.
func Clean(text string) string { return strings.TrimSpace(Printable(text)) }

// CleanText is Clean for a text of several lines.
func CleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hides(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// EscapeJSON writes characters that a terminal would obey, or that change the order of others, as
// JSON escapes. The JSON means the same.
func EscapeJSON(data []byte) []byte {
	if !bytes.ContainsFunc(data, isHidden) {
		return data
	}
	escaped := make([]byte, 0, len(data)+64)
	for _, r := range string(data) {
		if isHidden(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				escaped = fmt.Appendf(escaped, `\u%04x`, unit)
			}
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return escaped
}

// isHidden reports whether a character of valid JSON must be escaped. JSON escapes ASCII itself.
func isHidden(r rune) bool { return r >= 0x7f && hides(r) }

// hides reports whether a character is invisible: it may move the cursor, or change the order of
// others.
func hides(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// Printable is Clean for a line whose indentation matters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case hides(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// Shorten cuts a line to width columns.
func Shorten(line string, width int) string { return text.Fit(line, width) }

// Clock formats a duration like a stopwatch.
func Clock(d time.Duration) string {
	d = d.Truncate(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// Seconds formats a duration below a minute with one decimal, and a longer one as in 1h2m3s.
func Seconds(s ralph.Span) string {
	if s.Duration() >= time.Minute {
		return s.Duration().Truncate(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", s.Seconds())
}

// Money formats an amount in dollars. It marks estimates.
func Money(cost float64, estimated bool) string {
	mark := map[bool]string{true: "~"}[estimated]
	amount := fmt.Sprintf("%.4f", cost)
	// Show cents, and hundredths of a cent if there are any.
	for i := 0; i < 2 && strings.HasSuffix(amount, "0"); i++ {
		amount = amount[:len(amount)-1]
	}
	return mark + "$" + amount
}

// Size formats a number of bytes.
func Size(bytes int64) string {
	size, unit := float64(bytes), "bytes"
	for _, larger := range []string{"KB", "MB", "GB", "TB"} {
		if size < 1000 {
			break
		}
		size, unit = size/1000, larger
	}
	if unit == "bytes" {
		return Count(int(bytes), "byte")
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// AtLeast marks a figure that is only partly known.
func AtLeast(figure string, partial bool) string {
	if partial {
		return "at least " + figure
	}
	return figure
}

// Count formats a number with its noun.
func Count(n int, noun string) string { return text.Count(n, noun) }
