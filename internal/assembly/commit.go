package assembly

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/text"
)

// commitMessage returns a function that fills the template of commit messages. The first line is
// the subject. The trailers are always added.
func commitMessage(template string) func(ralph.CommitFacts) string {
	return func(f ralph.CommitFacts) string {
		placeholders := strings.NewReplacer(
			`\n`, "\n",
			"{subject}", commitSubject(f),
			"{task}", f.Task,
			"{title}", f.Title,
			"{iteration}", fmt.Sprint(f.Iteration),
			"{run}", f.Run,
			"{goal}", firstLineOf(f.Goal),
			"{checks}", checkLines(f.Checks),
		)
		filled := placeholders.Replace(template)
		subject, body, _ := strings.Cut(strings.TrimSpace(filled), "\n")
		return gitrepo.Message(subject, strings.TrimSpace(body),
			gitrepo.Trailer{Key: gitrepo.TrailerRun, Value: f.Run},
			gitrepo.Trailer{Key: gitrepo.TrailerIteration, Value: fmt.Sprint(f.Iteration)},
			gitrepo.Trailer{Key: gitrepo.TrailerTask, Value: strings.Join(tasksOf(f), ", ")})
	}
}

// commitSubject names the tasks that the commit proves, the current task, or the goal.
func commitSubject(f ralph.CommitFacts) string {
	switch {
	case len(f.Done) == 1 && f.Done[0] == f.Task:
		return f.Task + ": " + f.Title
	case len(f.Done) == 0 && f.Task != "":
		return f.Task + ": " + f.Title + " (in progress)"
	case len(f.Done) > 0:
		return strings.Join(f.Done, ", ") + ": done"
	case f.Complete:
		return firstLineOf(f.Goal)
	}
	return fmt.Sprintf("Iteration %d: %s", f.Iteration, firstLineOf(f.Goal))
}

func tasksOf(f ralph.CommitFacts) []string {
	if len(f.Done) == 0 && f.Task != "" {
		return []string{f.Task}
	}
	return f.Done
}

func checkLines(checks []ralph.CheckResult) string {
	return strings.Join(text.Mapped(checks, func(c ralph.CheckResult) string {
		switch {
		case c.Passed:
			return c.Name + ": PASS"
		case c.Broken:
			return c.Name + ": CANNOT RUN"
		}
		return c.Name + ": FAIL"
	}), "\n")
}

func firstLineOf(goal string) string {
	return strings.TrimLeft(text.FirstLine(goal), "# ")
}
