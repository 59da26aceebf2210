package tools

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

const (
	// The maximum number of lines of a file and of a text that are compared.
	fileLinesCompared, textLinesCompared = 50_000, 40
	// nearLines is how many lines are shown on both sides of the place that was meant.
	nearLines = 2
	// nearLineLimit is how much of each line is shown.
	nearLineLimit = 200
)

// notFound returns an error that shows the place most similar to the text.
func notFound(content []byte, old string) error {
	wanted := trimmedLines(old, textLinesCompared)
	whole, _ := plain(content)
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	at, hits := mostAlike(lines[:min(len(lines), fileLinesCompared)], wanted)
	switch {
	case hits == 0 && !utf8.Valid(content):
		return errors.New("old does not occur, and no line of it does; the file is not UTF-8, so read_file may not show " +
			"its exact content")
	case hits == 0:
		return errors.New("old does not occur, and no line of it does; read the file again")
	}
	why := "some of its lines are"
	if hits == len(wanted) {
		why = "the same text with different whitespace is"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "old does not occur; %s at line %d:\n", why, at+1)
	shown := min(len(wanted), 10)
	for i := max(0, at-nearLines); i < min(len(lines), at+shown+nearLines); i++ {
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, Clip(strings.TrimSuffix(lines[i], "\r"), nearLineLimit))
	}
	return errors.New(strings.TrimSuffix(b.String(), "\n"))
}

// mostAlike finds where the most lines of a text occur, ignoring white space. Blank lines do not
// count.
func mostAlike(lines, wanted []string) (at, hits int) {
	trimmed := text.Mapped(lines, strings.TrimSpace)
	for i := range trimmed {
		n, blanks := 0, 0
		for k, want := range wanted {
			if i+k < len(trimmed) && trimmed[i+k] == want {
				n++
				if want == "" {
					blanks++
				}
			}
		}
		if n > hits && n > blanks {
			at, hits = i, n
		}
	}
	return at, hits
}

func trimmedLines(old string, most int) []string {
	lines := strings.Split(strings.Trim(old, "\r\n"), "\n")
	return text.Mapped(lines[:min(len(lines), most)], strings.TrimSpace)
}
