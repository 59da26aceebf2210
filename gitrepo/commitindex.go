package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// indexLimit is the size up to which an index is kept: some millions of files.
	indexLimit = 256 << 20
	// defaultLockPatience is how long another git may hold the index.
	defaultLockPatience = 10 * time.Second
)

// keptIndex is the index as it was before something was staged.
type keptIndex struct {
	path    string
	known   bool // false if it could not be read, and so cannot be put back
	content []byte
	mode    fs.FileMode
}

func keepIndex(gitDir string) keptIndex {
	k := keptIndex{path: filepath.Join(gitDir, "index"), mode: 0o644}
	info, err := os.Lstat(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		k.known = true
		return k
	}
	k.content, k.known = readIndex(k.path)
	if k.known && err == nil {
		k.mode = info.Mode().Perm()
	}
	return k
}

func readIndex(path string) ([]byte, bool) {
	f, ok := regular(os.OpenFile(path, reading, 0))
	if !ok {
		return nil, false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, indexLimit+1))
	return content, err == nil && len(content) <= indexLimit
}

// putBack makes the index what it was, under git's own lock. It is for the end of a
// commit that was not made, so it does not heed a context that is done.
func (k keptIndex) putBack(ctx context.Context) error {
	if !k.known {
		return errors.New("put index back: it is not known how it was")
	}
	if now, ok := readIndex(k.path); ok && k.content != nil && bytes.Equal(now, k.content) {
		return nil
	}
	const patience = 2 * time.Second
	lock := k.path + ".lock"
	if holder, err := unlocked(context.WithoutCancel(ctx), lock, patience); err != nil {
		return fmt.Errorf("put index back: %w", err)
	} else if holder != "" {
		return fmt.Errorf("put index back: %s", holder)
	}
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, k.mode)
	if err != nil {
		return fmt.Errorf("put index back: %w", err)
	}
	defer os.Remove(lock)
	_, err = f.Write(k.content)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("put index back: %w", err)
	}
	if k.content != nil {
		err = os.Rename(lock, k.path)
	} else if err = os.Remove(k.path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("put index back: %w", err)
	}
	return nil
}

// unlocked waits until a lock file is gone, with growing pauses. If it stays, the answer
// is a sentence about it. It is never removed: whether a git is at work there, perhaps
// on another machine, nobody can know from here.
func unlocked(ctx context.Context, lock string, patience time.Duration) (holder string, err error) {
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
			return heldBy(lock, info), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for lock: %w", context.Cause(ctx))
		case <-time.After(min(pause, left)):
		}
	}
}

func heldBy(lock string, info fs.FileInfo) string {
	age := max(time.Since(info.ModTime()), 0).Round(time.Second)
	return fmt.Sprintf("another git holds %s, since %v", lock, age)
}

// old reports whether a lock is none that is about to go.
func old(lock fs.FileInfo) bool { return time.Since(lock.ModTime()) > time.Minute }
