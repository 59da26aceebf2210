// Package term shows a run to a person: a live line on a terminal, plain lines elsewhere, and a last screen that says why it stopped.
//
// Views read events and nothing else; they never reach into the loop.
package term

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Style paints words, or leaves them as they are.
type Style struct{ Color bool }

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold paints text bold.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim paints text dim.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red paints text red.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green paints text green.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow paints text yellow.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan paints text cyan.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Clean makes one printable line of a text that an agent or a command wrote: nothing in it can move the cursor or reach the clipboard.
func Clean(text string) string { return strings.TrimSpace(Printable(text)) }

// Printable is Clean for a line whose indent matters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// Shorten cuts a line to a number of columns.
func Shorten(line string, width int) string { return text.Fit(line, width) }

// Clock writes a span as a stopwatch does.
func Clock(d time.Duration) string {
	d = d.Truncate(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// Seconds writes a short span with one figure after the point.
func Seconds(s ralph.Span) string {
	if s.Duration() >= time.Minute {
		return Clock(s.Duration())
	}
	return fmt.Sprintf("%.1fs", s.Seconds())
}

// Money writes an amount, with a mark where it was reckoned rather than reported.
func Money(cost float64, estimated bool) string {
	mark := map[bool]string{true: "~"}[estimated]
	amount := fmt.Sprintf("%.4f", cost)
	for i := 0; i < 2 && strings.HasSuffix(amount, "0"); i++ { // cents at least, hundredths of a cent where there are any
		amount = amount[:len(amount)-1]
	}
	return mark + "$" + amount
}

// AtLeast marks a figure of which only a part is known.
func AtLeast(figure string, partial bool) string {
	if partial {
		return "at least " + figure
	}
	return figure
}

// Count writes a number with its noun.
func Count(n int, noun string) string { return text.Count(n, noun) }
