package text

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width returns how many columns a line takes on a terminal. East Asian characters and emoji take two, and the escape
// sequences of colors none.
func Width(line string) int {
	width := 0
	for {
		before, code, found := strings.Cut(line, "\x1b[")
		width += uniseg.StringWidth(before)
		if !found {
			return width
		}
		_, line, _ = strings.Cut(code, "m")
	}
}

// Fit cuts a line to a number of columns and marks the cut with an ellipsis. A width below 2 leaves the line alone.
func Fit(line string, width int) string {
	if width < 2 || Width(line) <= width {
		return line
	}
	fits, left, state := 0, width-1, -1
	for rest := line; rest != ""; {
		var cluster string
		var columns int
		cluster, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if left -= columns; left < 0 {
			break
		}
		fits += len(cluster)
	}
	return line[:fits] + "…"
}

// Wrap breaks a line between words into lines of at most width columns. A longer word gets a line of its own.
func Wrap(line string, width int) []string {
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(line) {
		switch {
		case current == "":
			current = word
		case Width(current)+1+Width(word) <= width:
			current += " " + word
		default:
			lines, current = append(lines, current), word
		}
	}
	return append(lines, current)
}
