package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/judge"
)

// suite chooses the checks to run at each point of a run.
type suite struct {
	*journal
	list *taskList
}

// check is one check to run.
type check struct {
	task    string // ID of the task that owns it; "" for the run's checks
	name    string
	command string // "" if the name is the command
	barred  string // why it cannot run, "" if it can
	missing string // why it fails without running, "" if it runs
	hidden  bool
}

// testsPlaceholder is replaced in a check with the test files of the current task and all done
// tasks.
const testsPlaceholder = "{tests}"

// namesTests reports whether the check runs the test files of tasks.
func (c check) namesTests() bool { return strings.Contains(c.name, testsPlaceholder) }

// whyBarred returns why a check must not run, or "" if it may.
func (s *suite) whyBarred(c check) string {
	if c.task != "" && s.cfg.Agreed != nil && !s.cfg.Agreed(c.name) {
		return "this check was added to the task list during the run, and you have not trusted it yet; ralph resume " +
			"asks you"
	}
	return c.barred
}

// hiddenChecks returns the hidden checks. With hidden tests, each check of the run is one, too.
func (s *suite) hiddenChecks() []check {
	var hidden []check
	for i, command := range slices.Concat(s.cfg.Hidden, s.state.HiddenTestChecks()) {
		hidden = append(hidden, check{name: fmt.Sprintf("hidden check %d", i+1), command: command, hidden: true})
	}
	return hidden
}

// baselineChecks returns the checks to run before any agent: the run's checks and the first task's
// own checks. If every task is already done, it returns the checks of all tasks.
func (s *suite) baselineChecks() []check {
	if s.list.tasks == nil {
		return s.runChecksFor(nil)
	}
	if len(judge.OpenTasks(s.state.History.Tasks)) == 0 {
		return s.checksToRun(true)
	}
	current := s.state.History.Task
	return append(s.runChecksFor(append(s.doneTasks(), current)), s.ownChecks([]string{current})...)
}

// checksToRun returns the run's checks and the current task's own checks. A claim must also pass
// the checks of every task that it names and of every done task. A claim that would end the run
// must pass the whole suite.
func (s *suite) checksToRun(claimed bool) []check {
	h := s.state.History
	if s.list.tasks == nil {
		return s.runChecksFor(nil)
	}
	done := s.doneTasks()
	if !claimed {
		return append(s.runChecksFor(append(done, h.Now.Task)), s.ownChecks([]string{h.Now.Task})...)
	}
	// Assuming the checks pass; a regressed task may be fixed.
	proven := append(done, judge.ClaimedTasks(s.policy, h)...)
	isProven := among(proven)
	all := append(proven, h.Now.Task)
	if slices.ContainsFunc(judge.OpenTasks(h.Tasks), func(id string) bool { return !isProven[id] }) {
		return append(s.runChecksFor(all), s.ownChecks(all)...)
	}
	return append(s.wholeSuite(all), s.ownChecks(all)...)
}

// doneTasks returns the tasks whose checks must still pass. Those that only wait for a person count as
// done.
func (s *suite) doneTasks() []string {
	var done []string
	for _, t := range s.state.History.Tasks {
		if t.Status == ralph.TaskDone || t.Status == ralph.TaskUnconfirmed {
			done = append(done, t.ID)
		}
	}
	return done
}

// ownChecks returns the tasks' own checks, each task once, in list order.
func (s *suite) ownChecks(ids []string) []check {
	var checks []check
	wanted := among(ids)
	for _, t := range s.list.tasks.List() {
		if !wanted[t.ID] {
			continue
		}
		for _, command := range t.Checks {
			one := check{task: t.ID, name: command}
			if secrets.HasMask(command) { // it would run with the secret in its place
				one.barred = "the check contains a masked secret; name the variable instead"
			}
			checks = append(checks, one)
		}
	}
	return checks
}

// among returns a set of ids, because lists may be long.
func among(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// runChecksFor returns the run's checks, with the test files of these tasks in place of {tests}.
func (s *suite) runChecksFor(ids []string) []check {
	return s.fillTests(func(tests ralph.TaskTests) ([]string, error) { return tests.Tests(ids) })
}

// wholeSuite returns the run's checks as exit code 0 requires them: with all test files except
// those of tasks that are not done.
func (s *suite) wholeSuite(done []string) []check {
	var undone []string
	isDone := among(done)
	for _, t := range s.state.History.Tasks {
		if !isDone[t.ID] {
			undone = append(undone, t.ID)
		}
	}
	return s.fillTests(func(tests ralph.TaskTests) ([]string, error) { return tests.Suite(undone) })
}

func (s *suite) fillTests(find func(ralph.TaskTests) ([]string, error)) []check {
	var checks []check
	for _, name := range s.cfg.Checks {
		if c := (check{name: name}); !c.namesTests() {
			checks = append(checks, c)
			continue
		}
		files, err := s.testFiles(find)
		switch {
		case err != nil:
			checks = append(checks, check{name: name, barred: err.Error()})
		case len(files) == 0 && s.lostTests(name): // deleted tests prove nothing
			checks = append(checks, check{name: name, missing: "the test files that this check ran before are gone"})
		case len(files) == 0:
			s.noticeSkipped(name)
		case slices.ContainsFunc(files, secrets.HasMask): // a check runs with the secret in place of its mask
			checks = append(checks, check{name: name, barred: "a test file is named like a masked secret"})
		default:
			checks = append(checks, check{
				name:    name,
				command: strings.ReplaceAll(name, testsPlaceholder, process.Words(asOperands(files))),
			})
		}
	}
	return checks
}

// noticeSkipped says once per iteration that a check has no test files.
func (s *suite) noticeSkipped(name string) {
	text := name + " was skipped: no done or current task has a test file"
	if s.firstTime(fmt.Sprintf("%d: %s", s.state.History.Now.Number, text)) {
		s.notice("check_skipped", text)
	}
}

// lostTests reports whether a check that had test files before now finds none, for any task.
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

// asOperands keeps file names from being read as options: an agent may have chosen them.
func asOperands(files []string) []string {
	named := slices.Clone(files)
	for i, file := range named {
		if strings.HasPrefix(file, "-") {
			named[i] = "./" + file
		}
	}
	return named
}
