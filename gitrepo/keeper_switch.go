package gitrepo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
)

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
	from, to copied

	planned []edit   // from the one snapshot to the other
	left    []edit   // of them, those that are not done yet
	litter  []string // half-written files of a switch that was cut
	others  []string
	rules   []string // that stay, for what they hide
	hidden  []string // that are not written, since somebody has ignored files in their place
	seen    map[string]fs.FileInfo
}

func (s *switching) run(ctx context.Context, from, to string) (ralph.Switched, error) {
	k := s.keeper
	var err error
	if s.from, err = k.here(ctx, from); err != nil {
		return ralph.Switched{}, err
	}
	if s.to, err = k.here(ctx, to); err != nil {
		return ralph.Switched{}, err
	}
	if s.planned, s.hidden, err = s.edits(ctx, s.to.tree, nil); err != nil {
		return ralph.Switched{}, err
	}
	if err := s.leaveRules(ctx); err != nil {
		return ralph.Switched{}, err
	}
	k.seen = held{} // whatever happens, the tree is not the one of the last fingerprint
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

// here reads a snapshot of the workspace in the place that it has now.
func (k *Keeper) here(ctx context.Context, id string) (copied, error) {
	c, err := k.snaps.read(ctx, id)
	if err == nil && c.prefix != k.snaps.home.Prefix {
		err = fmt.Errorf("the snapshot is of another time, when %s had another place in its repository", k.repo.Dir)
	}
	return c, err
}

// edits lead from the first snapshot to a tree, without what is the harness's, and without
// what is ignored and not in the way; of that, hidden are those that would be new.
func (s *switching) edits(ctx context.Context, to string, inTheWay []string) (edits []edit, hidden []string, err error) {
	all, err := s.keeper.snaps.edits(ctx, s.from.tree, to)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(e edit) bool {
		name, inside := strings.CutPrefix(e.name, s.keeper.repo.prefix)
		return !inside || s.own(name)
	})
	stays, err := s.ignored(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	edits = slices.DeleteFunc(all, func(e edit) bool {
		stay := stays[e.name] && !slices.Contains(inTheWay, e.name)
		if stay && e.before.mode == modeNone {
			hidden = append(hidden, e.name)
		}
		return stay
	})
	return edits, hidden, nil
}

// ignored finds what is not ours to touch. A file that the second snapshot ignores may
// have been there without being in it. One that both ignore is in them because checks see
// it; one that is tracked all the same is a file like any other.
func (s *switching) ignored(ctx context.Context, edits []edit) (map[string]bool, error) {
	k := s.keeper
	var names []string
	for _, e := range edits {
		names = append(names, e.name)
	}
	byTo, err := k.ignoredBy(ctx, s.to, names)
	if err != nil || len(byTo) == 0 {
		return nil, err
	}
	byFrom, err := k.ignoredBy(ctx, s.from, names)
	if err != nil {
		return nil, err
	}
	out := limited{limit: statusLimit}
	if err := k.ask(ctx, call{args: []string{"ls-files", "-z", "--cached", "--full-name", "--", k.pathspec()}, out: &out}); err != nil {
		return nil, err
	}
	tracked := nameSet(splitNames(out.text.String()))
	stays := map[string]bool{}
	for _, e := range edits {
		gone := e.after.mode == modeNone
		stays[e.name] = byTo[e.name] && (gone || byFrom[e.name]) && !tracked[e.name]
	}
	return stays, nil
}

// note remembers how the files are that are going to be touched.
func (s *switching) note(top *os.Root) {
	s.seen = map[string]fs.FileInfo{}
	for _, e := range s.planned {
		s.seen[e.name], _ = top.Lstat(filepath.FromSlash(e.name))
	}
}

// compare says how far the workspace is, and what in it is neither of the two. What lies
// in the place of new files is looked at although it may be ignored.
func (s *switching) compare(ctx context.Context, top *os.Root) error {
	k := s.keeper
	if err := k.begin(ctx); err != nil {
		return err
	}
	now, err := k.copyFiles(ctx, occasion{closely: true})
	if err != nil {
		return err
	}
	also := inTheWay(top, s.planned)
	if len(also) > 0 {
		if now, err = k.copyFiles(ctx, occasion{closely: true, also: also}); err != nil {
			return err
		}
	}
	changed, _, err := s.edits(ctx, now.tree, also)
	if err != nil {
		return err
	}
	done := map[string]edit{}
	for _, e := range changed {
		done[e.name] = e
	}
	for _, e := range s.planned {
		switch is, ok := done[e.name]; {
		case now.out[e.name]:
			s.others = append(s.others, e.name)
		case !ok || is.after != e.after:
			s.left = append(s.left, e)
			continue
		}
		delete(done, e.name)
	}
	for name, e := range done {
		if halfWritten().MatchString(name) && e.before.mode == modeNone {
			s.litter = append(s.litter, name)
			continue
		}
		s.others = append(s.others, name)
	}
	return nil
}

// halfWritten is how a writer calls a file until it is whole.
var halfWritten = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|/)\.ralph-[A-Z2-7]{26}$`) })

// do deletes and writes what is left to do.
func (s *switching) do(ctx context.Context, top *os.Root) (ralph.Switched, error) {
	k := s.keeper
	w := &writer{root: top, base: strings.TrimSuffix(k.repo.prefix, "/"), done: &Restored{}, seen: s.seen}
	for _, name := range s.litter {
		if err := w.delete(name); err != nil {
			return ralph.Switched{}, err
		}
	}
	for _, e := range s.left {
		if e.after.mode != modeNone {
			continue
		}
		if err := w.delete(e.name); err != nil {
			return ralph.Switched{}, err
		}
	}
	w.prune()
	if err := w.put(ctx, k.snaps, s.left); err != nil {
		return ralph.Switched{}, err
	}
	id, err := s.keepDone(ctx, w.stayed)
	if err != nil {
		return ralph.Switched{}, err
	}
	return ralph.Switched{Copy: id, Stayed: s.below(slices.Concat(s.rules, s.hidden, w.stayed))}, nil
}

// keepDone keeps a copy of what the workspace is now, as far as it was switched.
func (s *switching) keepDone(ctx context.Context, stayed []string) (string, error) {
	edits := make([]edit, 0, len(s.planned))
	for _, e := range s.planned {
		if !slices.Contains(stayed, e.name) {
			edits = append(edits, edit{strings.TrimPrefix(e.name, s.from.prefix), e.before, e.after})
		}
	}
	if len(edits) == 0 {
		return s.from.id, nil
	}
	tree, err := s.keeper.snaps.edited(ctx, s.from, edits)
	if err != nil {
		return "", err
	}
	return s.keeper.snaps.derive(s.from, tree, "planned")
}

// below are names as they are below the workspace.
func (s *switching) below(names []string) []string {
	var short []string
	for _, name := range names {
		short = append(short, strings.TrimPrefix(name, s.keeper.repo.prefix))
	}
	return short
}
