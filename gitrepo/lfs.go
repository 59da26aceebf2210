package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// PointedTo lists the files that git calls changed only because Git LFS does not run: git has a pointer
// with the size and the hash of the file. Files of other filters that do not run count as changed if
// git has to look at them.
func (r *Repo) PointedTo(ctx context.Context, entries []git.StatusEntry) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return pointedTo(ctx, r, entries)
}

func pointedTo(ctx context.Context, r *Repo, entries []git.StatusEntry) ([]string, error) {
	filters := r.configured.refused()
	isChanged := func(e git.StatusEntry) bool { return e.XY == ".M" }
	if len(filters) == 0 || !slices.ContainsFunc(entries, isChanged) {
		return nil, nil
	}
	under := map[string]bool{}
	for _, name := range filters {
		files, err := filtered(ctx, r, name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			under[file] = true
		}
	}
	var ids strings.Builder
	for _, e := range entries {
		if isChanged(e) && under[e.Name] {
			fmt.Fprintln(&ids, e.ID)
		}
	}
	if ids.Len() == 0 {
		return nil, nil
	}
	pointers, err := readPointers(ctx, r, ids.String())
	var same []string
	for _, e := range entries {
		pointer, found := pointers[e.ID]
		if isChanged(e) && under[e.Name] && found && pointer.matches(r, e.Name) {
			same = append(same, e.Name)
		}
	}
	return same, err
}

// pointer is what Git LFS commits in place of a file.
type pointer struct {
	sum  string
	size int64
}

// readPointers returns the pointers among objects, which are listed one per line.
func readPointers(ctx context.Context, r *Repo, ids string) (map[string]pointer, error) {
	list, err := temporary(ids)
	if err != nil {
		return nil, fmt.Errorf("read pointers: %w", err)
	}
	defer os.Remove(list)
	// The files that these objects are of may be large.
	out, err := r.call(ctx, git.Call{Args: []string{"cat-file", "--batch"}, Stdin: list})
	if errors.Is(err, git.ErrTooMuch) {
		err = nil
	}
	found := map[string]pointer{}
	for out != "" {
		var id, kind string
		var size int
		head, rest, _ := strings.Cut(out, "\n")
		if n, _ := fmt.Sscan(head, &id, &kind, &size); n != 3 || size >= len(rest) {
			break
		}
		if p, ok := parsePointer(rest[:size]); ok {
			found[id] = p
		}
		out = rest[size+1:]
	}
	return found, wrapError("read pointers", err)
}

func parsePointer(text string) (p pointer, ok bool) {
	if !strings.HasPrefix(text, "version https://git-lfs.github.com/spec/") {
		return p, false
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "oid":
			p.sum = strings.TrimPrefix(value, "sha256:")
		case "size":
			size, err := strconv.ParseInt(value, 10, 64)
			p.size, ok = size, err == nil
		}
	}
	return p, ok && len(p.sum) == hex.EncodedLen(sha256.Size)
}

// hashed is the hash of a file's content when it had a stamp.
type hashed struct {
	stamp scan.Stamp
	sum   string
}

// matches reports whether the pointer is to a file as it is.
func (p pointer) matches(r *Repo, name string) bool {
	path := filepath.Join(r.Top, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err != nil || info.Size() != p.size {
		return false
	}
	stamp := scan.StampOf(info)
	known := r.configured.hashes[name]
	if known.stamp != stamp {
		top, err := os.OpenRoot(r.Top)
		if err != nil {
			return false
		}
		defer top.Close()
		file, ok := scan.Open(top, name)
		if !ok {
			return false
		}
		defer file.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, file); err != nil {
			return false
		}
		known = hashed{stamp, hex.EncodeToString(sum.Sum(nil))}
		if r.configured.hashes == nil {
			r.configured.hashes = map[string]hashed{}
		}
		r.configured.hashes[name] = known
	}
	return known.sum == p.sum
}
