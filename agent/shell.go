package agent

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// shellQuote makes one shell word of any text.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var (
	shellRedirection = text.LazyRegexp(`\s*\d*(?:>>?|<)(?:&\d|\s*[^\s;&|<>]+)`)
	shellOperator    = text.LazyRegexp(`&&|\|\||[;&|]`)
)

// shellCommands are the commands that a command line is made of, without what sends their input and output elsewhere: CLIs judge each of those by
// itself. A line with quotes and the like is not taken apart: it is one command as it stands, or nil if it may be more than one.
func shellCommands(line string) (commands []string) {
	bare := shellRedirection().ReplaceAllString(line, "")
	switch {
	case strings.ContainsAny(line, "`$(){}\n\r"):
		return nil
	case !strings.ContainsAny(line, `'"\#`):
		for _, part := range shellOperator().Split(bare, -1) {
			if part = strings.TrimSpace(part); part != "" {
				commands = append(commands, part)
			}
		}
		return commands
	case shellOperator().MatchString(bare): // it may be quoted
		return nil
	}
	return []string{strings.TrimSpace(line)}
}

// simpleCommands are command lines as they are, and the commands that they are made of, each once. Of a line that cannot be taken apart the agent may
// be denied the parts; then the denial is shown.
func simpleCommands(lines []string) (all []string) {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		for _, c := range append([]string{line}, shellCommands(line)...) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}
