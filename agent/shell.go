package agent

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// shellQuote quotes text as one shell word.
func shellQuote(s string) string { return shell.Quote(s) }

// shellCommands returns the commands of a command line, without redirections, because CLIs judge
// each by itself. Only a line of plain words is split: in any other a CLI may see different
// commands than a shell does. A line with quotes and the like is one command as it is, or nil if it
// may be more than one.
func shellCommands(line string) (commands []string) {
	list, err := shell.Parse(line)
	if err != nil || strings.ContainsAny(line, "`$(){}\n\r") {
		return nil
	}
	rest := line // after the last word
	for _, pipe := range list {
		for _, c := range pipe {
			if len(c.Words) > 0 {
				rest = line[c.Words[len(c.Words)-1].End:]
			}
			text := commandText(line, slices.Concat(c.Assigns, c.Words))
			if c.Keyword != "" || c.Negated || strings.ContainsAny(text, ";&|") || slices.ContainsFunc(c.Redirects, unusual) {
				return nil
			}
			if text != "" {
				commands = append(commands, text)
			}
		}
	}
	switch {
	case !strings.ContainsAny(line, `'"\#`):
		return commands
	case len(commands) > 1 || strings.ContainsAny(strings.NewReplacer(">&", "", "<&", "").Replace(rest), ";&|"):
		return nil
	}
	return []string{strings.TrimSpace(line)}
}

// unusual reports whether a redirection is one that CLIs may not know.
func unusual(r shell.Redirect) bool {
	return !slices.Contains([]string{"<", ">", ">>", "<&", ">&"}, r.Operator)
}

// commandText returns the part of a line that holds the words of a command, without the
// redirections between them.
func commandText(line string, words []shell.Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			gap := line[words[i-1].End:w.Start]
			if strings.ContainsAny(gap, "<>") {
				gap = " "
			}
			b.WriteString(gap)
		}
		b.WriteString(line[w.Start:w.End])
	}
	return b.String()
}

// simpleCommands returns command lines as they are, and the commands that they consist of, each
// once. If a line cannot be split, the agent may be denied its parts; then the denial is shown.
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
