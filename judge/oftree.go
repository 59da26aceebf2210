package judge

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// describeOutside says which changes outside of the tree decide what checks do.
func describeOutside(lines []string) string {
	return "checks depend on what a commit of the tree would not have: " + text.List(lines) +
		"; undo that; installed dependencies may change only with their lock file; if you changed them yourself, " +
		"start a new run"
}

// askDependencies judges installed dependencies that changed with their lock file and that no command
// installs again: the tree alone does not say what checks ran with.
func askDependencies(p ralph.Policy, folders []string) ralph.Gate {
	detail := "checks ran with dependencies that the agent installed, and the tree alone does not prove what is in " +
		"them: " + text.List(folders) + "; with checks.setup Ralph installs them itself"
	switch p.TestChange {
	case ralph.TestsRefuse, ralph.TestsAsk:
		return shutGate(ralph.RefusedDependencies, "%s", detail)
	case ralph.TestsEvaluate:
		return noteGate(detail)
	}
	return ralph.Gate{State: ralph.GateWarned, Detail: detail}
}

// DescribeNotInTree says that work is in ignored files only.
func DescribeNotInTree(files []string) string {
	advice := "add them with git add -f, or remove them from .gitignore"
	if slices.ContainsFunc(files, func(name string) bool { return strings.HasSuffix(name, "/") }) {
		advice += "; git keeps no empty folder, so put a file into it"
	}
	return "the work is not in the tree: a commit would not have these ignored files and empty folders: " +
		text.List(files) + "; " + advice
}

// whyNotInTree says why checks fail that pass with ignored files. It returns "" if there are none.
func whyNotInTree(checks []ralph.CheckResult) string {
	i := slices.IndexFunc(checks, func(c ralph.CheckResult) bool { return !c.Passed && len(c.NotInTree) > 0 && !c.Hidden })
	if i < 0 {
		return ""
	}
	return ": " + DescribeNotInTree(checks[i].NotInTree)
}
