package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/ignored"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// outsideFiles is what is known about the files that are not part of a tree.
type outsideFiles struct {
	now    string // the snapshot of the tree; "" if nothing is known
	sorted ignored.Sorted
	list   ignored.List
	tree   []string
	lost   []string // objects of git's that no commit leads to
}

// OfTree says what views show of files that are not part of the tree.
type OfTree struct {
	// Ignored knows these files as they were before the agent started; nil shows them as they are.
	Ignored *ignored.Watch
	// Setup is a command that installs dependencies again in views; "" shows those of the workspace.
	Setup string

	looked outsideFiles
}

// SettleIgnored implements [ralph.IgnoredWatcher].
func (o *OfTree) SettleIgnored() error {
	if o.Ignored == nil {
		return nil
	}
	return o.Ignored.Settle()
}

// AdoptIgnored implements [ralph.IgnoredWatcher].
func (o *OfTree) AdoptIgnored() error {
	if o.Ignored == nil {
		return nil
	}
	o.looked = outsideFiles{}
	return o.Ignored.Adopt()
}

// setsUp reports whether the command installs dependencies again.
func (o *OfTree) setsUp(look outsideFiles) bool {
	return o.Setup != "" && len(look.sorted.Installed) > 0
}

// IgnoredFiles implements [ralph.IgnoredWatcher].
func (e *Examiner) IgnoredFiles(ctx context.Context, base, now ralph.TreeState) (shown, leftOut []string, err error) {
	found, err := e.classify(ctx, base, now)
	if err != nil {
		return nil, nil, err
	}
	look, err := outside{e}.look(ctx, found)
	for _, file := range look.list {
		isAbove := func(absent string) bool { return file.Name == absent || strings.HasPrefix(file.Name, absent+"/") }
		if !slices.ContainsFunc(look.sorted.Absent, isAbove) {
			shown = append(shown, file.Name)
		}
	}
	return shown, changeNames(look.sorted.LeftOut), err
}

// outside compares files that are not part of the tree, for an examiner.
type outside struct{ *Examiner }

// isWatched reports whether views leave out ignored files. Checks that the user lets run in the
// workspace itself see everything, so the views beside them do, too.
func (e outside) isWatched() bool {
	return e.Ignored != nil && e.Snapshots != nil && e.Isolation != pristine.InPlace
}

// look compares the files that are not part of the tree with those at the base. Only Compare
// looks again at a tree that is known.
func (e outside) look(ctx context.Context, found classifiedChanges) (outsideFiles, error) {
	if !e.isWatched() || found.base == "" || found.now == "" {
		return outsideFiles{}, nil
	}
	if e.looked.now == found.now {
		return e.looked, nil
	}
	base, err := e.committedFiles(ctx, found.base)
	if err != nil {
		return outsideFiles{}, err
	}
	look := outsideFiles{now: found.now}
	if look.tree, err = e.committedFiles(ctx, found.now); err != nil {
		return outsideFiles{}, err
	}
	inTree := look.tree
	if e.WorkspaceSnapshot != "" && e.WorkspaceSnapshot != found.now {
		more, err := e.committedFiles(ctx, e.WorkspaceSnapshot)
		if err != nil {
			return outsideFiles{}, err
		}
		inTree = slices.Concat(inTree, more)
	}
	if look.list, err = ignored.Record(e.Dir, inTree); err != nil {
		return outsideFiles{}, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	look.sorted = ignored.Sort(ignored.Input{
		Base: e.Ignored.Base.Without(base), Now: look.list, Tree: look.tree, TreeChanges: found.all,
	})
	if keeper, ok := e.Snapshots.(ralph.CommitKeeper); ok {
		if look.lost, err = keeper.Unreachable(ctx); err != nil {
			return outsideFiles{}, err
		}
	}
	e.looked = look
	return look, nil
}

// committedFiles lists the files of a snapshot that a commit would have, too.
func (e outside) committedFiles(ctx context.Context, id string) ([]string, error) {
	files, err := e.Snapshots.Files(ctx, id)
	keeper, ok := e.Snapshots.(ralph.IgnoredKeeper)
	if err != nil || !ok {
		return files, err
	}
	isIgnored := map[string]bool{}
	for _, name := range keeper.IgnoredFiles() {
		isIgnored[name] = true
	}
	return slices.DeleteFunc(files, func(name string) bool { return isIgnored[name] }), nil
}

// absentEdits removes from a view the ignored files that the agent added or changed.
func (e outside) absentEdits(
	ctx context.Context, kind ralph.ViewKind, found classifiedChanges,
) ([]pristine.Edit, error) {
	if kind == ralph.ViewAsLeft || kind == ralph.ViewReviewed {
		return nil, nil
	}
	look, err := e.look(ctx, found)
	if err != nil {
		return nil, err
	}
	names := look.sorted.Absent
	if e.setsUp(look) {
		names = look.sorted.Without(look.sorted.Installed, look.list, look.tree)
	}
	var edits []pristine.Edit
	for _, name := range slices.Concat(names, look.lost) {
		edits = append(edits, pristine.Edit{Name: name})
	}
	return edits, nil
}

// compare adds to a comparison what happened to files that are not part of the tree, and to
// links that leave the workspace.
func (e outside) compare(ctx context.Context, found classifiedChanges, seen *ralph.Tampering) error {
	e.looked = outsideFiles{}
	look, err := e.look(ctx, found)
	if err != nil {
		return err
	}
	seen.LeftOut = changeNames(look.sorted.LeftOut)
	for _, c := range look.sorted.Environment {
		seen.Environment = append(seen.Environment, c.String())
	}
	if !e.setsUp(look) {
		seen.Dependencies = look.sorted.Installed
	}
	if e.WorkspaceSnapshot != "" {
		return nil
	}
	seen.Environment = append(seen.Environment, e.linksOut(found.all)...)
	if keeper, ok := e.Snapshots.(ralph.CommitKeeper); ok && e.isWatched() {
		lines, err := keeper.Uncommitted(ctx, found.all)
		if err != nil {
			return err
		}
		seen.Environment = append(seen.Environment, lines...)
	}
	linked, err := e.linkedElsewhere(ctx, found)
	seen.Tampered = append(slices.Clip(seen.Tampered), linked...)
	return err
}

// linksOut describes the added and changed symbolic links that lead out of the workspace. A commit
// has only the link, not what it leads to.
func (e outside) linksOut(changes []ralph.FileChange) []string {
	var lines []string
	for _, c := range changes {
		path := filepath.Join(e.Dir, filepath.FromSlash(c.Name))
		target, err := os.Readlink(path)
		if c.Kind == ralph.FileDeleted || err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(resolveLinks(filepath.Dir(path)), target)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			target = real
		}
		isOut := !isInside(target, e.Dir) && !isInside(target, resolveLinks(e.Dir))
		if isOut || slices.Contains(strings.Split(filepath.ToSlash(target), "/"), ".git") {
			lines = append(lines, fmt.Sprintf("%s (a link to %s, which is not part of the tree)", c.Name, target))
		}
	}
	return lines
}

// linkedElsewhere lists protected files and tests of the base that got another name by a hard link.
// Code under test could write them through it, even from a view.
func (e outside) linkedElsewhere(ctx context.Context, found classifiedChanges) ([]ralph.FileChange, error) {
	if !e.isWatched() || found.base == "" {
		return nil, nil
	}
	rules, err := e.rulesFor(ctx, found.base)
	if err != nil {
		return nil, err
	}
	files, err := e.Snapshots.Files(ctx, found.base)
	if err != nil {
		return nil, err
	}
	var linked []ralph.FileChange
	for _, name := range files {
		if !rules.Protected(name) && !rules.Test(name) {
			continue
		}
		was, known := e.Ignored.Base.Find(name)
		if !known || was.Links != 1 {
			continue
		}
		if ignored.CountLinks(filepath.Join(e.Dir, filepath.FromSlash(name))) > 1 {
			linked = append(linked, ralph.FileChange{Name: name, Kind: ralph.FileLinked})
		}
	}
	return linked, nil
}

// setup installs dependencies in a view before its first command.
type setup struct {
	command string
	view    *pristine.View
	done    bool
	failed  *ralph.CheckResult
}

// prepare runs the setup command, or adds it to a check where nothing that commands write is kept. It
// returns the check to run, or the result of a setup that failed.
func (s *setup) prepare(
	ctx context.Context, shell Shell, check ralph.CheckInput,
) (ralph.CheckInput, *ralph.CheckResult, error) {
	if v, isOverlay := s.view, s.view.Mode() == pristine.Overlay; isOverlay && !v.OnDisk() {
		check.Command = "{ " + s.command + "\n} >/dev/null 2>&1 || exit 1\n" + command(check)
		return check, nil, nil
	}
	if !s.done {
		shell.Prepare, shell.secret = nil, "" // installing needs nothing that is hidden
		enter := shell.Enter
		shell.Enter = func(spec *process.Spec) {
			enter(spec)
			if spec.Enclosure != nil {
				spec.Enclosure.NoNetwork = false // packages come from there
			}
		}
		in := check
		in.Name, in.Command = "checks.setup", s.command
		if in.File != "" {
			in.File = "setup-" + check.File
		}
		result, err := shell.Check(ctx, in)
		if err != nil || ctx.Err() != nil {
			return check, nil, errors.Join(err, ctx.Err())
		}
		if s.done = true; !result.Passed {
			s.failed = &result
		}
	}
	if s.failed == nil {
		return check, nil, nil
	}
	failed := *s.failed
	failed.Name, failed.Broken = check.Name, false
	failed.Output = strings.TrimRight(failed.Output, "\n") + "\n" +
		"checks.setup failed (" + s.failed.HowFailed() + "), so the check did not run: " + s.command
	return check, &failed, nil
}
