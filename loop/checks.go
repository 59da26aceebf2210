package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// checkRunner runs checks in views of the tree and finds out what passing ones are worth.
type checkRunner struct {
	*journal
	tree         *workspace
	list         *taskList
	suite        *suite
	checker      ralph.Checker
	isolation    string // of views, as it was told
	undoFailedAt int    // the iteration after which what checks wrote could not be put back, counted from 1
	undoDirs     int    // folders with what checks wrote
}

// runChecks runs checks on the tree as it stands, one after the other. The baseline of a task that is selected later shares a folder with the
// iteration.
func (r *checkRunner) runChecks(ctx context.Context, checks []check) {
	if r.iteration > 0 && !r.state.History.Judging {
		r.run(ctx, checks, "base")
		return
	}
	r.run(ctx, checks, "")
}

// runHidden runs the checks that the agent must not know. They have views of their own.
func (r *checkRunner) runHidden(ctx context.Context) {
	r.run(ctx, r.suite.hiddenChecks(), checkFile("hidden"))
}

// runTaskBaseline runs the own checks of a task that is worked for the first time, so that "already green" is known.
func (r *checkRunner) runTaskBaseline(ctx context.Context) {
	if r.list.tasks == nil || !r.policy.Baseline {
		return
	}
	var fresh []check
	for _, c := range r.suite.ownChecks([]string{r.state.History.Task}) {
		if !slices.ContainsFunc(r.state.History.Baseline, func(r ralph.CheckResult) bool { return r.Task == c.task && r.Name == c.name }) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) > 0 {
		r.tree.snapshot(ctx, ralph.TreeInput{BaseHead: r.state.History.Base.Head}) // what the user did until now is not for checks to answer for
		r.runChecks(ctx, fresh)
	}
}

func (r *checkRunner) run(ctx context.Context, checks []check, files checkFile) {
	if len(checks) == 0 {
		return
	}
	kind := ralph.ViewClaimed
	if checks[0].hidden {
		kind = ralph.ViewHidden
	}
	session := r.session(kind, files)
	session.runAll(ctx, checks)
	if session.ranInPlace {
		r.undoCheckWrites(ctx)
	}
}

func (r *checkRunner) session(kind ralph.ViewKind, files checkFile) *session {
	return &session{runner: r, kind: kind, files: files}
}

func (r *checkRunner) viewInput(kind ralph.ViewKind, access ralph.Access) ralph.ViewInput {
	base := r.state.History.Base
	return ralph.ViewInput{Kind: kind, Dir: r.cfg.Dir, Marker: r.about.Marker, Base: base, Now: r.tree.treeUnderCheck(), Access: access}
}

func (r *checkRunner) checkInput(c check, folder, file string) ralph.CheckInput {
	return ralph.CheckInput{
		Name: c.name, Command: c.command, Dir: r.cfg.Dir, Folder: folder, File: file, Marker: r.about.Marker,
		Timeout: r.policy.CheckTimeout.Duration(),
	}
}

// isRed reports whether a check is red in this iteration.
func (r *checkRunner) isRed(c check) bool {
	return slices.ContainsFunc(r.state.History.Now.Checks, func(r ralph.CheckResult) bool { return r.Name == c.name && r.Task == c.task && !r.Passed })
}

// noticeIsolation says once a run which kind of view is in use.
func (r *checkRunner) noticeIsolation(mode, why string) {
	if r.isolation != "" {
		return
	}
	r.isolation = mode
	text := map[string]string{
		ralph.IsolationOverlay: "checks run in an overlay; the files they write are discarded",
		ralph.IsolationCopy:    "checks run in a copy of the workspace",
		ralph.IsolationInPlace: "checks run in the workspace itself",
	}[mode]
	if why != "" {
		text += ": " + why
	}
	r.notice("isolation", text)
}

// session runs checks in one view after another, opening a new one only where a check needs it otherwise.
type session struct {
	runner *checkRunner
	kind   ralph.ViewKind
	files  checkFile
	strict bool // a red check is red, whatever it was before

	folder     string
	view       ralph.View
	access     ralph.Access
	ranInPlace bool // a check ran in the workspace itself
}

// runAll runs checks and records their results.
func (s *session) runAll(ctx context.Context, checks []check) {
	defer s.close()
	for i, c := range checks {
		s.runner.emit(ralph.EvCheckStarted, ralph.CheckStarted{Name: c.name, Task: c.task})
		result, ok := s.check(ctx, i, c)
		if !ok {
			return
		}
		s.runner.emit(ralph.EvCheckFinished, result)
	}
}

// check runs one check as often as it takes. It reports false if the run is to end, or its output could not be kept.
func (s *session) check(ctx context.Context, i int, c check) (ralph.CheckResult, bool) {
	if c.missing != "" {
		return ralph.CheckResult{Name: c.name, Output: c.missing, ExitCode: 1}, true
	}
	if why := s.runner.suite.whyBarred(c); why != "" {
		return ralph.CheckResult{Name: c.name, Task: c.task, Broken: true, ExitCode: -1, Output: why}, true
	}
	h := s.runner.state.History
	result, ok := s.runOnce(ctx, i, c, h.AccessOf(c.name, c.task))
	switch {
	case !ok || result.Passed:
	case !h.Judging && (s.runner.iteration == 0 || h.NeedsMoreAccess()): // later, an agent may have seen to it that only the weaker way is green
		result, ok = s.rerunLessIsolated(ctx, i, c, result)
	case !s.strict && h.PassedBefore(result):
		result, ok = s.rerunFailed(ctx, i, c, result)
	}
	return result, ok
}

// rerunFailed runs a red check that was green on this very tree: it may have flaked.
func (s *session) rerunFailed(ctx context.Context, i int, c check, red ralph.CheckResult) (ralph.CheckResult, bool) {
	red.Attempts = 1
	for try := range s.runner.policy.Retries {
		result, ok := s.runOnce(ctx, i, c, s.runner.state.History.AccessOf(c.name, c.task))
		if !ok {
			return result, false
		}
		result.Attempts = try + 2
		if result.Passed {
			result.Flaked = true
			return result, true
		}
		red = result
	}
	return red, true
}

// rerunLessIsolated runs a check that is red before any agent worked as the user's own shell would: isolation must not be what makes it red.
func (s *session) rerunLessIsolated(ctx context.Context, i int, c check, red ralph.CheckResult) (ralph.CheckResult, bool) {
	if s.view == nil || c.hidden {
		return red, true
	}
	isolated, ok := red.Isolation, true
	if stripper, can := s.runner.tree.examiner.(ralph.PathStripper); can && stripper.StripsPath() { // programs of the workspace in PATH may make all the difference
		byPath, went := s.runOnce(ctx, i, c, ralph.AccessWorkspacePath)
		if !went {
			return red, false
		}
		if faredBetter(byPath, red) || judge.FaultPrint(judge.Observation{Checks: []ralph.CheckResult{byPath}}) != judge.FaultPrint(judge.Observation{Checks: []ralph.CheckResult{red}}) {
			red, red.NeedsAccess = byPath, ralph.AccessWorkspacePath
		}
	}
	if !red.Passed {
		var plain ralph.CheckResult
		if plain, ok = s.runOnce(ctx, i, c, ralph.AccessInPlace); ok && faredBetter(plain, red) {
			red, red.NeedsAccess = plain, ralph.AccessInPlace
		}
	}
	if red.NeedsAccess == ralph.AccessIsolated {
		return red, ok
	}
	text := fmt.Sprintf("%q does not work in a view of the tree (%s), so it runs in place: "+
		"what it writes is put back, but for what git ignores, and an agent can change what it finds in PATH", c.name, isolated)
	if red.NeedsAccess == ralph.AccessWorkspacePath {
		text = fmt.Sprintf("%q needs programs from a folder of the workspace that is in PATH; an agent can change these", c.name)
	}
	s.runner.notice("check_isolation", text)
	return red, ok
}

// faredBetter reports whether a check fared better the first time.
func faredBetter(a, b ralph.CheckResult) bool { return a.Passed && !b.Passed || !a.Broken && b.Broken }

// runOnce runs a check a single time.
func (s *session) runOnce(ctx context.Context, i int, c check, access ralph.Access) (ralph.CheckResult, bool) {
	r := s.runner
	checker, isolation, err := s.openView(ctx, access)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ralph.ErrIO) {
		return ralph.CheckResult{
			Name: c.name, Task: c.task, Hidden: c.hidden, Broken: true, ExitCode: -1,
			Output: fmt.Sprintf("no view of the tree could be made for it (checks.isolation chooses another kind): %v", err),
		}, true
	}
	if err == nil && s.folder == "" {
		s.folder, err = r.checkFolder(1)
	}
	if ctx.Err() != nil {
		return ralph.CheckResult{}, false
	}
	if err != nil {
		r.storageFailed(err)
		return ralph.CheckResult{}, false
	}
	var result ralph.CheckResult
	r.withHeartbeat(ctx, func(ctx context.Context) {
		result, err = checker.Check(ctx, r.checkInput(c, s.folder, s.files.name(i)))
	})
	s.ranInPlace = s.ranInPlace || isolation == ralph.IsolationInPlace
	if ctx.Err() != nil { // killed with the run: it says nothing about the work
		return result, false
	}
	if err != nil {
		r.storageFailed(err)
		return result, false
	}
	result.Task, result.Isolation, result.Hidden = c.task, isolation, c.hidden
	if !c.hidden {
		result.Command = c.command
	}
	result.Tree = r.tree.treeUnderCheck().ID()
	if c.hidden {
		result.Output = "" // it stays in the run's folder, for people
	}
	return result, true
}

// openView gives the view that a check needs. Where none can be made, checks run in the workspace itself, which is said.
func (s *session) openView(ctx context.Context, access ralph.Access) (ralph.Checker, string, error) {
	if s.runner.tree.examiner == nil {
		return s.runner.checker, "", nil
	}
	if s.view != nil && s.access == access {
		mode, _ := s.view.Isolation()
		return s.view, mode, nil
	}
	s.close()
	view, err := s.runner.tree.examiner.Open(ctx, s.runner.viewInput(s.kind, access))
	if err != nil {
		return nil, "", err
	}
	s.view, s.access = view, access
	mode, why := view.Isolation()
	if access != ralph.AccessInPlace { // which is said of its check
		s.runner.noticeIsolation(mode, why)
	}
	return view, mode, nil
}

func (s *session) close() {
	if s.view == nil {
		return
	}
	err := s.view.Close()
	if mode, _ := s.view.Isolation(); err != nil && mode == ralph.IsolationInPlace { // the workspace is not what the agent left; the next process puts it back
		s.runner.storageFailed(err)
	} else if err != nil {
		s.runner.warn("view_left", "what a view needed could not be removed: %v", err)
	}
	s.view = nil
}

// checkFile names the files that the output of checks goes to.
type checkFile string

func (f checkFile) name(i int) string {
	if f == "" {
		return fmt.Sprintf("%02d.txt", i+1)
	}
	return fmt.Sprintf("%s-%02d.txt", string(f), i+1)
}
