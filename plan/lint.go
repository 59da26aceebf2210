package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Problems are errors of a list, sorted by line. As an error they say why the list cannot be used.
type Problems []Problem

func (p Problems) Error() string {
	const enough = 10
	all := text.Mapped(p[:min(enough, len(p))], Problem.String)
	if more := len(p) - enough; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "\n")
}

// examine reads a list and returns all its problems.
func examine(f format, s snapshot) ([]item, []Problem) {
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(s.trouble)) {
		problems = append(problems, Problem{File: name, Text: "the file " + s.trouble[name]})
	}
	data := s.list()
	switch {
	case s.trouble[s.path] != "":
		return nil, problems
	case len(bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))) == 0:
		return nil, append(problems, Problem{File: s.path, Line: 1, Text: "the file is empty"})
	case f == nil:
		return nil, append(problems, Problem{File: s.path, Line: 1, Text: unknownFormat(data)})
	}
	all, found := f.parse(s.source)
	problems = append(problems, found...)
	if len(all) == 0 && len(Errors(problems)) == 0 {
		problems = append(problems, Problem{File: s.path, Line: 1, Text: "the list has no tasks"})
	}
	problems = append(problems, crossCheck(s.path, all)...)
	sortProblems(problems)
	return all, problems
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(
		problems,
		func(a, b Problem) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) },
	)
}

func unknownFormat(data []byte) string {
	if top, err := scanJSON(data); err == nil && top.kind == '{' {
		return `not a task list: the object has neither "tasks" nor "userStories"`
	}
	return "not a task list in any known format"
}

// Errors returns the problems that prevent using a list.
func Errors(problems []Problem) Problems {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Warning })
}

// crossCheck finds problems between tasks: duplicate ids, unknown dependencies, cycles.
func crossCheck(file string, tasks []item) []Problem {
	var problems []Problem
	first := map[string]int{}
	for i, t := range tasks {
		if t.ID == "" {
			continue
		}
		if before, twice := first[t.ID]; twice {
			problems = append(problems, t.problem(file, "the id %s is used twice; first on line %d", t.ID, tasks[before].line))
			continue
		}
		first[t.ID] = i
	}
	ids := idsOf(tasksOf(tasks))
	for _, t := range tasks {
		for _, on := range t.DependsOn {
			if _, known := first[on]; known {
				continue
			}
			hint := ""
			if len(problems) < 20 { // each hint scans the whole list
				// A task never depends on itself, so do not suggest it.
				hint = didYouMean(on, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == t.ID }))
			}
			problems = append(
				problems,
				t.problem(file, "task %s depends on %q, which is not in the list%s", t.ID, shorten(on), hint),
			)
		}
	}
	return append(problems, circles(file, tasks, first)...)
}

// proofRules are what the proof of a task may say.
var proofRules = []string{string(ralph.ProofShown), string(ralph.ProofUnbroken)}

func knownProof(word string) bool { return slices.Contains(proofRules, word) }

func badProof(word string) string {
	return fmt.Sprintf("unknown proof %q; choose one of: %s", shorten(word), strings.Join(proofRules, ", "))
}

func (t item) problem(file, format string, args ...any) Problem {
	return Problem{File: file, Line: t.line, Task: t.ID, Text: fmt.Sprintf(format, args...)}
}

// circles finds tasks that depend on each other. Each cycle is reported once, from its first task
// in the list.
func circles(file string, tasks []item, index map[string]int) []Problem {
	const (
		unseen = iota
		open
		closed
	)
	marks := make([]int, len(tasks))
	var way []int
	var problems []Problem
	var visit func(i int)
	visit = func(i int) {
		marks[i] = open
		way = append(way, i)
		for _, on := range tasks[i].DependsOn {
			next, known := index[on]
			switch {
			case !known || marks[next] == closed:
			case marks[next] == unseen:
				visit(next)
			default:
				circle := way[slices.Index(way, next):]
				problems = append(
					problems,
					tasks[circle[0]].problem(file, "tasks depend on each other: %s", circleText(tasks, circle)),
				)
			}
		}
		way = way[:len(way)-1]
		marks[i] = closed
	}
	for i, t := range tasks {
		if marks[i] == unseen && index[t.ID] == i {
			visit(i)
		}
	}
	return problems
}

func circleText(tasks []item, circle []int) string {
	const enough = 10
	names := text.Mapped(circle[:min(enough, len(circle))], func(at int) string { return tasks[at].ID })
	if len(circle) > enough {
		names = append(names, fmt.Sprintf("… (%d tasks)", len(circle)))
	}
	return strings.Join(append(names, tasks[circle[0]].ID), " -> ")
}

// LintOptions describe the run that a list is meant for.
type LintOptions struct {
	RunChecks bool // the run has checks
	TaskTests bool // checks.task_tests is set: a task's tests are found by its id
	Plan      bool // a new plan: the run's checks are enough for its tasks
	// Unbroken means that no task needs anything that shows its work: the run says proof: unbroken,
	// has an evaluator, or does not ask.
	Unbroken bool
}

// Lint returns all errors and warnings, sorted by line.
func (l *List) Lint(around LintOptions) []Problem {
	problems := slices.Clone(l.problems)
	if len(Errors(problems)) == 0 {
		problems = append(problems, l.advise(around)...)
	}
	sortProblems(problems)
	return problems
}

// advise warns about what is valid but likely to cause trouble.
func (l *List) advise(around LintOptions) []Problem {
	var problems []Problem
	warn := func(t item, format string, args ...any) {
		p := t.problem(l.where.path, format, args...)
		p.Warning = true
		problems = append(problems, p)
	}
	byID := map[string]ralph.Task{}
	testable := around.RunChecks || around.TaskTests
	for _, t := range l.items {
		byID[t.ID] = t.Task
		testable = testable || len(t.Checks) > 0
	}
	if !testable {
		problems = append(problems, Problem{File: l.where.path, Line: 1, Warning: true,
			Text: "nothing can prove this list: add a check to the run or to a task"})
	}
	for _, t := range l.items {
		if t.Status != ralph.TaskDone && !t.Human {
			for _, doubt := range around.doubts(t.Task) {
				warn(t, "%s", doubt)
			}
		}
		for _, on := range t.DependsOn {
			switch other := byID[on]; {
			case t.Blocks() && other.Human:
				warn(t, "task %s depends on %s, which is for a person: the run does not wait for it", t.ID, on)
			case t.Blocks() && other.Optional:
				warn(t, "task %s depends on %s, which is optional", t.ID, on)
			}
		}
	}
	return problems
}

// doubts returns what is missing in an open task.
func (around LintOptions) doubts(t ralph.Task) []string {
	var all []string
	doubt := func(text string) { all = append(all, "task "+t.ID+" "+text) }
	criteria, checked := len(t.Acceptance) > 0, len(t.Checks) > 0 || around.TaskTests
	if !checked && around.RunChecks && !around.Unbroken && t.Proof == "" && keepsBehavior(t) {
		doubt("may have nothing that shows it: add a check of its own, or proof: unbroken")
		checked = true
	}
	checked = checked || around.RunChecks && (around.Plan || t.Proof == ralph.ProofUnbroken)
	switch {
	case !criteria && !checked:
		doubt("has neither acceptance criteria nor a check of its own")
	case !criteria:
		doubt("has no acceptance criteria")
	case !checked:
		doubt("has no check of its own")
	}
	return all
}
