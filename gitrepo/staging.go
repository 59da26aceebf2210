package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

const (
	// indexLimit is the largest index that is saved: some millions of files.
	indexLimit = 256 << 20
	// defaultLockPatience is how long to wait while another git process holds the index.
	defaultLockPatience = 10 * time.Second
)

// savedIndex is the index as it was before anything was staged.
type savedIndex struct {
	path    string
	known   bool // false if it could not be read and cannot be restored
	content []byte
	mode    fs.FileMode
}

func saveIndex(gitDir string) savedIndex {
	k := savedIndex{path: filepath.Join(gitDir, "index"), mode: 0o644}
	info, err := os.Lstat(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		k.known = true
		return k
	}
	k.content, k.known = scan.Read(k.path, indexLimit)
	if k.known && err == nil {
		k.mode = info.Mode().Perm()
	}
	return k
}

// restore writes the index back under git's own lock. It runs after a commit that was not made, so
// it ignores a canceled context.
func (k savedIndex) restore(ctx context.Context) error {
	if !k.known {
		return errors.New("restore index: its original content is unknown")
	}
	if now, ok := scan.Read(k.path, indexLimit); ok && k.content != nil && bytes.Equal(now, k.content) {
		return nil
	}
	return wrapError("restore index", k.replace(context.WithoutCancel(ctx)))
}

func (k savedIndex) replace(ctx context.Context) error {
	const patience = 2 * time.Second
	lock := k.path + ".lock"
	if holder, err := waitForLock(ctx, lock, patience); err != nil {
		return err
	} else if holder != "" {
		return errors.New(holder)
	}
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, k.mode)
	if err != nil {
		return err
	}
	defer os.Remove(lock)
	_, err = f.Write(k.content)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if k.content != nil {
		return os.Rename(lock, k.path)
	}
	if err := os.Remove(k.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// waitForLock waits until a lock file is gone, with growing pauses. If the file stays, holder
// describes it. The file is never removed: a git process, perhaps on another machine, may still be
// using it.
func waitForLock(ctx context.Context, lock string, patience time.Duration) (holder string, err error) {
	deadline := time.Now().Add(patience)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		info, err := os.Lstat(lock)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("look for lock: %w", err)
		}
		left := time.Until(deadline)
		if left <= 0 {
			age := max(time.Since(info.ModTime()), 0).Round(time.Second)
			return fmt.Sprintf("another git process has held %s for %v", lock, age), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for lock: %w", context.Cause(ctx))
		case <-time.After(min(pause, left)):
		}
	}
}

// staging is the tree that a commit will contain, and the unstaged files of the workspace.
type staging struct {
	tree string
	rest []string
}

// unstaged lists the files that differ from the index.
func (c *Committer) unstaged(ctx context.Context, what []string) ([]string, error) {
	out, err := c.repo.run(
		ctx,
		append([]string{"ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--"}, what...)...)
	return git.SplitNames(out), wrapError("look at what is not staged", err)
}

// changedSince reports whether a hook changed files, either in the commit or in the workspace.
func (c *Committer) changedSince(ctx context.Context, before staging, what []string) (bool, error) {
	_, err := c.repo.run(ctx, append([]string{"diff", "--quiet", "--no-ext-diff", before.tree, "HEAD", "--"}, what...)...)
	if same, err := succeeded("compare commit", err); !same || err != nil {
		return err == nil, err
	}
	rest, err := c.unstaged(ctx, what)
	return !slices.Equal(rest, before.rest), err
}
