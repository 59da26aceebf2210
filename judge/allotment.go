package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
)

// allotment gives each claim of one iteration a piece of evidence of its own: work that shows one task
// does not show another.
type allotment struct {
	checks []string // checks whose repair showed a task
	tests  []string // new tests that showed one; "" if the name is not known
}

// show finds what shows a claim, and uses it up.
func (a *allotment) show(h History, id string) (ralph.Showing, bool) {
	if c, ok := a.repairedCheck(h, id); ok {
		a.checks = append(slices.Clip(a.checks), c.Name)
		by := ralph.ShownByRunCheck
		if c.Task != "" {
			by = ralph.ShownByTaskCheck
		}
		return ralph.Showing{Task: id, By: by, Check: c.Name}, true
	}
	if run, ok := a.newTests(h, id); ok {
		return ralph.Showing{Task: id, By: ralph.ShownByTests, Check: run.Name, Tests: run.Failing}, true
	}
	if e, asked := h.Now.evaluationOf(id); asked && e.Accepted && e.End == ralph.EndOK {
		return ralph.Showing{Task: id, By: ralph.ShownByEvaluator, Who: e.Agent}, true
	}
	return ralph.Showing{}, false
}

// repairedCheck finds a check that failed before and passes now: one of the task itself first.
func (a *allotment) repairedCheck(h History, id string) (ralph.CheckResult, bool) {
	for _, own := range []bool{true, false} {
		for _, c := range h.Now.Checks {
			if own != (c.Task != "") || c.Task != "" && c.Task != id || !c.Passed || h.ranNoTests(c) {
				continue
			}
			spent := slices.Contains(h.SpentChecks, c.Name) || slices.Contains(a.checks, c.Name)
			failedLater := own && h.FailedAtBase(c.Name, c.Task) // so no other task has repaired it
			if failsAtRunBase(h, c) && failsAtOrigin(h, c) && (failedLater || !spent) {
				return c, true
			}
		}
	}
	return ralph.CheckResult{}, false
}

// newTests finds a check that fails if the new tests run with the product code of the base, and uses up one
// of these tests. Checks may run the same tests under other names, and a test without a name may be any of them. So
// there are as many tests as one check runs, or as many as all checks name, if they are in as many files.
func (a *allotment) newTests(h History, id string) (ralph.NewTestsRun, bool) {
	if h.Now.Work == nil {
		return ralph.NewTestsRun{}, false
	}
	var all, free []string
	var named, largest ralph.NewTestsRun
	most := 0
	for _, run := range h.runsThatFailWithoutWork(id) {
		others := all // of other checks
		for _, name := range run.Failing {
			if isNamed(others, name) {
				continue
			}
			all = append(all, name)
			if isNamed(a.tests, name) {
				continue
			}
			if free = append(free, name); len(free) == 1 {
				named = run
			}
		}
		if n := max(run.Count, 1); n > most {
			most, largest = n, run
		}
	}
	nameless := len(slices.DeleteFunc(slices.Clone(a.tests), func(name string) bool { return name != "" }))
	switch {
	case len(free) > nameless && len(a.tests) < max(most, min(len(all), len(h.Now.Work.Tests))):
		a.tests = append(slices.Clip(a.tests), free[0])
		return named, true
	case len(a.tests) < most:
		a.tests = append(slices.Clip(a.tests), "")
		return largest, true
	}
	return ralph.NewTestsRun{}, false
}

// isNamed reports whether a test is among others that another check may have named: calc.TestDouble is TestDouble.
func isNamed(others []string, name string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		long, short := name, other
		if len(long) < len(short) {
			long, short = short, long
		}
		rest, ok := strings.CutSuffix(long, short)
		last, _ := utf8.DecodeLastRuneInString(rest)
		return ok && short != "" && (rest == "" || !unicode.IsLetter(last) && !unicode.IsDigit(last) && last != '_')
	})
}

// runsThatFailWithoutWork returns the runs with new tests that fail without the work, of checks of the run and
// of a task that pass now.
func (h History) runsThatFailWithoutWork(id string) []ralph.NewTestsRun {
	return slices.DeleteFunc(slices.Clone(h.Now.Work.NewTests), func(run ralph.NewTestsRun) bool {
		now, ok := findCheck(h.Now.Checks, run.Name, run.Task)
		return !run.ShowWork() || run.Task != "" && run.Task != id || !ok || !now.Passed || h.ranNoTests(now)
	})
}

func findCheck(checks []ralph.CheckResult, name, task string) (ralph.CheckResult, bool) {
	i := slices.IndexFunc(checks, func(c ralph.CheckResult) bool { return c.Name == name && c.Task == task })
	if i < 0 {
		return ralph.CheckResult{}, false
	}
	return checks[i], true
}

// atRunBase returns the result of a check that first ran later on the files of the run's base.
func atRunBase(h History, c ralph.CheckResult) (ralph.CheckResult, bool) {
	if h.Now.Work == nil {
		return ralph.CheckResult{}, false
	}
	return findCheck(h.Now.Work.AtBase, c.Name, c.Task)
}

// failsAtRunBase reports whether a check of this iteration fails on the files of the run's base. The own check of a
// task may first have run later: then the agent may have broken it before. Where no other tree can be checked, it
// counts nevertheless.
func failsAtRunBase(h History, c ralph.CheckResult) bool {
	if base, ran := atRunBase(h, c); ran {
		return base.FailedInTime()
	}
	before, ran := findCheck(h.Baseline, c.Name, c.Task)
	return ran && before.FailedInTime() && (c.Task == "" || before.Tree == h.Base.ID() || ranInPlace(c))
}

// failedBefore reports whether a check failed when it first ran, and did not pass at the run's base.
func failedBefore(h History, c ralph.CheckResult) bool {
	before, ran := findCheck(h.Baseline, c.Name, c.Task)
	if h.Rules == 0 { // a log of an earlier version
		return ran && before.Failed()
	}
	base, ranAtBase := atRunBase(h, c)
	return ran && before.FailedInTime() && !(ranAtBase && base.Passed) && failsAtOrigin(h, c)
}

func ranInPlace(c ralph.CheckResult) bool {
	return c.Isolation == "" || c.Isolation == ralph.IsolationInPlace
}
