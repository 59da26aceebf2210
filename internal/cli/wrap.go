package cli

import (
	"io"
	"math"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// outLines and errLines are where commands print lines for people. On a terminal, long lines break at words.
func (a *app) outLines() io.Writer { return a.wrapping(a.streams.Out, a.streams.OutTerm) }
func (a *app) errLines() io.Writer { return a.wrapping(a.streams.Err, a.streams.ErrTerm) }

func (a *app) wrapping(out io.Writer, terminal bool) io.Writer {
	if !terminal || a.streams.Width == nil || a.streams.Width() < narrowest {
		return out
	}
	return wrapWriter{out, a.streams.Width()}
}

// columns is the width of the table that fits on stdout.
func (a *app) columns() int {
	if !a.streams.OutTerm || a.streams.Width == nil || a.streams.Width() < narrowest {
		return math.MaxInt
	}
	return a.streams.Width()
}

// narrowest is the width below which wrapping would not help.
const narrowest = 30

// wrapWriter breaks lines at words. Each call of Write should bring whole lines.
type wrapWriter struct {
	out   io.Writer
	width int
}

func (w wrapWriter) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i, line := range lines {
		lines[i] = wrapLine(line, w.width)
	}
	if _, err := io.WriteString(w.out, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wrapLine breaks a line between words. What follows is indented to the second column of the line, if it has one.
func wrapLine(line string, width int) string {
	if text.Width(line) <= width {
		return line
	}
	column := secondColumn(line)
	if column > width/2 {
		column = 0
	}
	rows := text.Wrap(line[column:], width-max(column, 2))
	indent := strings.Repeat(" ", max(column, 2))
	return line[:column] + strings.Join(rows, "\n"+indent)
}

// secondColumn is where the text of a row such as "ok       git: 2.39" starts: after its first gap of two blanks.
func secondColumn(line string) int {
	words := strings.TrimLeft(line, " ")
	start := len(line) - len(words)
	if gap := strings.Index(words, "  "); gap >= 0 {
		return len(line) - len(strings.TrimLeft(words[gap:], " "))
	}
	return start
}
