package interview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
)

const (
	projectLimit  = 40_000 // characters
	existingLimit = 400    // tasks that are listed; more are only counted
)

// firstMessage says what is to be planned, and for what.
func firstMessage(o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Brief\n\n%s\n", strings.TrimSpace(o.Brief))
	if project := strings.TrimSpace(o.Project); project != "" {
		fmt.Fprintf(&b, "\n# What is known of the project\n\n%s\n", tools.Clip(project, projectLimit))
		if n := utf8.RuneCountInString(project); n > projectLimit {
			fmt.Fprintf(&b, "[%d characters left out]\n", n-projectLimit)
		}
	}
	if len(o.Existing) > 0 {
		b.WriteString("\n# Tasks that are in the list already\n\n")
		b.WriteString("They stay as they are. Write only new tasks, with ids that are not taken; they are put behind these and may depend on them.\n\n")
		for i, t := range o.Existing {
			if i == existingLimit {
				fmt.Fprintf(&b, "- and %d more\n", len(o.Existing)-existingLimit)
				break
			}
			fmt.Fprintf(&b, "- %s (%s): %s%s\n", t.ID, t.Status, plainLine(t.Title), marks(t))
		}
	}
	return b.String()
}

func marks(t ralph.Task) string {
	if len(t.DependsOn) == 0 {
		return ""
	}
	return " [after " + strings.Join(t.DependsOn, ", ") + "]"
}
