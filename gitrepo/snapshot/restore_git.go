package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

// restorable reads the recorded state of the repository, and refuses if it cannot be restored.
func (k *Keeper) restorable(ctx context.Context, target header) (repository, error) {
	was, err := k.recorded(ctx, target)
	if err != nil {
		return was, err
	}
	h := k.home
	if _, err := os.Stat(h.GitDir); h.linked() && err != nil {
		return was, notRestorable("this was a working tree of the repository %s, which no longer lists it; "+
			"restore without branches, or add it again with git worktree add", h.Common)
	}
	out, err := k.repo.Ask(ctx, "rev-parse", "--show-object-format")
	if now := strings.TrimSpace(out); err == nil && now != h.Format {
		return was, notRestorable(
			"the repository now uses %s, but the snapshot uses %s; move %s away and try again",
			now,
			h.Format,
			h.GitDir,
		)
	}
	return was, nil
}

// restoreGit restores branches, tags and HEAD. It changes no file of the workspace.
func (r *restore) restoreGit(ctx context.Context) error {
	k := r.keeper
	if err := r.ensureRepository(ctx); err != nil {
		return fmt.Errorf("restore repository: %w", err)
	}
	if err := r.dropBrokenRefs(); err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	now, err := k.look(ctx)
	if err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	objects := filepath.Join(k.home.Common, "objects")
	if err := git.RestoreObjects(k.path(history), objects, git.CopyLimit); err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	if err := r.setHead(ctx, now.head); err != nil {
		return fmt.Errorf("restore HEAD: %w", err)
	}
	if err := r.setRefs(ctx, now); err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	r.noteInProgress()
	return r.readHead(ctx)
}

// dropBrokenRefs deletes files of refs that git can neither read nor replace, because an agent wrote
// something else into them.
func (r *restore) dropBrokenRefs() error {
	common := r.keeper.home.Common
	isRef := func(line string) bool { return strings.HasPrefix(line, "ref: ") || manifest.ID().MatchString(line) }
	isPacked := func(line string) bool {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "^"), " ")
		return strings.HasPrefix(line, "#") || manifest.ID().MatchString(id)
	}
	drop := func(path string, intact func(line string) bool) error {
		text, known := scan.ReadSmall(path)
		for line := range strings.Lines(string(text)) {
			if known && !intact(strings.TrimSpace(line)) {
				r.done.Note("%s was broken and was replaced", path)
				return os.Remove(path)
			}
		}
		return nil
	}
	err := drop(filepath.Join(common, "packed-refs"), isPacked)
	walked := filepath.WalkDir(filepath.Join(common, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, ".lock") {
			return nil // git says what is wrong with it
		}
		return drop(path, isRef)
	})
	return errors.Join(err, walked)
}

// ensureRepository recreates the repository if it is gone or broken.
func (r *restore) ensureRepository(ctx context.Context) error {
	if err := r.freeDotGit(); err != nil {
		return err
	}
	h, was := r.keeper.home, r.was
	if r.ask(ctx, "rev-parse", "--git-dir") == nil {
		return nil
	}
	if h.linked() {
		return fmt.Errorf("%s, which it belongs to, cannot be read", h.Common)
	}
	if err := os.MkdirAll(filepath.Join(h.GitDir, "info"), 0o755); err != nil {
		return err
	}
	put := func(name string, text []byte) error {
		return atomicfile.Swap(filepath.Join(h.GitDir, name), text, 0o644)
	}
	foreign := bytes.Contains(bytes.ToLower(was.config), []byte("refstorage"))
	if foreign {
		r.done.Note("the repository's configuration was not restored: its refs use another storage format")
	} else if err := errors.Join(put("config", was.config), put("HEAD", []byte(was.head+"\n"))); err != nil {
		return err
	}
	if len(was.shallow) > 0 {
		if err := put("shallow", was.shallow); err != nil {
			return err
		}
	}
	if err := r.ask(ctx, "init", "--quiet", "--template=", "--object-format="+h.Format); err != nil {
		return err
	}
	if !foreign { // git init has added to it
		if err := put("config", was.config); err != nil {
			return err
		}
	}
	r.done.Note(
		"the repository was recreated: its history, branches and configuration are restored, " +
			"its hooks and reflogs are not, nor are stashes older than the last one",
	)
	return put("info/exclude", was.exclude)
}

// freeDotGit ensures that .git is what it was: a folder, or a file that names one. It saves a file
// that took its place beside the snapshots.
func (r *restore) freeDotGit() error {
	h := r.keeper.home
	dotGit := filepath.Join(h.Top, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	there := err == nil
	if h.DotGit == "" {
		if !there || info.IsDir() || h.GitDir != dotGit {
			return nil
		}
		return r.moveAway(dotGit, info)
	}
	if text, _ := scan.ReadSmall(dotGit); there && info.Mode().IsRegular() && string(text) == h.DotGit {
		return nil
	}
	if there {
		if err := r.moveAway(dotGit, info); err != nil {
			return err
		}
	}
	return atomicfile.Swap(dotGit, []byte(h.DotGit), 0o644)
}

// moveAway removes a .git that is not the repository, and saves its content if it is a file.
func (r *restore) moveAway(dotGit string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s was a file and is now a folder; move it away and try again", dotGit)
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(dotGit)
		r.done.Note(".git was a link to %s, which was removed", scan.Shorten(target))
	case info.Mode().IsRegular():
		text, known := scan.ReadSmall(dotGit)
		if !known {
			return fmt.Errorf("%s is a file, not a repository; move it away and try again", dotGit)
		}
		aside := r.keeper.path("dot-git-" + time.Now().UTC().Format("20060102T150405.000000000"))
		if err := atomicfile.Swap(aside, text, 0o600); err != nil {
			return err
		}
		r.done.Note(".git was a file, which was moved to %s", aside)
	}
	return os.Remove(dotGit)
}

// ask runs git on the user's repository and discards the output.
func (r *restore) ask(ctx context.Context, args ...string) error {
	_, err := r.keeper.repo.Ask(ctx, args...)
	return err
}

// setHead restores HEAD.
func (r *restore) setHead(ctx context.Context, now string) error {
	was := r.was.head
	if was == now {
		return nil
	}
	if branch, symbolic := strings.CutPrefix(was, "ref: "); symbolic {
		return r.ask(ctx, "symbolic-ref", "-m", "ralph restore", "HEAD", branch)
	}
	return r.ask(ctx, "update-ref", "--no-deref", "-m", "ralph restore", "HEAD", was)
}

// setRefs sets the refs that differ: all at once or, if one of them fails, one by one.
func (r *restore) setRefs(ctx context.Context, now repository) error {
	current := make(map[string]ref, len(now.refs))
	for _, one := range now.refs {
		current[one.name] = one
	}
	own, _ := strings.CutPrefix(r.was.head, "ref: ")
	var due []ref
	for _, one := range r.was.refs {
		before, there := current[one.name]
		delete(current, one.name)
		switch {
		case there && before == one:
		case r.keeper.home.linked() && one.name != own:
		case one.target != "":
			if err := r.ask(ctx, "symbolic-ref", one.name, one.target); err != nil {
				return err
			}
			r.done.Refs++
		default:
			due = append(due, one)
		}
	}
	for _, one := range now.refs {
		if _, newer := current[one.name]; newer && !r.keeper.home.linked() {
			r.done.Note("%s is newer than the snapshot and was kept", one.name)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := r.updateRefs(ctx, due); err == nil {
		r.done.Refs += len(due)
		return nil
	}
	for _, one := range due {
		err := r.updateRefs(ctx, []ref{one})
		if failed, ok := errors.AsType[*git.Failure](err); ok {
			r.done.Note("%s was not restored: %s", one.name, scan.Shorten(failed.Stderr))
			continue
		}
		if err != nil {
			return err
		}
		r.done.Refs++
	}
	return nil
}

func (r *restore) updateRefs(ctx context.Context, refs []ref) error {
	var orders strings.Builder
	for _, one := range refs {
		fmt.Fprintf(&orders, "option no-deref\x00update %s\x00%s\x00\x00", one.name, one.id)
	}
	k := r.keeper
	_, err := k.feed(
		ctx,
		k.repo.Call,
		orders.String(),
		git.Call{Args: []string{"update-ref", "-m", "ralph restore", "-z", "--stdin"}},
	)
	return err
}

// noteInProgress notes which git operations are in progress.
func (r *restore) noteInProgress() {
	for _, sign := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply",
		"BISECT_LOG"} {
		path := filepath.Join(r.keeper.home.GitDir, sign)
		if _, err := os.Lstat(path); err == nil {
			r.done.Note("an operation is still in progress in the repository: found %s", path)
		}
	}
}

// readHead reads the index from HEAD. It keeps the cached state of unchanged files if the index can
// be read.
func (r *restore) readHead(ctx context.Context) error {
	if r.ask(ctx, "rev-parse", "-q", "--verify", "HEAD^{tree}") != nil {
		return r.ask(ctx, "read-tree", "--empty")
	}
	if r.ask(ctx, "read-tree", "--reset", "HEAD") == nil {
		return nil
	}
	if err := r.ask(ctx, "read-tree", "HEAD"); err != nil {
		return fmt.Errorf("restore index: %w", err)
	}
	return nil
}
