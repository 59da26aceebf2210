package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// maxTestFile is the size of the largest test file that an author may add.
const maxTestFile = 1 << 20

// AuthorCopy is a copy of the workspace in which an agent writes tests. Nothing that it writes into files of
// the tree reaches the workspace.
type AuthorCopy struct {
	Dir string

	examiner *Examiner
	view     *pristine.View
	folder   string
	known    map[string]bool // files of the base, and tests of an earlier attempt
}

// OpenForAuthor makes a copy of the base, with the tests that an earlier attempt left in GivenDir. The copy has no
// repository: what the author does with git must not reach the user's.
func OpenForAuthor(ctx context.Context, e *Examiner, in ralph.ViewInput) (*AuthorCopy, error) {
	if e.Snapshots == nil || in.Base.Snapshot == "" {
		return nil, fmt.Errorf("copy workspace: %w", ErrNoSnapshot)
	}
	files, err := e.Snapshots.Files(ctx, in.Base.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("copy workspace: %w", err)
	}
	earlier, err := fileEdits(e.GivenDir)
	if err != nil {
		return nil, err
	}
	folder, err := tempFolder(e, "author-")
	if err != nil {
		return nil, fmt.Errorf("copy workspace: %w: %w", ralph.ErrIO, err)
	}
	made, err := pristine.Open(ctx, pristine.Options{
		Dir: in.Dir, Folder: folder, Mode: pristine.Copy, Files: files, Edits: earlier,
	})
	if err != nil {
		if isStorageFailure(err) {
			err = fmt.Errorf("%w: %w", ralph.ErrIO, err)
		}
		return nil, errors.Join(fmt.Errorf("copy workspace: %w", err), os.RemoveAll(folder))
	}
	c := &AuthorCopy{Dir: made.Dir(), examiner: e, view: made, folder: folder, known: map[string]bool{}}
	for _, name := range files {
		c.known[name] = true
	}
	if err := c.cutLinks(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close removes the copy.
func (c *AuthorCopy) Close() error {
	return errors.Join(c.view.Close(), os.RemoveAll(c.folder))
}

// cutLinks removes the copy's links to repositories and to ignored tests of the workspace: the author must not
// write there. Links to other ignored files stay, because tests need dependencies.
func (c *AuthorCopy) cutLinks() error {
	return c.walk(func(name string, entry fs.DirEntry) error {
		if entry.Type() != fs.ModeSymlink {
			return nil
		}
		target, err := os.Readlink(c.path(name))
		if err != nil || target != filepath.Join(c.examiner.Dir, filepath.FromSlash(name)) {
			return err // a link of the tree itself
		}
		_, isRepository := os.Lstat(filepath.Join(target, ".git"))
		rules := c.examiner.Rules
		if path.Base(name) == ".git" || isRepository == nil || rules.Test(name) || rules.Test(name+"/x.py") {
			return os.Remove(c.path(name))
		}
		return nil
	})
}

// Written lists the test files that the author added, and the other files that it added, changed or deleted.
func (c *AuthorCopy) Written() (tests, others []string, err error) {
	present := map[string]bool{}
	err = c.walk(func(name string, entry fs.DirEntry) error {
		present[name] = true
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case c.known[name]:
			if before, err := os.Lstat(filepath.Join(c.examiner.Dir, filepath.FromSlash(name))); err != nil ||
				info.Mode().IsRegular() && (info.Size() != before.Size() || !info.ModTime().Equal(before.ModTime())) {
				others = append(others, name)
			}
		case !info.Mode().IsRegular() || isByproduct(name):
		case c.examiner.Rules.Test(name) && info.Size() <= maxTestFile:
			tests = append(tests, name)
		default:
			others = append(others, name)
		}
		return nil
	})
	for name := range c.known {
		if !present[name] {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return tests, others, err
}

// Keep stores files of the copy in a folder, in place of what is there.
func (c *AuthorCopy) Keep(names []string, folder string) error {
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return fmt.Errorf("keep tests: %w: %w", ralph.ErrIO, err)
	}
	for _, name := range names {
		if err := CopyNew(c.path(name), filepath.Join(folder, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("keep tests: %w: %w", ralph.ErrIO, err)
		}
	}
	return nil
}

// CopyNew copies a file to a path that does not exist yet, with its permissions.
func CopyNew(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func (c *AuthorCopy) path(name string) string { return filepath.Join(c.Dir, filepath.FromSlash(name)) }

// walk calls do for every file and link of the copy.
func (c *AuthorCopy) walk(do func(name string, entry fs.DirEntry) error) error {
	err := filepath.WalkDir(c.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(c.Dir, path)
		if err != nil {
			return err
		}
		return do(filepath.ToSlash(name), entry)
	})
	if err != nil {
		return fmt.Errorf("read the author's copy: %w: %w", ralph.ErrIO, err)
	}
	return nil
}

// isByproduct reports whether tools leave such files behind when they run tests.
func isByproduct(name string) bool {
	return path.Ext(name) == ".pyc" || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || part == "__pycache__" || part == "node_modules"
	})
}
