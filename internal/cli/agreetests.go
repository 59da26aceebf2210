package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/term"
)

// shownTestLines is how much of each test file is shown before the user agrees to it.
const shownTestLines = 60

// agreeToTests returns a function that shows tests which an agent wrote before any work, and asks whether to use
// them. Without a terminal it returns nil, and nobody is asked.
func (s *session) agreeToTests(v view) func(context.Context, ralph.TestsWritten) bool {
	if !s.canAsk() {
		return nil
	}
	return func(ctx context.Context, tests ralph.TestsWritten) bool {
		for _, file := range tests.Files {
			v.Say("\n" + file.Name + ":")
			lines := strings.Split(strings.TrimRight(file.Text, "\n"), "\n")
			for _, line := range lines[:min(len(lines), shownTestLines)] {
				v.Say("    | " + term.Printable(strings.TrimRight(line, "\r")))
			}
			if more := len(lines) - shownTestLines; more > 0 {
				v.Say(fmt.Sprintf("    | … %d more lines", more))
			}
		}
		v.Pause()
		fmt.Fprint(s.streams.Err, "\nUse these tests? [Y/n] ")
		return s.readYes(ctx)
	}
}

// readYes reads an answer; an empty line means yes. A run that is killed meanwhile does not wait for one.
func (s *session) readYes(ctx context.Context) bool {
	line, err := s.readLine(ctx)
	return err == nil && (line == "" || isYes(line))
}
