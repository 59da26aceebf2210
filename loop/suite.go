package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/judge"
)

// suite chooses the checks to run at each moment of a run.
type suite struct {
	*journal
	list *taskList
}

// check is one check to run.
type check struct {
	task    string // whose own check it is; "" for the run's
	name    string
	command string // "" if it is the name
	barred  string // why it cannot run, "" if it can
	missing string // why it fails without being run, "" if it is
	hidden  bool
}

// testsPlace stands in a check for the test files of the current and all done tasks.
const testsPlace = "{tests}"

// whyBarred says why a check must not be run, "" if it may.
func (s *suite) whyBarred(c check) string {
	if c.task != "" && s.cfg.Agreed != nil && !s.cfg.Agreed(c.name) {
		return "this check came into the task list while the run was under way, and nobody has agreed to it yet; ralph " +
			"resume asks"
	}
	return c.barred
}

func (s *suite) hiddenChecks() []check {
	var hidden []check
	for i, command := range s.cfg.Hidden {
		hidden = append(hidden, check{name: fmt.Sprintf("hidden check %d", i+1), command: command, hidden: true})
	}
	return hidden
}

// baselineChecks are what is run before any agent: the run's checks and the own checks of the first task. If every task is done already, those
// of all of them.
func (s *suite) baselineChecks() []check {
	if s.list.tasks == nil {
		return s.runsChecks(nil)
	}
	if len(judge.OpenTasks(s.state.History.Tasks)) == 0 {
		return s.checksToRun(true)
	}
	current := s.state.History.Task
	return append(s.runsChecks(append(s.doneTasks(), current)), s.ownChecks([]string{current})...)
}

// checksToRun are the run's checks and the current task's own. A claim is also measured by the own checks of what it names and of every done
// task, and a claim that would end the run by the whole suite.
func (s *suite) checksToRun(claimed bool) []check {
	h := s.state.History
	if s.list.tasks == nil {
		return s.runsChecks(nil)
	}
	done := s.doneTasks()
	if !claimed {
		return append(s.runsChecks(append(done, h.Now.Task)), s.ownChecks([]string{h.Now.Task})...)
	}
	proven := append(done, judge.ClaimedTasks(s.policy, h)...) // if the checks agree; what regressed may be mended
	left := slices.DeleteFunc(judge.OpenTasks(h.Tasks), func(id string) bool { return slices.Contains(proven, id) })
	all := append(proven, h.Now.Task)
	if len(left) > 0 {
		return append(s.runsChecks(all), s.ownChecks(all)...)
	}
	return append(s.wholeSuite(all), s.ownChecks(all)...)
}

func (s *suite) doneTasks() []string {
	var done []string
	for _, t := range s.state.History.Tasks {
		if t.Status == ralph.TaskDone {
			done = append(done, t.ID)
		}
	}
	return done
}

// ownChecks are the checks that these tasks bring, each task once, in the list's order.
func (s *suite) ownChecks(ids []string) []check {
	var checks []check
	for _, t := range s.list.tasks.List() {
		if !slices.Contains(ids, t.ID) {
			continue
		}
		for _, command := range t.Checks {
			checks = append(checks, check{task: t.ID, name: command})
		}
	}
	return checks
}

// runsChecks are the run's own checks, with the test files of these tasks where {tests} stands.
func (s *suite) runsChecks(ids []string) []check {
	return s.fillTests(func(tests ralph.TaskTests) ([]string, error) { return tests.Tests(ids) })
}

// wholeSuite are the run's checks as exit 0 wants them: with every test file but those of tasks that are left undone.
func (s *suite) wholeSuite(done []string) []check {
	var undone []string
	for _, t := range s.state.History.Tasks {
		if !slices.Contains(done, t.ID) {
			undone = append(undone, t.ID)
		}
	}
	return s.fillTests(func(tests ralph.TaskTests) ([]string, error) { return tests.Suite(undone) })
}

func (s *suite) fillTests(find func(ralph.TaskTests) ([]string, error)) []check {
	var checks []check
	for _, name := range s.cfg.Checks {
		if !strings.Contains(name, testsPlace) {
			checks = append(checks, check{name: name})
			continue
		}
		files, err := s.testFiles(find)
		switch {
		case err != nil:
			checks = append(checks, check{name: name, barred: err.Error()})
		case len(files) == 0 && s.lostTests(name): // deleted tests are no proof
			checks = append(checks, check{name: name, missing: "the test files that this check ran before are gone"})
		case len(files) == 0:
			s.notice("check_skipped", name+" was skipped: no test file belongs to a task that is done or under way")
		default:
			checks = append(checks, check{
				name:    name,
				command: strings.ReplaceAll(name, testsPlace, process.Words(operands(files))),
			})
		}
	}
	return checks
}

// lostTests reports whether a check that had test files before finds none at all any more, of whatever task.
func (s *suite) lostTests(name string) bool {
	_, ran := s.state.History.Checks[judge.CheckKey(ralph.CheckResult{Name: name})]
	any, err := s.testFiles(func(tests ralph.TaskTests) ([]string, error) { return tests.Suite(nil) })
	return ran && err == nil && len(any) == 0
}

func (s *suite) testFiles(find func(ralph.TaskTests) ([]string, error)) ([]string, error) {
	tests, ok := s.list.tasks.(ralph.TaskTests)
	if !ok {
		return nil, nil
	}
	return find(tests)
}

// operands keeps a file from being read as an option: an agent may have named it.
func operands(files []string) []string {
	named := slices.Clone(files)
	for i, file := range named {
		if strings.HasPrefix(file, "-") {
			named[i] = "./" + file
		}
	}
	return named
}
