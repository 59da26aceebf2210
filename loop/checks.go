package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// checkRunner runs checks in views of the tree and finds out whether passing checks prove anything.
type checkRunner struct {
	*journal
	tree      *workspace
	list      *taskList
	suite     *suite
	checker   ralph.Checker
	isolation string // isolation of views, as reported to the user
	accepting bool   // a person accepts what the last iteration left

	hold func() (Held, error) // stops what a live session started; nil without one
	held *Held                // what is stopped now
}

// examine runs the checks. If they pass and there is a claim, it also runs everything else that
// could still refuse the claim.
func (r *checkRunner) examine(ctx context.Context, claimed bool) {
	r.runChecks(ctx, r.suite.checksToRun(claimed))
	if !claimed && !judge.ChecksClaim(r.policy, r.state.History) || !r.couldStillPass(ctx) {
		return
	}
	r.runHidden(ctx)
	r.runBaseTests(ctx)
	r.findUndone(ctx)
	proven := r.proveIfLast(ctx)
	r.showWork(ctx)
	if !proven { // only what was just shown may complete a list
		r.proveIfLast(ctx)
	}
}

// proveIfLast proves the checks of a claim that would end the run. It reports whether the claim would.
func (r *checkRunner) proveIfLast(ctx context.Context) bool {
	if !r.couldStillPass(ctx) || !judge.WouldEnd(r.policy, r.state.History) {
		return false
	}
	r.confirmFlaked(ctx)
	r.findUndone(ctx)
	r.prove(ctx)
	return true
}

// recordBase takes a snapshot of the base.
func (r *checkRunner) recordBase(ctx context.Context) {
	r.tree.snapshot(ctx, ralph.TreeInput{})
	r.tree.keepRefused(ctx)
	r.tree.keepOrigin(ctx)
}

// recordBaseOnce is for a live session, whose changes count as soon as it has a base.
func (r *checkRunner) recordBaseOnce(ctx context.Context) {
	switch {
	case r.state.History.Base.Snapshot == "":
		r.recordBase(ctx)
	case r.tree.lacksOrigin(): // the process that took the base was killed
		r.tree.keepOrigin(ctx)
	}
}

// runAtBase runs the checks before any work.
func (r *checkRunner) runAtBase(ctx context.Context) {
	if r.policy.Baseline {
		r.runChecks(ctx, r.suite.baselineChecks())
		r.runHidden(ctx)
		r.tree.noticeLeftOut(ctx)
	}
}

// runChecks runs checks on the current tree, one after the other. The baseline of a task that is
// selected later writes to the same folder as the iteration, so its files get the prefix "base".
func (r *checkRunner) runChecks(ctx context.Context, checks []check) {
	if r.iteration > 0 && !r.state.History.Judging {
		r.run(ctx, checks, "base")
		return
	}
	r.run(ctx, checks, "")
}

// runHidden runs the hidden checks. They get separate views.
func (r *checkRunner) runHidden(ctx context.Context) {
	r.run(ctx, r.suite.hiddenChecks(), checkFile("hidden"))
}

// runTaskBaseline runs a task's own checks before its first iteration, so that the loop knows which
// ones passed already.
func (r *checkRunner) runTaskBaseline(ctx context.Context) {
	if r.list.tasks == nil || !r.policy.Baseline {
		return
	}
	var fresh []check
	for _, c := range r.suite.ownChecks([]string{r.state.History.Task}) {
		if !slices.ContainsFunc(r.state.History.Baseline, func(r ralph.CheckResult) bool {
			return r.Task == c.task && r.Name == c.name
		}) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) > 0 {
		// Checks must not be blamed for what the user changed until now.
		r.tree.snapshot(ctx, ralph.TreeInput{BaseHead: r.state.History.Base.Head})
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
	// When judging, the caller looks at the tree again.
	if session.ranInPlace && !r.state.History.Judging {
		r.tree.acceptTree(ctx)
	}
}

func (r *checkRunner) session(kind ralph.ViewKind, files checkFile) *session {
	return &session{runner: r, kind: kind, files: files}
}

func (r *checkRunner) viewInput(kind ralph.ViewKind, access ralph.Access) ralph.ViewInput {
	base := r.state.History.Base
	return ralph.ViewInput{
		Kind:   kind,
		Dir:    r.cfg.Dir,
		Marker: r.about.Marker,
		Base:   base,
		Now:    r.tree.treeUnderCheck(),
		Access: access,

		Iteration: r.iteration,
		Answer:    r.answerUnderCheck(),
		Disturbed: r.disturbed(),
	}
}

// answerUnderCheck returns the answer that checks find: that of the claim, or an empty one before there is any.
func (r *checkRunner) answerUnderCheck() *string {
	answer := ""
	switch {
	case !r.policy.KeepAnswer:
		return nil
	case r.state.History.Judging || r.accepting:
		answer = r.state.History.Now.Agent.Answer
	}
	return &answer
}

func (r *checkRunner) checkInput(c check, folder, file string) ralph.CheckInput {
	return ralph.CheckInput{
		Name: c.name, Command: c.command, Dir: r.cfg.Dir, Folder: folder, File: file, Marker: r.about.Marker,
		Timeout: r.policy.CheckTimeout.Duration(),
	}
}

// isFailing reports whether a check fails or cannot run in this iteration.
func (r *checkRunner) isFailing(c check) bool {
	return slices.ContainsFunc(r.state.History.Now.Checks, func(r ralph.CheckResult) bool {
		return r.Name == c.name && r.Task == c.task && !r.Passed
	})
}

// passedNow returns the result of a check that passed in this iteration, nil if it did not.
func (r *checkRunner) passedNow(c check) *ralph.CheckResult {
	checks := r.state.History.Now.Checks
	i := slices.IndexFunc(checks, func(r ralph.CheckResult) bool {
		return r.Name == c.name && r.Task == c.task && r.Passed
	})
	if i < 0 {
		return nil
	}
	return &checks[i]
}

// noticeIsolation tells the user once per run which kind of view is in use.
func (r *checkRunner) noticeIsolation(mode, why string) {
	if r.isolation != "" {
		return
	}
	r.isolation = mode
	text := map[string]string{
		ralph.IsolationOverlay: "checks run in an overlay; what they write in the workspace is discarded",
		ralph.IsolationCopy:    "checks run in a copy of the workspace",
		ralph.IsolationInPlace: "checks run in the workspace itself; the files they write stay",
	}[mode]
	if why != "" {
		text += ": " + why
	}
	r.notice("isolation", text)
}

// session runs checks, each in a view of its own: what one writes must not reach the next.
type session struct {
	runner *checkRunner
	kind   ralph.ViewKind
	files  checkFile
	strict bool // a failed check fails, even if it passed before
	judged bool // an agent left this tree, although no iteration is being judged

	folder     string
	view       ralph.View
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
		if remark := s.runner.remarkOnHeld(); !result.Passed && remark != "" && !c.hidden {
			result.Output = strings.TrimSpace(result.Output + "\n" + remark)
		}
		s.runner.emit(ralph.EvCheckFinished, result)
	}
}

// check runs one check, with retries if needed. It reports false if the run must end or if the
// output could not be stored.
func (s *session) check(ctx context.Context, i int, c check) (ralph.CheckResult, bool) {
	if c.missing != "" {
		return ralph.CheckResult{Name: c.name, Output: c.missing, ExitCode: 1}, true
	}
	if why := s.runner.suite.whyBarred(c); why != "" {
		return ralph.CheckResult{Name: c.name, Task: c.task, Broken: true, ExitCode: -1, Output: why}, true
	}
	h := s.runner.state.History
	result, ok := s.runOnce(ctx, i, c, h.AccessOf(c.name, c.task))
	if ok && result.Killed && !h.Judging { // perhaps by chance, such as for memory
		result, ok = s.runOnce(ctx, i, c, h.AccessOf(c.name, c.task))
	}
	switch {
	case !ok || result.Passed:
	case result.Killed && !h.Judging: // what kills it must not choose how it runs
	case !h.Judging && !s.judged && (s.runner.iteration == 0 || h.NeedsMoreAccess()):
		// Later, an agent may have made the check pass only with less isolation.
		result, ok = s.rerunLessIsolated(ctx, i, c, result)
	case !s.strict && h.PassedBefore(result):
		result, ok = s.rerunFailed(ctx, i, c, result)
	}
	if !ok {
		return result, false
	}
	return s.explainFailure(ctx, i, c, result)
}

// rerunFailed reruns a failed check that has passed on this exact tree: it may be flaky.
func (s *session) rerunFailed(ctx context.Context, i int, c check, failed ralph.CheckResult) (ralph.CheckResult, bool) {
	failed.Attempts = 1
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
		failed = result
	}
	return failed, true
}

// rerunLessIsolated reruns a check that fails before any agent has worked, more like the user's own
// shell would run it. Isolation must not be the reason for the failure. It never runs in the
// workspace itself, because what it writes there would stay; checks.isolation allows that.
func (s *session) rerunLessIsolated(
	ctx context.Context, i int, c check, failed ralph.CheckResult,
) (ralph.CheckResult, bool) {
	if s.runner.tree.examiner == nil || c.hidden {
		return failed, true
	}
	// The check may need programs of the workspace that are on PATH.
	if stripper, can := s.runner.tree.examiner.(ralph.PathStripper); can && stripper.StripsPath() {
		byPath, went := s.runOnce(ctx, i, c, ralph.AccessWorkspacePath)
		if !went {
			return failed, false
		}
		fault := judge.FaultPrint(judge.Observation{Checks: []ralph.CheckResult{byPath}})
		oldFault := judge.FaultPrint(judge.Observation{Checks: []ralph.CheckResult{failed}})
		if !byPath.Killed && (faredBetter(byPath, failed) || fault != oldFault) {
			failed, failed.NeedsAccess = byPath, ralph.AccessWorkspacePath
		}
	}
	ok := true
	if !failed.Passed && failed.Isolation == ralph.IsolationOverlay && !s.seesMoreInCopy() {
		var copied ralph.CheckResult
		if copied, ok = s.runOnce(ctx, i, c, ralph.AccessCopy); ok && faredBetter(copied, failed) {
			failed, failed.NeedsAccess = copied, ralph.AccessCopy
		}
	}
	switch failed.NeedsAccess {
	case ralph.AccessWorkspacePath:
		text := fmt.Sprintf("%q needs programs from a workspace folder on PATH; an agent can change them", c.name)
		s.runner.notice("check_isolation", text)
	case ralph.AccessCopy:
		s.runner.notice("check_isolation", fmt.Sprintf("%q does not work in an overlay, so it runs in a copy", c.name))
	}
	return failed, ok
}

// seesMoreInCopy reports whether a check in a copy would see configuration files as an earlier run's agent left them.
func (s *session) seesMoreInCopy() bool {
	outside, ok := s.runner.tree.examiner.(ralph.OutsideAccepter)
	return ok && len(outside.ChangedInCopy()) > 0
}

// faredBetter reports whether a is a better result than b.
func faredBetter(a, b ralph.CheckResult) bool { return a.Passed && !b.Passed || !a.Broken && b.Broken }

// runOnce runs a check a single time, undisturbed.
func (s *session) runOnce(ctx context.Context, i int, c check, access ralph.Access) (ralph.CheckResult, bool) {
	return s.runUndisturbed(func() (ralph.CheckResult, bool) { return s.runInView(ctx, i, c, access) })
}

// runInView runs a check in a new view.
func (s *session) runInView(ctx context.Context, i int, c check, access ralph.Access) (ralph.CheckResult, bool) {
	r := s.runner
	checker, isolation, err := s.openView(ctx, access)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ralph.ErrIO) {
		return ralph.CheckResult{
			Name: c.name, Task: c.task, Hidden: c.hidden, Broken: true, ExitCode: -1,
			Output: fmt.Sprintf("cannot make a view of the tree for this check: %v; choose another kind with checks.isolation",
				err),
		}, true
	}
	if err == nil && s.folder == "" {
		s.folder, err = r.checkFolder()
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
	if ctx.Err() != nil { // killed with the run, so the result says nothing about the work
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
	if r.iteration > 0 || c.hidden {
		result.Tests = nil // the log keeps names only from before any agent worked
	}
	if c.hidden {
		result.Output, result.Hints, result.FailingTests = "", nil, 0 // they stay in the run's folder, for people
	}
	return result, true
}

// openView returns the view that a check needs. Where no view can be made, checks run in the
// workspace itself, and the user is told.
func (s *session) openView(ctx context.Context, access ralph.Access) (ralph.Checker, string, error) {
	if s.runner.tree.examiner == nil {
		return s.runner.checker, "", nil
	}
	s.close()
	view, err := s.runner.tree.examiner.Open(ctx, s.runner.viewInput(s.kind, access))
	if err != nil {
		return nil, "", err
	}
	s.view = view
	mode, why := view.Isolation()
	if access != ralph.AccessInPlace && access != ralph.AccessCopy { // the check's own notice reports these
		s.runner.noticeIsolation(mode, why)
	}
	return view, mode, nil
}

func (s *session) close() {
	if s.view == nil {
		return
	}
	if err := s.view.Close(); err != nil {
		s.runner.warn("view_left", "cannot remove the files of a view: %v", err)
	}
	s.view = nil
}

// checkFile is the prefix of the files that checks write their output to.
type checkFile string

func (f checkFile) name(i int) string {
	if f == "" {
		return fmt.Sprintf("%02d.txt", i+1)
	}
	return fmt.Sprintf("%s-%02d.txt", string(f), i+1)
}
