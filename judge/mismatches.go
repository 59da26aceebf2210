package judge

import (
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// Mismatches lists where a status block contradicts what the harness saw. files is how many files the
// iteration changed, nil if that is unknown.
func Mismatches(p ralph.Policy, h History, s promise.Status, files *ralph.FileCount) []string {
	var found []string
	for _, mismatch := range []string{
		testsMismatch(s, h.Now.Checks), filesMismatch(s, h, files), tasksMismatch(p, h, s),
	} {
		if mismatch != "" {
			found = append(found, mismatch)
		}
	}
	return found
}

func testsMismatch(s promise.Status, checks []ralph.CheckResult) string {
	passed := AllPassed(checks)
	switch {
	case s.Tests == "PASSING" && slices.ContainsFunc(checks, ralph.CheckResult.Failed):
		return "TESTS_STATUS says PASSING, but a check failed"
	case len(checks) > 0 && s.Tests == "FAILING" && passed:
		return "TESTS_STATUS says FAILING, but every check passed"
	}
	return ""
}

// filesMismatch compares the number of files or, if that is unknown, whether any changed.
func filesMismatch(s promise.Status, h History, files *ralph.FileCount) string {
	changed := ""
	switch known := h.Now.Tree.Known && h.Tree.Known; {
	case files != nil && files.Agrees(s.FilesModified):
	case files != nil:
		changed = files.String()
	case known && s.FilesModified > 0 && h.Now.Tree.Same(h.Tree):
		changed = "no file changed"
	case known && s.FilesModified == 0 && !h.Now.Tree.Same(h.Tree):
		changed = "files changed"
	}
	if changed == "" {
		return ""
	}
	return fmt.Sprintf("FILES_MODIFIED says %d, but %s", s.FilesModified, changed)
}

// tasksMismatch compares the number of tasks with those that the agent claimed in this iteration.
// Without a list, the goal counts as one task.
func tasksMismatch(p ralph.Policy, h History, s promise.Status) string {
	said := fmt.Sprintf("TASKS_COMPLETED_THIS_LOOP says %d, but ", s.TasksCompleted)
	if len(h.Tasks) == 0 {
		if s.TasksCompleted > max(1, len(h.Now.Agent.Said.TasksDone)) {
			return said + "this run has one goal and no task list"
		}
		return ""
	}
	claimed := ClaimedTasks(p, h)
	slices.Sort(claimed)
	switch n := len(slices.Compact(claimed)); n {
	case s.TasksCompleted:
		return ""
	case 0:
		return said + "no task was claimed, by tag or in the list"
	case 1:
		return said + "1 task was claimed"
	default:
		return said + text.Count(n, "task") + " were claimed"
	}
}
