package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
)

// checkRunner runs checks in views of the tree and finds out what passing ones are worth.
type checkRunner struct {
	*journal
	tree      *workspace
	list      *taskList
	suite     *suite
	checker   ralph.Checker
	isolation string // of views, as it was told
	notPut    int    // the iteration after which what checks wrote could not be put back, counted from 1
	wrote     int    // folders with what checks wrote
}

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

// selectedBaseline runs the own checks of a task that is worked for the first time, so that "already green" is known.
func (r *checkRunner) selectedBaseline(ctx context.Context) {
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
	if session.plainly {
		r.tidy(ctx)
	}
}

func (r *checkRunner) session(kind ralph.ViewKind, files checkFile) *session {
	return &session{runner: r, kind: kind, files: files}
}

func (r *checkRunner) viewInput(kind ralph.ViewKind, way ralph.Way) ralph.ViewInput {
	base := r.state.History.Base
	return ralph.ViewInput{Kind: kind, Dir: r.cfg.Dir, Marker: r.about.Marker, Base: base, Now: r.tree.treeUnderCheck(), Way: way}
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

// tellIsolation says once a run which kind of view is in use.
func (r *checkRunner) tellIsolation(mode, why string) {
	if r.isolation != "" {
		return
	}
	r.isolation = mode
	text := map[string]string{
		ralph.IsolationOverlay: "checks run in an overlay of the workspace: what they write is thrown away",
		ralph.IsolationCopy:    "checks run in a copy of the workspace",
		ralph.IsolationInPlace: "checks run in the workspace itself",
	}[mode]
	if why != "" {
		text += ": " + why
	}
	r.notice("isolation", text)
}
