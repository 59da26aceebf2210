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
	"github.com/ralphloop/ralph/internal/text"
)

// leaveRules leaves the .gitignore files of the first snapshot where they are, if under
// those of the second one files would come into sight that neither of the two holds: what
// work installs and hides must not be taken for a part of the tree when the work is gone.
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

// hiding reports whether files are ignored now that would not be under the rules of the
// second snapshot, and that it does not hold. If there are too many to tell, they are.
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

// Switch makes the workspace what the snapshot To is, where that differs from the
// snapshot From. Each file that differs must be as in the one or as in the other, and
// every other file as in both: then nothing can be lost, however often it is done. Files
// that the rules of To ignore are not deleted, and untracked ones that both ignore are
// not written. What was staged stays so.
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

// switching is one switch on its way. Names are below the top.
type switching struct {
	keeper   *Keeper
	own      func(name string) bool
	from, to header

	planned []manifest.Edit // from the one snapshot to the other
	left    []manifest.Edit // of them, those that are not done yet
	litter  []string        // half-written files of a switch that was cut
	others  []string
	rules   []string // that stay, for what they hide
	hidden  []string // that are not written, since somebody has ignored files in their place
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

// read reads a snapshot of the workspace in the place that it has now.
func (s *switching) read(ctx context.Context, id string) (header, error) {
	k := s.keeper
	c, err := k.read(ctx, id)
	if err == nil && c.prefix != k.home.Prefix {
		err = fmt.Errorf("the snapshot is of another time, when %s had another place in its repository", k.repo.Dir)
	}
	return c, err
}

// edits lead from the first snapshot to a tree, without what is the harness's, and without
// what is ignored and not in the way; of that, hidden are those that would be new.
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

// ignored finds what is not ours to touch. A file that the second snapshot ignores may
// have been there without being in it. One that both ignore is in them because checks see
// it; one that is tracked all the same is a file like any other.
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

// note remembers how the files are that are going to be touched.
func (s *switching) note(top *os.Root) {
	s.seen = map[string]fs.FileInfo{}
	for _, e := range s.planned {
		s.seen[e.Name], _ = top.Lstat(filepath.FromSlash(e.Name))
	}
}

// compare says how far the workspace is, and what in it is neither of the two. What lies
// in the place of new files is looked at although it may be ignored.
func (s *switching) compare(ctx context.Context, top *os.Root) error {
	k := s.keeper
	if err := k.begin(ctx); err != nil {
		return err
	}
	now, err := k.copyFiles(ctx, occasion{fullScan: true})
	if err != nil {
		return err
	}
	also := inTheWay(top, s.planned)
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
		if halfWritten().MatchString(name) && e.Before.Mode == manifest.ModeNone {
			s.litter = append(s.litter, name)
			continue
		}
		s.others = append(s.others, name)
	}
	return nil
}

// halfWritten is how a writer calls a file until it is whole.
var halfWritten = text.LazyRegexp(`(?:^|/)\.ralph-[A-Z2-7]{26}$`)

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

// keepDone keeps a copy of what the workspace is now, as far as it was switched.
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

// below are names as they are below the workspace.
func (s *switching) below(names []string) []string {
	return text.Mapped(names, func(name string) string { return strings.TrimPrefix(name, s.keeper.repo.Prefix) })
}
