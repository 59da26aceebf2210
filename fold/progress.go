package fold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// progressShown is how many iterations a prompt looks back. Older results are in the files, and a
// prompt that grew with the run would bury the recent ones.
const progressShown = 8

// ProgressEntry returns the entry of an iteration in .ralph/progress.md.
func ProgressEntry(r ralph.IterationResult) string {
	var b strings.Builder
	how := "FAIL"
	switch {
	case len(r.CheckResults) == 0:
		how = "no check ran"
	case r.AllChecksPassed:
		how = "PASS"
	case slices.ContainsFunc(r.CheckResults, func(c ralph.CheckResult) bool { return c.Broken }) &&
		!slices.ContainsFunc(r.CheckResults, ralph.CheckResult.Failed):
		how = "CANNOT RUN"
	}
	fmt.Fprintf(&b, "## Iteration %d: %s\n", r.Iteration, how)
	if r.Task != "" {
		fmt.Fprintf(&b, "- Task: %s%s\n", r.Task, taskNote(r))
	}
	fmt.Fprintf(&b, "- Steps: %s\n- Cost: %s\n- Duration: %s\n",
		orUnknown(r.StepsTaken, "%d"), orUnknown(r.Cost, "$%.4f"), r.Duration.Short())
	if r.Error != nil {
		fmt.Fprintf(&b, "- Error: %s\n", cutLine(text.FirstLine(*r.Error)))
	}
	if len(r.Refusals) > 0 {
		fmt.Fprintf(&b, "- Refused: %s\n", strings.Join(r.Refusals, ", "))
	}
	checks := agentVisible(r.CheckResults) // agents read this
	if len(checks) > 0 {
		b.WriteString("- Checks:\n")
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "  - %s: %s%s\n", c.FullName(), outcomeWord(c), firstFailing(c))
	}
	return b.String()
}

func outcomeWord(c ralph.CheckResult) string {
	switch {
	case c.Passed:
		return "PASS"
	case c.Broken:
		return "CANNOT RUN"
	}
	return "FAIL"
}

func taskNote(r ralph.IterationResult) string {
	if slices.Contains(r.TasksDone, r.Task) {
		return " (proven)"
	}
	return ""
}

func orUnknown[T any](value *T, format string) string {
	if value == nil {
		return "unknown"
	}
	return fmt.Sprintf(format, *value)
}

// firstFailing returns the first line of a failed check's output that mentions a failure, or else the
// first line.
func firstFailing(c ralph.CheckResult) string {
	if c.Passed || c.Hidden {
		return ""
	}
	lines := slices.DeleteFunc(strings.Split(c.Output, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == ""
	})
	for _, line := range lines {
		low := strings.ToLower(line)
		for _, word := range []string{"fail", "error", "panic", "expected", "not ok", "assert", "exception", "timeout"} {
			if strings.Contains(low, word) {
				return ": " + cutLine(line)
			}
		}
	}
	if len(lines) == 0 {
		return ": " + c.HowFailed()
	}
	return ": " + cutLine(lines[0])
}

func cutLine(line string) string {
	const longest = 200
	if runes := []rune(strings.TrimSpace(line)); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return strings.TrimSpace(line)
}

// ProgressTail returns the newest progress entries of the run.
func (s *State) ProgressTail() string {
	var entries []string
	for _, r := range text.LastOf(s.Iterations, progressShown) {
		entries = append(entries, ProgressEntry(r))
	}
	return strings.Join(entries, "\n")
}
