package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// copyFiles updates the index to match the workspace and writes it as a tree. A damaged index is
// rebuilt from the last snapshot. If objects are missing that it needs, it is rebuilt from the
// files alone.
func (k *Keeper) copyFiles(ctx context.Context, o occasion) (taken, error) {
	if err := k.ensureIndex(ctx); err != nil {
		return taken{}, err
	}
	got, err := k.copyChanged(ctx, o)
	for _, renew := range []func(context.Context) error{k.renewIndex, k.dropIndex} {
		if err == nil || ctx.Err() != nil {
			break
		}
		if again := renew(ctx); again != nil {
			return got, errors.Join(err, again)
		}
		k.forced, k.always.taken = nil, ""
		got, err = k.copyChanged(ctx, o)
	}
	return got, err
}

// ensureIndex starts with the files that the user's repository tracks, so that tracked files that
// are ignored are included. It skips submodules, whose files are taken one by one, and conflicts,
// where the file itself is enough. It does not take over git's cached file state, because the
// repository may convert files.
func (k *Keeper) ensureIndex(ctx context.Context) error {
	if _, err := os.Lstat(k.path("index")); err == nil {
		return nil
	}
	out, err := k.repo.Ask(ctx, "ls-files", "-z", "--stage", "--full-name", "--", k.home.pathspec())
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		out = "" // without it every file is new
	}
	var entries strings.Builder
	isOwn := k.repo.OwnFiles()
	for _, record := range git.SplitNames(out) {
		about, name, _ := strings.Cut(record, "\t")
		file := strings.HasPrefix(about, "100") || strings.HasPrefix(about, manifest.ModeLink)
		if file && strings.HasSuffix(about, " 0") && !isOwn(name) {
			entries.WriteString(record + "\x00")
		}
	}
	if entries.Len() == 0 {
		return nil
	}
	return k.updateIndex(ctx, entries.String(), "--index-info")
}

// renewIndex rebuilds the index from the last snapshot, or from the user's index.
func (k *Keeper) renewIndex(ctx context.Context) error {
	if err := k.dropIndex(ctx); err != nil {
		return err
	}
	if k.last.tree == "" {
		return k.ensureIndex(ctx)
	}
	_, err := k.inTree(ctx, git.Call{Args: []string{"read-tree", k.last.tree}})
	return err
}

func (k *Keeper) dropIndex(context.Context) error {
	for _, name := range []string{"index", "index.lock"} {
		if err := os.Remove(k.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// pathspec returns a pathspec for the workspace that works anywhere in the working tree.
func (h home) pathspec() string {
	if h.Prefix == "" {
		return ":(top)"
	}
	return ":(top,literal)" + strings.TrimSuffix(h.Prefix, "/")
}

func (k *Keeper) copyChanged(ctx context.Context, o occasion) (taken, error) {
	found, err := k.differences(ctx)
	if err != nil {
		return taken{}, err
	}
	found.Fresh = slices.Concat(found.Fresh, k.trackedIgnored(ctx, found.Fresh), o.also)
	looks, due := k.always.due(k.repo.Top)
	if o.fullScan {
		due = slices.Concat(due, k.hiddenWrites(ctx, manifest.NameSet(found.Gone)))
	}
	found.Fresh = append(found.Fresh, due...)
	top, err := os.OpenRoot(k.repo.Top)
	if err != nil {
		return taken{}, fmt.Errorf("open working tree: %w", err)
	}
	defer top.Close()
	load := manifest.Select(top, found)
	for _, name := range due {
		if _, due := slices.BinarySearch(load.Take, name); due { // make git read a file that looks unchanged
			load.Gone = append(load.Gone, name)
		}
	}
	if err := k.takeOver(ctx, &load); err != nil {
		return taken{}, err
	}
	k.always.taken = looks
	got := taken{
		tree: k.last.tree,
		left: append(found.Left, load.Sentences()...),
		out:  load.Out(),
		hash: k.hasher.Hash(top, load.Left),
	}
	if !found.Staged && load.Empty() && k.last.tree != "" {
		return got, nil
	}
	got.tree, err = k.writeTree(ctx)
	return got, err
}

func (k *Keeper) differences(ctx context.Context) (manifest.Differences, error) {
	var warned git.Head
	args := []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--", k.home.pathspec()}
	out, err := k.inTree(ctx, git.Call{Args: args, Warned: &warned})
	if err != nil {
		return manifest.Differences{}, err
	}
	d := manifest.Differences{ByGit: true}
	for line := range strings.Lines(warned.String()) {
		if what, ok := strings.CutPrefix(line, "warning: could not open directory "); ok {
			d.Left = append(d.Left, "a folder cannot be read and is not in the snapshot: "+scan.Shorten(what))
		}
	}
	st, err := git.ParseStatus(out)
	if err != nil {
		return d, fmt.Errorf("read status: %w", err)
	}
	isOwn := k.repo.OwnFiles()
	for _, e := range st.Entries {
		switch {
		case isOwn(e.Name):
		case e.Untracked && strings.HasSuffix(e.Name, "/"):
			files, left := k.nested(ctx, e.Name, 0)
			d.Fresh, d.Left = append(d.Fresh, files...), append(d.Left, left...)
		case e.Untracked:
			d.Fresh = append(d.Fresh, e.Name)
		default:
			d.Staged = d.Staged || e.XY[0] != '.'
			switch e.XY[1] {
			case '.':
			case 'D':
				d.Gone = append(d.Gone, e.Name)
			default:
				d.Changed = append(d.Changed, e.Name)
			}
		}
	}
	return d, nil
}

// nested lists the files of a submodule or of a repository inside the workspace, as git would if it
// ran there. Once one of them is in the index, git descends into the folder by itself.
func (k *Keeper) nested(ctx context.Context, folder string, depth int) (files, left []string) {
	const deepest = 16
	dir := filepath.Join(k.repo.Top, filepath.FromSlash(folder))
	var out string
	err := errors.New("too many nested repositories")
	if depth < deepest {
		env := append(k.environment(), "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+k.path("tmp/none"))
		args := []string{"-c", "core.excludesFile=" + k.home.Excludes, "ls-files", "-z", "--others", "--exclude-standard"}
		out, err = k.git.Run(ctx, git.Call{Dir: dir, Env: env, Args: args})
	}
	if err != nil {
		return nil, []string{
			fmt.Sprintf(
				"%s is a separate repository, whose files are not in the snapshot: %s",
				scan.Shorten(folder),
				scan.Shorten(err.Error()),
			),
		}
	}
	for _, name := range git.SplitNames(out) {
		if !strings.HasSuffix(name, "/") {
			files = append(files, folder+name)
			continue
		}
		below, unread := k.nested(ctx, folder+name, depth+1)
		files, left = append(files, below...), append(left, unread...)
	}
	return files, left
}

// takeOver adds files to the index. Git adds all or none: if it refuses, takeOver tries each half
// until it has found the files that cannot be added.
func (k *Keeper) takeOver(ctx context.Context, l *manifest.Selection) error {
	// Deletions come first: they make room for files below the same name. A deleted file may still
	// exist as something else, or seem to exist behind a link.
	if len(l.Gone) > 0 {
		if err := k.updateIndex(ctx, joined(l.Gone), "--force-remove", "--stdin"); err != nil {
			return err
		}
	}
	var put func(names []string) error
	put = func(names []string) error {
		if len(names) == 0 {
			return nil
		}
		err := k.updateIndex(ctx, joined(names), "--add", "--remove", "--replace", "--stdin")
		failed, refused := errors.AsType[*git.Failure](err)
		switch {
		case !refused:
			return err
		case strings.Contains(failed.Stderr, "index.lock"), errors.Is(err, ralph.ErrIO):
			return err
		case len(names) == 1:
			l.Leave(names[0], "git cannot store it: "+scan.Shorten(failed.Stderr))
			return nil
		}
		half := len(names) / 2
		return errors.Join(put(names[:half]), put(names[half:]))
	}
	return put(l.Take)
}

func (k *Keeper) updateIndex(ctx context.Context, text string, how ...string) error {
	_, err := k.feed(ctx, k.inTree, text, git.Call{Args: append([]string{"update-index", "-z"}, how...)})
	return err
}

func joined(names []string) string { return strings.Join(names, "\x00") + "\x00" }
