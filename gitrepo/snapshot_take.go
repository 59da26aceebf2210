package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// filesTaken is the tree that was made of the workspace's files.
type filesTaken struct {
	tree string
	left []string
	out  map[string]bool
}

// copyFiles brings what is kept in line with the workspace: what differs is asked for,
// taken over, and made a tree. An index that is damaged is made anew from the last
// snapshot; if objects are missing that it counts on, from the files alone.
func (k *Keeper) copyFiles(ctx context.Context, o occasion) (filesTaken, error) {
	if err := k.ensureIndex(ctx); err != nil {
		return filesTaken{}, err
	}
	taken, err := k.copyChanged(ctx, o)
	for _, renew := range []func(context.Context) error{k.renewIndex, k.dropIndex} {
		if err == nil || ctx.Err() != nil {
			break
		}
		if again := renew(ctx); again != nil {
			return taken, errors.Join(err, again)
		}
		k.forced, k.alwaysIn = nil, ""
		taken, err = k.copyChanged(ctx, o)
	}
	return taken, err
}

// ensureIndex begins with what the user's repository tracks, so that files that are
// ignored in spite of it are seen. Submodules are left out: their files are taken
// one by one. So are conflicts, of which the file itself is enough. Git's memory of what
// has not changed is not taken over, since its files may be converted ones.
func (k *Keeper) ensureIndex(ctx context.Context) error {
	if _, err := os.Lstat(k.snaps.path("index")); err == nil {
		return nil
	}
	out := limited{limit: statusLimit}
	args := []string{"ls-files", "-z", "--stage", "--full-name", "--", k.pathspec()}
	if err := k.ask(ctx, call{args: args, out: &out}); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil // without it every file is a new one
	}
	var entries strings.Builder
	for _, record := range splitNames(out.text.String()) {
		about, name, _ := strings.Cut(record, "\t")
		if strings.HasPrefix(about, "100") && strings.HasSuffix(about, " 0") || strings.HasPrefix(about, modeLink) && strings.HasSuffix(about, " 0") {
			if name != k.repo.prefix+view {
				entries.WriteString(record + "\x00")
			}
		}
	}
	if entries.Len() == 0 {
		return nil
	}
	return k.updateIndex(ctx, entries.String(), "--index-info")
}

// renewIndex makes the index from the last snapshot, or from the user's.
func (k *Keeper) renewIndex(ctx context.Context) error {
	if err := k.dropIndex(ctx); err != nil {
		return err
	}
	if k.last.tree == "" {
		return k.ensureIndex(ctx)
	}
	return k.snaps.inTree(ctx, call{args: []string{"read-tree", k.last.tree}})
}

func (k *Keeper) dropIndex(context.Context) error {
	for _, name := range []string{"index", "index.lock"} {
		if err := os.Remove(k.snaps.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// pathspec is the workspace, from anywhere in the working tree.
func (k *Keeper) pathspec() string {
	if k.repo.prefix == "" {
		return ":(top)"
	}
	return ":(top,literal)" + strings.TrimSuffix(k.repo.prefix, "/")
}

func (k *Keeper) copyChanged(ctx context.Context, o occasion) (filesTaken, error) {
	found, err := k.differences(ctx)
	if err != nil {
		return filesTaken{}, err
	}
	found.fresh = slices.Concat(found.fresh, k.trackedIgnored(ctx), o.also)
	always, due := k.alwaysDue()
	if o.closely {
		due = slices.Concat(due, k.disguised(ctx, nameSet(found.gone)))
	}
	found.fresh = append(found.fresh, due...)
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return filesTaken{}, fmt.Errorf("open working tree: %w", err)
	}
	defer top.Close()
	load := weigh(top, found)
	for _, name := range due {
		if _, taken := slices.BinarySearch(load.take, name); taken { // git would not read a file that looks the same
			load.gone = append(load.gone, name)
		}
	}
	if err := k.takeOver(ctx, &load); err != nil {
		return filesTaken{}, err
	}
	k.alwaysIn = always
	taken := filesTaken{tree: k.last.tree, left: append(found.left, load.sentences()...), out: load.out()}
	if !found.staged && load.empty() && k.last.tree != "" {
		return taken, nil
	}
	out := limited{limit: 1 << 10}
	if err := k.snaps.inTree(ctx, call{args: []string{"write-tree"}, out: &out}); err != nil {
		return filesTaken{}, err
	}
	taken.tree = strings.TrimSpace(out.text.String())
	return taken, nil
}

// differences is what git sees of the workspace that is not in the index.
type differences struct {
	changed []string // in the index, and other than there
	gone    []string // in the index only
	fresh   []string // not in the index
	staged  bool     // the index itself is other than the last snapshot
	byGit   bool     // git has to take them
	left    []string
}

func (k *Keeper) differences(ctx context.Context) (differences, error) {
	out := limited{limit: statusLimit}
	var warned head
	args := []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--", k.pathspec()}
	if err := k.snaps.inTree(ctx, call{args: args, out: &out, warned: &warned}); err != nil {
		return differences{}, err
	}
	d := differences{byGit: true}
	for line := range strings.Lines(warned.text.String()) {
		if what, ok := strings.CutPrefix(line, "warning: could not open directory "); ok {
			d.left = append(d.left, "a folder cannot be read and is not in the snapshot: "+shorten(what))
		}
	}
	for _, record := range splitNames(out.text.String()) {
		before, known := fieldsBefore[record[0]]
		if !known {
			continue
		}
		fields := strings.SplitN(record, " ", before+1)
		if len(fields) != before+1 {
			return d, fmt.Errorf("read status: cannot read %q", record)
		}
		name := fields[before]
		switch {
		case name == k.repo.prefix+view:
		case record[0] == '?' && strings.HasSuffix(name, "/"):
			files, left := k.nested(ctx, name, 0)
			d.fresh, d.left = append(d.fresh, files...), append(d.left, left...)
		case record[0] == '?':
			d.fresh = append(d.fresh, name)
		default:
			d.staged = d.staged || fields[1][0] != '.'
			switch fields[1][1] {
			case '.':
			case 'D':
				d.gone = append(d.gone, name)
			default:
				d.changed = append(d.changed, name)
			}
		}
	}
	return d, nil
}

// nested lists the files of a repository inside the workspace, or of a submodule, as git
// would if it were asked in there. As soon as one of them is in the index, git looks into
// the folder by itself.
func (k *Keeper) nested(ctx context.Context, folder string, depth int) (files, left []string) {
	const deepest = 16
	dir := filepath.Join(k.repo.Top, filepath.FromSlash(folder))
	out := limited{limit: statusLimit}
	err := errors.New("too many repositories inside of each other")
	if depth < deepest {
		env := append(k.snaps.apart(), "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+k.snaps.path("tmp/none"))
		args := []string{"-c", "core.excludesFile=" + k.snaps.home.Excludes, "ls-files", "-z", "--others", "--exclude-standard"}
		err = k.snaps.git.run(ctx, call{dir: dir, env: env, args: args, out: &out})
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("%s is a repository of its own, whose files are not in the snapshot: %s", shorten(folder), shorten(err.Error()))}
	}
	for _, name := range splitNames(out.text.String()) {
		if !strings.HasSuffix(name, "/") {
			files = append(files, folder+name)
			continue
		}
		below, unread := k.nested(ctx, folder+name, depth+1)
		files, left = append(files, below...), append(left, unread...)
	}
	return files, left
}

// takeOver puts files into the index. Git takes all or none: if it refuses, one half
// and the other are tried, until those are found that cannot be taken.
func (k *Keeper) takeOver(ctx context.Context, l *load) error {
	// What goes is first: it makes room for files below its name. It may still be there,
	// as something else, or seem to be, behind a link.
	if len(l.gone) > 0 {
		if err := k.updateIndex(ctx, joined(l.gone), "--force-remove", "--stdin"); err != nil {
			return err
		}
	}
	var put func(names []string) error
	put = func(names []string) error {
		if len(names) == 0 {
			return nil
		}
		err := k.updateIndex(ctx, joined(names), "--add", "--remove", "--replace", "--stdin")
		failed, refused := errors.AsType[*failure](err)
		switch {
		case !refused:
			return err
		case strings.Contains(failed.stderr, "index.lock"), strings.Contains(failed.stderr, "No space left"), strings.Contains(failed.stderr, "index file"):
			return err
		case len(names) == 1:
			l.leave(names[0], "git cannot take it: "+shorten(failed.stderr))
			return nil
		}
		half := len(names) / 2
		return errors.Join(put(names[:half]), put(names[half:]))
	}
	return put(l.take)
}

func (k *Keeper) updateIndex(ctx context.Context, text string, how ...string) error {
	return k.snaps.feed([]byte(text), func(file string) error {
		return k.snaps.inTree(ctx, call{args: append([]string{"update-index", "-z"}, how...), stdin: file})
	})
}

func joined(names []string) string { return strings.Join(names, "\x00") + "\x00" }
