package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// check is one check to run.
type check struct {
	task    string // whose own check it is; "" for the run's
	name    string
	command string // "" if it is the name
	barred  string // why it cannot run, "" if it can
	gone    string // why it fails without being run, "" if it is
	hidden  bool
}

// checkFile names the files that the output of checks goes to.
type checkFile string

func (f checkFile) name(i int) string {
	if f == "" {
		return fmt.Sprintf("%02d.txt", i+1)
	}
	return fmt.Sprintf("%s-%02d.txt", string(f), i+1)
}

// barred says why a check must not be run, "" if it may.
func (l *Loop) barred(c check) string {
	if c.task != "" && l.cfg.Agreed != nil && !l.cfg.Agreed(c.name) {
		return "this check came into the task list while the run was under way, and nobody has agreed to it yet; ralph resume asks"
	}
	return c.barred
}

// runChecks runs checks on the tree as it stands, one after the other. The baseline of a task that is selected later shares a folder with the
// iteration.
func (l *Loop) runChecks(ctx context.Context, checks []check) {
	if l.iteration > 0 && !l.state.History.Judging {
		l.run(ctx, checks, "base")
		return
	}
	l.run(ctx, checks, "")
}

func (l *Loop) run(ctx context.Context, checks []check, files checkFile) {
	if len(checks) == 0 {
		return
	}
	kind := ralph.ViewClaimed
	if checks[0].hidden {
		kind = ralph.ViewHidden
	}
	session := l.session(kind, files)
	session.runAll(ctx, checks)
	if session.plainly {
		l.tidy(ctx)
	}
}

func (l *Loop) baseHead() string {
	if l.iteration == 0 {
		return ""
	}
	return l.state.History.Base.Head
}

// session runs checks in one view after another, opening a new one only where a check needs it otherwise.
type session struct {
	l      *Loop
	kind   ralph.ViewKind
	files  checkFile
	strict bool // a red check is red, whatever it was before

	folder  string
	view    ralph.View
	way     ralph.Way
	plainly bool // a check ran in the workspace itself
}

func (l *Loop) session(kind ralph.ViewKind, files checkFile) *session {
	return &session{l: l, kind: kind, files: files}
}

// runAll runs checks and records their results.
func (s *session) runAll(ctx context.Context, checks []check) {
	defer s.close()
	for i, c := range checks {
		s.l.emit(ralph.EvCheckStarted, ralph.CheckStarted{Name: c.name, Task: c.task})
		result, ok := s.check(ctx, i, c)
		if !ok {
			return
		}
		s.l.emit(ralph.EvCheckFinished, result)
	}
}

// check runs one check as often as it takes. It reports false if the run is to end, or its output could not be kept.
func (s *session) check(ctx context.Context, i int, c check) (ralph.CheckResult, bool) {
	if c.gone != "" {
		return ralph.CheckResult{Name: c.name, Output: c.gone, ExitCode: 1}, true
	}
	if why := s.l.barred(c); why != "" {
		return ralph.CheckResult{Name: c.name, Task: c.task, Broken: true, ExitCode: -1, Output: why}, true
	}
	h := s.l.state.History
	result, ok := s.once(ctx, i, c, h.WayOf(c.name, c.task))
	switch {
	case !ok || result.Passed:
	case !h.Judging && (s.l.iteration == 0 || h.NeedsWeaker()): // later, an agent may have seen to it that only the weaker way is green
		result, ok = s.plain(ctx, i, c, result)
	case !s.strict && h.PassedBefore(result):
		result, ok = s.again(ctx, i, c, result)
	}
	return result, ok
}

// again runs a red check that was green on this very tree: it may have flaked.
func (s *session) again(ctx context.Context, i int, c check, red ralph.CheckResult) (ralph.CheckResult, bool) {
	red.Attempts = 1
	for try := range s.l.policy.Retries {
		result, ok := s.once(ctx, i, c, s.l.state.History.WayOf(c.name, c.task))
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

// plain runs a check that is red before any agent worked as the user's own shell would: isolation must not be what makes it red.
func (s *session) plain(ctx context.Context, i int, c check, red ralph.CheckResult) (ralph.CheckResult, bool) {
	if s.view == nil || c.hidden {
		return red, true
	}
	isolated, ok := red.Isolation, true
	if narrow, can := s.l.examiner.(ralph.Narrower); can && narrow.Narrows() { // programs of the workspace in PATH may make all the difference
		byPath, went := s.once(ctx, i, c, ralph.WayPath)
		if !went {
			return red, false
		}
		if better(byPath, red) || judge.FaultPrint(judge.Observation{Checks: []ralph.CheckResult{byPath}}) != judge.FaultPrint(judge.Observation{Checks: []ralph.CheckResult{red}}) {
			red, red.Weaker = byPath, ralph.WayPath
		}
	}
	if !red.Passed {
		var plain ralph.CheckResult
		if plain, ok = s.once(ctx, i, c, ralph.WayInPlace); ok && better(plain, red) {
			red, red.Weaker = plain, ralph.WayInPlace
		}
	}
	if red.Weaker == ralph.WayUsual {
		return red, ok
	}
	text := fmt.Sprintf("%q does not work in a view of the tree (%s), so it runs in place: "+
		"what it writes is put back, but for what git ignores, and an agent can change what it finds in PATH", c.name, isolated)
	if red.Weaker == ralph.WayPath {
		text = fmt.Sprintf("%q needs programs from a folder of the workspace that is in PATH; an agent can change these", c.name)
	}
	s.l.emit(ralph.EvNotice, ralph.Notice{Code: "check_isolation", Text: text})
	return red, ok
}

// better reports whether a check fared better the first time.
func better(a, b ralph.CheckResult) bool { return a.Passed && !b.Passed || !a.Broken && b.Broken }

// once runs a check a single time.
func (s *session) once(ctx context.Context, i int, c check, way ralph.Way) (ralph.CheckResult, bool) {
	l := s.l
	checker, isolation, err := s.enter(ctx, way)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ralph.ErrIO) {
		return ralph.CheckResult{
			Name: c.name, Task: c.task, Hidden: c.hidden, Broken: true, ExitCode: -1,
			Output: fmt.Sprintf("no view of the tree could be made for it (checks.isolation chooses another kind): %v", err),
		}, true
	}
	if err == nil && s.folder == "" {
		s.folder, err = l.checkFolder(1)
	}
	if ctx.Err() != nil {
		return ralph.CheckResult{}, false
	}
	if err != nil {
		l.storageFailed(err)
		return ralph.CheckResult{}, false
	}
	var result ralph.CheckResult
	l.attendCheck(ctx, func(ctx context.Context) {
		result, err = checker.Check(ctx, l.checkInput(c, s.folder, s.files.name(i)))
	})
	s.plainly = s.plainly || isolation == ralph.IsolationInPlace
	if ctx.Err() != nil { // killed with the run: it says nothing about the work
		return result, false
	}
	if err != nil {
		l.storageFailed(err)
		return result, false
	}
	result.Task, result.Isolation, result.Hidden = c.task, isolation, c.hidden
	if !c.hidden {
		result.Command = c.command
	}
	result.Tree = l.treeUnderCheck().ID()
	if c.hidden {
		result.Output = "" // it stays in the run's folder, for people
	}
	return result, true
}

// treeUnderCheck is what the checks of this moment run on.
func (l *Loop) treeUnderCheck() ralph.TreeState {
	if l.state.History.Judging {
		return l.state.History.Now.Tree
	}
	return l.state.History.Tree
}

// enter gives the view that a check needs. Where none can be made, checks run in the workspace itself, which is said.
func (s *session) enter(ctx context.Context, way ralph.Way) (ralph.Checker, string, error) {
	if s.l.examiner == nil {
		return s.l.checker, "", nil
	}
	if s.view != nil && s.way == way {
		mode, _ := s.view.Isolation()
		return s.view, mode, nil
	}
	s.close()
	view, err := s.l.examiner.Open(ctx, s.l.viewInput(s.kind, way))
	if err != nil {
		return nil, "", err
	}
	s.view, s.way = view, way
	mode, why := view.Isolation()
	if way != ralph.WayInPlace { // which is said of its check
		s.l.tellIsolation(mode, why)
	}
	return view, mode, nil
}

func (s *session) close() {
	if s.view == nil {
		return
	}
	err := s.view.Close()
	if mode, _ := s.view.Isolation(); err != nil && mode == ralph.IsolationInPlace { // the workspace is not what the agent left; the next process puts it back
		s.l.storageFailed(err)
	} else if err != nil {
		s.l.emit(ralph.EvWarning, ralph.Notice{Code: "view_left", Text: fmt.Sprintf("what a view needed could not be removed: %v", err)})
	}
	s.view = nil
}

func (l *Loop) viewInput(kind ralph.ViewKind, way ralph.Way) ralph.ViewInput {
	base := l.state.History.Base
	return ralph.ViewInput{Kind: kind, Dir: l.cfg.Dir, Marker: l.about.Marker, Base: base, Now: l.treeUnderCheck(), Way: way}
}

func (l *Loop) checkInput(c check, folder, file string) ralph.CheckInput {
	return ralph.CheckInput{
		Name: c.name, Command: c.command, Dir: l.cfg.Dir, Folder: folder, File: file, Marker: l.about.Marker,
		Timeout: l.policy.CheckTimeout.Duration(),
	}
}

// attendCheck records now and then how far the run is while a check works.
func (l *Loop) attendCheck(ctx context.Context, work func(context.Context)) {
	l.attend(ctx, nil, func(elapsed ralph.Span) ralph.AgentOutput { return ralph.AgentOutput{Elapsed: elapsed} }, work)
}

// tellIsolation says once a run which kind of view is in use.
func (l *Loop) tellIsolation(mode, why string) {
	if l.isolation != "" {
		return
	}
	l.isolation = mode
	text := map[string]string{
		ralph.IsolationOverlay: "checks run in an overlay of the workspace: what they write is thrown away",
		ralph.IsolationCopy:    "checks run in a copy of the workspace",
		ralph.IsolationInPlace: "checks run in the workspace itself",
	}[mode]
	if why != "" {
		text += ": " + why
	}
	l.emit(ralph.EvNotice, ralph.Notice{Code: "isolation", Text: text})
}
