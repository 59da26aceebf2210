package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// maxTestAttempts is how often an author may try to write tests that can be used.
const maxTestAttempts = 2

// testsFirst lets an agent write acceptance tests before any work is done.
type testsFirst struct {
	*journal
	tree   *workspace
	list   *taskList
	goals  *goal
	suite  *suite
	author ralph.TestAuthor                               // nil without one
	agree  func(context.Context, ralph.TestsWritten) bool // asks the user; nil asks nobody
	name   string
	end    *ralph.Verdict // why the run ends before the first iteration; nil if it goes on
}

// readopt writes recorded tests again that a killed process may not have written.
func (t *testsFirst) readopt(ctx context.Context) {
	if t.author != nil && t.state.Tests != nil {
		t.adopt(ctx, *t.state.Tests)
	}
}

// write gets tests from the author. It reports whether the run has new ones.
func (t *testsFirst) write(ctx context.Context) bool {
	if t.author == nil || t.state.Tests != nil || t.mustStop(ctx) {
		return false
	}
	t.notice("tests_first", t.name+" writes acceptance tests before any work")
	problem := ""
	for attempt := 1; attempt <= maxTestAttempts; attempt++ {
		tests, ok := t.ask(ctx, attempt, problem)
		if !ok {
			return false
		}
		if tests.Problem == "" {
			return t.use(ctx, tests)
		}
		t.record(tests)
		if problem = tests.Problem; t.mustStop(ctx) {
			return false
		}
	}
	t.stop(ralph.AgentFailed, "%s wrote no tests that can be used: %s", t.name, problem)
	return false
}

// use makes tests part of the run, unless the user declines them.
func (t *testsFirst) use(ctx context.Context, tests ralph.TestsWritten) bool {
	if t.agree != nil && !t.agree(ctx, tests) {
		tests.Problem = "declined"
		t.record(tests)
		t.stop(ralph.Interrupted, "you declined the tests of %s", t.name)
		return false
	}
	tests.Used = true
	t.record(tests)
	t.sync()
	if t.storage == nil {
		t.adopt(ctx, tests)
	}
	return t.storage == nil
}

func (t *testsFirst) adopt(ctx context.Context, tests ralph.TestsWritten) {
	if err := t.author.Adopt(ctx, tests); err != nil {
		t.storageFailed(err)
		return
	}
	if !tests.Hidden {
		t.policy.Protects = tests.Protects(t.policy.Protects)
	}
}

func (t *testsFirst) record(tests ralph.TestsWritten) {
	if len(tests.Ignored) > 0 {
		t.warn("tests_ignored", "%s wrote files other than new tests, which are ignored: %s",
			t.name, text.List(tests.Ignored))
	}
	t.emit(ralph.EvTestsWritten, tests)
	t.warnUnmetered("writing tests", tests.Spending(), tests.End)
}

func (t *testsFirst) stop(reason ralph.StopReason, format string, args ...any) {
	v := judge.Abort(t.state.History.Breaker, reason, format, args...)
	t.end = &v
}

// mustStop reports whether the run ends before an agent may work, for example because a limit is reached.
func (t *testsFirst) mustStop(ctx context.Context) bool {
	v := judge.Decide(t.policy, t.state.History.Judge(t.moment(ctx)))
	return t.storage != nil || v.Action == ralph.Stop
}

// ask lets the author work once and finds out whether its tests can be used. It reports false if the run must
// end.
func (t *testsFirst) ask(ctx context.Context, attempt int, problem string) (ralph.TestsWritten, bool) {
	var tests ralph.TestsWritten
	in, err := t.input(attempt, problem)
	if err == nil {
		t.withHeartbeat(ctx, func(ctx context.Context) { tests, err = t.author.Write(ctx, in) })
	}
	if err != nil {
		t.storageFailed(err)
		return tests, false
	}
	tests.Agent, tests.Attempt = t.name, attempt
	if ctx.Err() != nil {
		tests.End, tests.Error = ralph.EndInterrupted, "interrupted"
		t.record(tests)
		return tests, false
	}
	reasons := map[ralph.EndClass]ralph.StopReason{
		ralph.EndAuth: ralph.AuthError, ralph.EndMissing: ralph.ProgramMissing, ralph.EndSandbox: ralph.SandboxError,
		ralph.EndLimit: ralph.RateLimited, ralph.EndProvider: ralph.ProviderFailed,
	}
	if reason, cannotWork := reasons[tests.End]; cannotWork {
		t.record(tests)
		t.stop(reason, "%s cannot write tests: %s", t.name, tests.Error)
		t.end.Hint = tests.Hint
		return tests, false
	}
	switch {
	case tests.End.Failed():
		tests.Problem = "it failed: " + tests.Error
		return tests, true
	case tests.End == ralph.EndCut:
		tests.Problem = "it did not finish: " + tests.Error
		return tests, true
	}
	if tests.Problem = t.whyUnusable(tests); tests.Problem != "" {
		return tests, true
	}
	tests.Failing, tests.Problem = t.failingChecks(ctx, tests)
	return tests, ctx.Err() == nil && t.storage == nil && t.end == nil
}

func (t *testsFirst) input(attempt int, problem string) (ralph.AuthorInput, error) {
	in := ralph.AuthorInput{
		Attempt: attempt, Dir: t.cfg.Dir, Base: t.state.History.Base, Marker: t.about.Marker, Timeout: t.timeLeft(),
		Budget: judge.RunBudget(t.policy, t.state.History.Judge(ralph.Moment{})),
		Live:   t.show,
	}
	goal := t.goals.goal
	about := prompt.Author{Goal: goal.text, GoalFile: goal.file, Checks: t.cfg.Checks, Problem: problem}
	if about.Goal == "" {
		about.Goal, about.GoalFile = goal.template, goal.templateFile
	}
	if t.list.tasks != nil {
		for _, task := range t.list.tasks.List() {
			if task.ID == t.state.History.Task {
				about.Task = &task
			}
		}
	}
	in.Prompt = about.Text()
	folder, err := t.folder()
	if err != nil || folder == "" {
		return in, err
	}
	in.Folder = filepath.Join(folder, fmt.Sprintf("tests-%d", attempt))
	return in, os.MkdirAll(in.Folder, 0o700)
}

// whyUnusable says why files cannot be used whatever is in them, or "".
func (t *testsFirst) whyUnusable(tests ralph.TestsWritten) string {
	if len(tests.Files) == 0 {
		return "no test file was added"
	}
	for _, name := range tests.Names() {
		if _, err := os.Lstat(filepath.Join(t.cfg.Dir, filepath.FromSlash(name))); err == nil && !tests.Hidden {
			return name + " exists in the workspace already; choose another name"
		}
	}
	return ""
}

// failingChecks returns the checks that fail because of the tests, or the problem that there are none.
func (t *testsFirst) failingChecks(ctx context.Context, tests ralph.TestsWritten) (failing []string, problem string) {
	folder, err := t.checkFolder()
	if err != nil {
		t.storageFailed(err)
		return nil, ""
	}
	failsAnyway := false
	for i, c := range t.suite.baselineChecks() {
		if t.suite.whyBarred(c) != "" || c.missing != "" {
			continue
		}
		with, err := t.runTests(ctx, ralph.ViewGiven, c, filepath.Join(folder, checkFile("given").name(i)))
		if err == nil && with.Result.Failed() {
			var because bool
			because, err = t.failsBecause(ctx, c, with, tests)
			failsAnyway = failsAnyway || !because
			if because {
				failing = append(failing, c.name)
			}
		}
		if err != nil {
			t.cannotRun(ctx, err)
			return nil, ""
		}
	}
	switch {
	case len(failing) > 0:
		return failing, ""
	case failsAnyway:
		return nil, "the checks that fail with these tests fail without them, too, and none of them names a new test that " +
			"fails"
	}
	return nil, "every check passes with these tests, so they show nothing"
}

// failsBecause reports whether a check that fails with the tests fails because of them.
func (t *testsFirst) failsBecause(
	ctx context.Context, c check, with ralph.TestRun, tests ralph.TestsWritten,
) (bool, error) {
	if slices.ContainsFunc(t.state.History.Baseline, func(b ralph.CheckResult) bool {
		return b.Name == c.name && b.Task == c.task && b.Passed
	}) {
		return true, nil
	}
	folder, err := t.checkFolder()
	if err != nil {
		return false, err
	}
	without, err := t.runTests(ctx, ralph.ViewBase, c, filepath.Join(folder, "without-tests.txt"))
	if err != nil || without.Result.Passed {
		return err == nil, err
	}
	failed := namesWithout(namesWithout(with.Ran, with.Passed), without.Ran)
	named := slices.ContainsFunc(tests.Names(), func(name string) bool {
		return strings.Contains(with.Result.Output, filepath.Base(name))
	})
	return len(failed) > 0 || named, nil
}

// runTests runs a check at the base so that it names its tests. file receives the output.
func (t *testsFirst) runTests(ctx context.Context, kind ralph.ViewKind, c check, file string) (ralph.TestRun, error) {
	h := t.state.History
	view := ralph.ViewInput{
		Kind: kind, Dir: t.cfg.Dir, Marker: t.about.Marker, Base: h.Base, Now: h.Base, Access: h.AccessOf(c.name, c.task),
		Again: kind == ralph.ViewGiven, // the author may have written other tests since
	}
	if t.policy.KeepAnswer {
		view.Answer = new(string)
	}
	in := ralph.CheckInput{
		Name: c.name, Command: c.command, Dir: t.cfg.Dir, Folder: filepath.Dir(file), File: filepath.Base(file),
		Marker: t.about.Marker, Timeout: t.policy.CheckTimeout.Duration(),
	}
	if in.Folder == "." { // nothing stores the output
		in.Folder = ""
	}
	var run ralph.TestRun
	var err error
	t.withHeartbeat(ctx, func(ctx context.Context) { run, err = t.tree.examiner.RunTests(ctx, view, in) })
	return run, err
}

// cannotRun ends a run whose checks cannot run with the tests.
func (t *testsFirst) cannotRun(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, ralph.ErrIO):
		t.storageFailed(err)
	default:
		t.stop(ralph.SandboxError, "the checks cannot run with the new tests: %v", err)
	}
}
