package prompt

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Author is what the author of acceptance tests is told about the work.
type Author struct {
	Goal     string
	GoalFile string      // has all of Goal, in case it is too long; "" for none
	Task     *ralph.Task // the only open task of a list; nil for the goal
	Checks   []string
	Problem  string // why the tests of the last attempt cannot be used; "" for the first attempt
}

const authorRules = `# Your job: the acceptance tests, nothing else

Another agent will do the work below after you. You write the tests that show whether it is done.

- Write tests that fail now and pass when the work is done. A test that passes now shows nothing.
- Test what the text below asks for, as a user of the code would see it, and no particular implementation.
- Add new test files, named and placed so that the commands below run them. Ralph ignores changes to existing files,
  and every new file that is not a test.
- Do not change product code, and do not do the work yourself.
- Run the commands, and make sure that they fail because the work is missing, not because of a mistake in a test.`

// Text returns the prompt.
func (a Author) Text() string {
	parts := []string{authorRules}
	if a.Problem != "" {
		parts = append(parts, "# Your last attempt\n\nYour tests were not used. They are still in this folder. The reason:",
			quote(a.Problem))
	}
	if a.Task != nil {
		parts = append(parts, "# The work\n\n"+authorTask(*a.Task))
	} else {
		goal, _ := shorten(strings.TrimSpace(a.Goal), a.GoalFile)
		parts = append(parts, "# The work\n\n"+goal)
	}
	commands := text.Mapped(a.Checks, func(check string) string { return "- " + code(check) })
	return strings.Join(append(parts, "# The commands that run the tests\n\n"+strings.Join(commands, "\n")), "\n\n") + "\n"
}

func authorTask(t ralph.Task) string {
	lines := strings.TrimSpace(t.Title + "\n\n" + t.Description)
	if len(t.Acceptance) > 0 {
		lines += "\n\nIt is done when:\n- " + strings.Join(t.Acceptance, "\n- ")
	}
	words, _ := text.Cut(lines, descriptionCap)
	return quote(words)
}
