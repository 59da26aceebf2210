package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/text"
)

// leaveRules keeps the .gitignore files of the first snapshot if the rules of the second would
// reveal files that neither snapshot contains. Files that the work installed and ignored must not
// become part of the tree when the work is gone.
func (s *switching) leaveRules(ctx context.Context) error {
	isRule := func(e manifest.Edit) bool { return slashpath.Base(e.Name) == ".gitignore" }
	if !slices.ContainsFunc(s.planned, isRule) {
		return nil
	}
	hides, err := s.hiding(ctx)
	if !hides || err != nil {
		return err
	}
	s.planned = slices.DeleteFunc(s.planned, func(e manifest.Edit) bool {
		if isRule(e) {
			s.rules = append(s.rules, e.Name)
		}
		return isRule(e)
	})
	return nil
}

// hiding reports whether files are ignored now that the rules of the second snapshot would not
// ignore, and that it does not contain. If there are too many files to check, it reports true.
func (s *switching) hiding(ctx context.Context) (bool, error) {
	k := s.keeper
	out, err := k.repo.Ask(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--full-name", "--",
		k.home.pathspec())
	if err != nil {
		if errors.Is(err, git.ErrTooMuch) {
			return true, nil
		}
		return false, err
	}
	names := slices.DeleteFunc(
		git.SplitNames(out),
		func(name string) bool { return s.own(strings.TrimPrefix(name, k.repo.Prefix)) },
	)
	ignored, err := k.ignoredBy(ctx, s.to, names)
	if err != nil {
		return false, err
	}
	files, err := k.files(ctx, s.to.tree)
	if err != nil {
		return false, err
	}
	held := manifest.NameSet(manifest.Names(files))
	return slices.ContainsFunc(names, func(name string) bool { return !ignored[name] && !held[name] }), nil
}

var _ ralph.Switcher = (*Keeper)(nil)

// Switch changes the workspace from the snapshot From to the snapshot To. Each file that differs
// between them must match one of the two, and every other file must match both: then nothing can be
// lost, however often Switch runs. It does not delete files that the rules of To ignore, and does
// not write untracked files that both ignore. Staged changes stay staged.
func (k *Keeper) Switch(ctx context.Context, in ralph.SwitchInput) (ralph.Switched, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := switching{keeper: k, own: in.Own}
	done, err := s.run(ctx, in.From, in.To)
	if err != nil {
		return done, fmt.Errorf("switch to snapshot %s: %w", in.To, err)
	}
	return done, nil
}

// switching is the state of one switch. Names are relative to the top of the working tree.
type switching struct {
	keeper   *Keeper
	own      func(name string) bool
	from, to header

	planned []manifest.Edit // from the first snapshot to the second
	left    []manifest.Edit // the planned edits that are not done yet
	litter  []string        // half-written files of an interrupted switch
	others  []string
	rules   []string // .gitignore files that stay because of what they hide
	hidden  []string // files that are not written because the user has ignored files there
	seen    map[string]fs.FileInfo
}

func (s *switching) run(ctx context.Context, from, to string) (ralph.Switched, error) {
	k := s.keeper
	var err error
	if s.from, err = s.read(ctx, from); err != nil {
		return ralph.Switched{}, err
	}
	if s.to, err = s.read(ctx, to); err != nil {
		return ralph.Switched{}, err
	}
	if s.planned, s.hidden, err = s.edits(ctx, s.to.tree, nil); err != nil {
		return ralph.Switched{}, err
	}
	if err := s.leaveRules(ctx); err != nil {
		return ralph.Switched{}, err
	}
	k.seen = seenTree{} // whatever happens, the tree is not the one of the last fingerprint
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return ralph.Switched{}, err
	}
	defer top.Close()
	s.note(top)
	if err := s.compare(ctx, top); err != nil {
		return ralph.Switched{}, err
	}
	if len(s.others) > 0 {
		slices.Sort(s.others)
		begun := len(s.left) < len(s.planned) || len(s.litter) > 0
		return ralph.Switched{Others: s.below(s.others), Begun: begun}, nil
	}
	return s.do(ctx, top)
}

// read reads a snapshot, which must be of the workspace at its current path in the repository.
func (s *switching) read(ctx context.Context, id string) (header, error) {
	k := s.keeper
	c, err := k.read(ctx, id)
	if err == nil && c.prefix != k.home.Prefix {
		err = fmt.Errorf("the snapshot is from a time when %s was in another folder of its repository", k.repo.Dir)
	}
	return c, err
}

// edits returns the changes from the first snapshot to a tree, without the harness's files and
// without ignored files that block nothing. Of the ignored files, hidden lists those that would be
// new.
func (s *switching) edits(
	ctx context.Context,
	to string,
	inTheWay []string,
) (edits []manifest.Edit, hidden []string, err error) {
	all, err := s.keeper.edits(ctx, s.from.tree, to)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(e manifest.Edit) bool {
		name, inside := strings.CutPrefix(e.Name, s.keeper.repo.Prefix)
		return !inside || s.own(name)
	})
	stays, err := s.ignored(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	edits = slices.DeleteFunc(all, func(e manifest.Edit) bool {
		stay := stays[e.Name] && !slices.Contains(inTheWay, e.Name)
		if stay && e.Before.Mode == manifest.ModeNone {
			hidden = append(hidden, e.Name)
		}
		return stay
	})
	return edits, hidden, nil
}

// ignored returns the files that must not be changed. A file that the second snapshot ignores may
// have existed without being part of it. A file that both ignore is in them because checks see it.
// A tracked file is treated like any other.
func (s *switching) ignored(ctx context.Context, edits []manifest.Edit) (map[string]bool, error) {
	k := s.keeper
	names := text.Mapped(edits, func(e manifest.Edit) string { return e.Name })
	byTo, err := k.ignoredBy(ctx, s.to, names)
	if err != nil || len(byTo) == 0 {
		return nil, err
	}
	byFrom, err := k.ignoredBy(ctx, s.from, names)
	if err != nil {
		return nil, err
	}
	out, err := k.repo.Ask(ctx, "ls-files", "-z", "--cached", "--full-name", "--", k.home.pathspec())
	if err != nil {
		return nil, err
	}
	tracked := manifest.NameSet(git.SplitNames(out))
	stays := map[string]bool{}
	for _, e := range edits {
		gone := e.After.Mode == manifest.ModeNone
		stays[e.Name] = byTo[e.Name] && (gone || byFrom[e.Name]) && !tracked[e.Name]
	}
	return stays, nil
}

// note records the current state of the files that will be changed.
func (s *switching) note(top *os.Root) {
	s.seen = map[string]fs.FileInfo{}
	for _, e := range s.planned {
		s.seen[e.Name], _ = top.Lstat(filepath.FromSlash(e.Name))
	}
}

// compare determines how far the workspace has been switched, and which files match neither
// snapshot. It also checks ignored files at the paths of new files.
func (s *switching) compare(ctx context.Context, top *os.Root) error {
	k := s.keeper
	if err := k.begin(ctx); err != nil {
		return err
	}
	now, err := k.copyFiles(ctx, occasion{fullScan: true})
	if err != nil {
		return err
	}
	also := blockingFiles(top, s.planned)
	if len(also) > 0 {
		if now, err = k.copyFiles(ctx, occasion{fullScan: true, also: also}); err != nil {
			return err
		}
	}
	changed, _, err := s.edits(ctx, now.tree, also)
	if err != nil {
		return err
	}
	done := map[string]manifest.Edit{}
	for _, e := range changed {
		done[e.Name] = e
	}
	for _, e := range s.planned {
		switch is, ok := done[e.Name]; {
		case now.out[e.Name]:
			s.others = append(s.others, e.Name)
		case !ok || is.After != e.After:
			s.left = append(s.left, e)
			continue
		}
		delete(done, e.Name)
	}
	for name, e := range done {
		if atomicfile.IsTemp(slashpath.Base(name)) && e.Before.Mode == manifest.ModeNone {
			s.litter = append(s.litter, name)
			continue
		}
		s.others = append(s.others, name)
	}
	return nil
}

// do deletes and writes what is left to do.
func (s *switching) do(ctx context.Context, top *os.Root) (ralph.Switched, error) {
	k := s.keeper
	w := &manifest.Writer{
		Root: top,
		Base: strings.TrimSuffix(k.repo.Prefix, "/"),
		Done: &manifest.Restored{},
		Seen: s.seen,
	}
	for _, name := range s.litter {
		if err := w.Delete(name); err != nil {
			return ralph.Switched{}, err
		}
	}
	if err := w.Change(ctx, k.Store, s.left); err != nil {
		return ralph.Switched{}, err
	}
	id, err := s.keepDone(ctx, w.Stayed)
	if err != nil {
		return ralph.Switched{}, err
	}
	return ralph.Switched{Snapshot: id, Stayed: s.below(slices.Concat(s.rules, s.hidden, w.Stayed))}, nil
}

// keepDone saves a snapshot of the workspace as far as it was switched.
func (s *switching) keepDone(ctx context.Context, stayed []string) (string, error) {
	edits := make([]manifest.Edit, 0, len(s.planned))
	for _, e := range s.planned {
		if !slices.Contains(stayed, e.Name) {
			edits = append(
				edits,
				manifest.Edit{Name: strings.TrimPrefix(e.Name, s.from.prefix), Before: e.Before, After: e.After},
			)
		}
	}
	if len(edits) == 0 {
		return s.from.id, nil
	}
	tree, err := s.keeper.edited(ctx, s.from, edits)
	if err != nil {
		return "", err
	}
	return s.keeper.derive(s.from, tree, "planned")
}

// below returns names relative to the workspace.
func (s *switching) below(names []string) []string {
	return text.Mapped(names, func(name string) string { return strings.TrimPrefix(name, s.keeper.repo.Prefix) })
}
