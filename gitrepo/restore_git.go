package gitrepo

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
)

// restorable reads what was recorded of the repository and refuses what cannot be
// brought back.
func (k *Keeper) restorable(ctx context.Context, target copied) (repository, error) {
	was, err := k.snaps.recorded(ctx, target)
	if err != nil {
		return was, err
	}
	h := k.snaps.home
	if _, err := os.Stat(h.GitDir); h.linked() && err != nil {
		return was, notRestorable("this was a working tree of the repository %s, which does not know it any more; "+
			"restore without branches, or add it again with git worktree add", h.Common)
	}
	var out bytes.Buffer
	err = k.ask(ctx, call{args: []string{"rev-parse", "--show-object-format"}, out: &out})
	if now := strings.TrimSpace(out.String()); err == nil && now != h.Format {
		return was, notRestorable("the repository is a %s one now and was a %s one; move %s away and try again", now, h.Format, h.GitDir)
	}
	return was, nil
}

// restoreGit brings branches, tags and HEAD back. It changes no file of the workspace.
func (k *Keeper) restoreGit(ctx context.Context, was repository, done *Restored) error {
	if err := k.ensureRepository(ctx, was, done); err != nil {
		return fmt.Errorf("restore repository: %w", err)
	}
	now, err := k.look(ctx)
	if err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	objects := filepath.Join(k.snaps.home.Common, "objects")
	if err := linkObjects(k.snaps.path(history), objects, copyLimit); err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	if err := k.setHead(ctx, was.head, now.head); err != nil {
		return fmt.Errorf("restore HEAD: %w", err)
	}
	if err := k.setRefs(ctx, was, now, done); err != nil {
		return fmt.Errorf("restore branches: %w", err)
	}
	k.noteUnderWay(done)
	return k.readHead(ctx)
}

// ensureRepository makes the repository anew if it is gone or broken.
func (k *Keeper) ensureRepository(ctx context.Context, was repository, done *Restored) error {
	if err := k.freeDotGit(done); err != nil {
		return err
	}
	h := k.snaps.home
	if k.ask(ctx, call{args: []string{"rev-parse", "--git-dir"}}) == nil {
		return nil
	}
	if h.linked() {
		return fmt.Errorf("%s, which it belongs to, cannot be read", h.Common)
	}
	if err := os.MkdirAll(filepath.Join(h.GitDir, "info"), 0o755); err != nil {
		return err
	}
	foreign := bytes.Contains(bytes.ToLower(was.config), []byte("refstorage"))
	if foreign {
		done.note("the repository's configuration was not restored: its refs were kept in a way of their own")
	} else if err := errors.Join(
		replaceFile(filepath.Join(h.GitDir, "config"), was.config, 0o644), replaceFile(filepath.Join(h.GitDir, "HEAD"), []byte(was.head+"\n"), 0o644),
	); err != nil {
		return err
	}
	if len(was.shallow) > 0 {
		if err := replaceFile(filepath.Join(h.GitDir, "shallow"), was.shallow, 0o644); err != nil {
			return err
		}
	}
	args := []string{"init", "--quiet", "--template=", "--object-format=" + h.Format}
	if err := k.ask(ctx, call{args: args}); err != nil {
		return err
	}
	if !foreign { // git has added to it
		if err := replaceFile(filepath.Join(h.GitDir, "config"), was.config, 0o644); err != nil {
			return err
		}
	}
	done.note("the repository was made anew: its history, branches and configuration are back, its hooks and reflogs are not, nor all stashes but the last")
	return replaceFile(filepath.Join(h.GitDir, "info", "exclude"), was.exclude, 0o644)
}

// freeDotGit sees to it that .git is what it was: a folder, or a file that names one.
// What was put in its place is kept beside the snapshots.
func (k *Keeper) freeDotGit(done *Restored) error {
	h := k.snaps.home
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
		return k.setAside(dotGit, done)
	}
	if text, _ := readConfiguration(dotGit); there && info.Mode().IsRegular() && string(text) == h.DotGit {
		return nil
	}
	if there {
		if err := k.setAside(dotGit, done); err != nil {
			return err
		}
	}
	return replaceFile(dotGit, []byte(h.DotGit), 0o644)
}

// setAside takes something away that is not the repository.
func (k *Keeper) setAside(dotGit string, done *Restored) error {
	info, err := os.Lstat(dotGit)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder now and was a file; move it away and try again", dotGit)
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(dotGit)
		done.note(".git was a link to %s, which was taken away", shorten(target))
	case info.Mode().IsRegular():
		text, known := readConfiguration(dotGit)
		if !known {
			return fmt.Errorf("%s is a file and no repository; move it away and try again", dotGit)
		}
		aside := k.snaps.path("dot-git-" + time.Now().UTC().Format("20060102T150405.000000000"))
		if err := replaceFile(aside, text, 0o600); err != nil {
			return err
		}
		done.note(".git was a file, which is %s now", aside)
	}
	return os.Remove(dotGit)
}

// setHead makes HEAD what it was.
func (k *Keeper) setHead(ctx context.Context, was, now string) error {
	if was == now {
		return nil
	}
	if branch, symbolic := strings.CutPrefix(was, "ref: "); symbolic {
		return k.ask(ctx, call{args: []string{"symbolic-ref", "-m", "ralph restore", "HEAD", branch}})
	}
	return k.ask(ctx, call{args: []string{"update-ref", "--no-deref", "-m", "ralph restore", "HEAD", was}})
}

// setRefs sets those that differ, all at once, or, if one of them stands in the way, one
// by one.
func (k *Keeper) setRefs(ctx context.Context, was, now repository, done *Restored) error {
	current := make(map[string]ref, len(now.refs))
	for _, r := range now.refs {
		current[r.name] = r
	}
	own, _ := strings.CutPrefix(was.head, "ref: ")
	var due []ref
	for _, r := range was.refs {
		before, there := current[r.name]
		delete(current, r.name)
		switch {
		case there && before == r:
		case k.snaps.home.linked() && r.name != own:
		case r.target != "":
			if err := k.ask(ctx, call{args: []string{"symbolic-ref", r.name, r.target}}); err != nil {
				return err
			}
			done.Refs++
		default:
			due = append(due, r)
		}
	}
	for _, r := range now.refs {
		if _, newer := current[r.name]; newer && !k.snaps.home.linked() {
			done.note("%s is newer than the snapshot and was left alone", r.name)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := k.updateRefs(ctx, due); err == nil {
		done.Refs += len(due)
		return nil
	}
	for _, r := range due {
		err := k.updateRefs(ctx, []ref{r})
		if failed, ok := errors.AsType[*failure](err); ok {
			done.note("%s was not restored: %s", r.name, shorten(failed.stderr))
			continue
		}
		if err != nil {
			return err
		}
		done.Refs++
	}
	return nil
}

func (k *Keeper) updateRefs(ctx context.Context, refs []ref) error {
	var orders strings.Builder
	for _, r := range refs {
		fmt.Fprintf(&orders, "option no-deref\x00update %s\x00%s\x00\x00", r.name, r.id)
	}
	return k.snaps.feed([]byte(orders.String()), func(file string) error {
		return k.ask(ctx, call{args: []string{"update-ref", "-m", "ralph restore", "-z", "--stdin"}, stdin: file})
	})
}

// noteUnderWay says what git was doing when the restore came.
func (k *Keeper) noteUnderWay(done *Restored) {
	for _, sign := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"} {
		path := filepath.Join(k.snaps.home.GitDir, sign)
		if _, err := os.Lstat(path); err == nil {
			done.note("something is still under way in the repository: there is %s", path)
		}
	}
}

// readHead makes the index what HEAD says. It keeps what is known of unchanged files, if
// the index can be read.
func (k *Keeper) readHead(ctx context.Context) error {
	if k.ask(ctx, call{args: []string{"rev-parse", "-q", "--verify", "HEAD^{tree}"}}) != nil {
		return k.ask(ctx, call{args: []string{"read-tree", "--empty"}})
	}
	if k.ask(ctx, call{args: []string{"read-tree", "--reset", "HEAD"}}) == nil {
		return nil
	}
	if err := k.ask(ctx, call{args: []string{"read-tree", "HEAD"}}); err != nil {
		return fmt.Errorf("restore index: %w", err)
	}
	return nil
}
