// Package ownfiles keeps the files that a run writes into the .ralph folder of its workspace, for
// people and agents to read. Git ignores them.
package ownfiles

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/textfile"
)

const (
	folder = ".ralph"
	// ignoreFile hides the files of this package and itself from git.
	ignoreFile = ".ralph/.gitignore"
)

const (
	ignored = "# Written by a run of Ralph: git ignores the run's own files, and this file.\n" +
		"progress.md\ngoal.md\n.gitignore\n"
	// madeHere is its content in a folder that this package created.
	madeHere = "# Written by a run of Ralph, which created this folder: git ignores the run's own files, and " +
		"this file.\nprogress.md\ngoal.md\n.gitignore\n"
)

// replaces has the texts of earlier versions, and what takes their place.
var replaces = map[string]string{
	"# Written by a run of Ralph: git ignores its progress file, and this file.\nprogress.md\n.gitignore\n": ignored,
	"# Written by a run of Ralph, which created this folder: git ignores its progress file, and this file.\n" +
		"progress.md\n.gitignore\n": madeHere,
}

// IsIgnoreFile reports whether the text of a .ralph/.gitignore is a run's own, which ignores itself.
func IsIgnoreFile(text string) bool {
	return text == ignored || text == madeHere || replaces[text] != ""
}

// Alone reports whether the workspace's .ralph folder was created for the files of a run and
// contains nothing else: the project was not set up.
func Alone(dir string) bool {
	text, err := textfile.ReadInside(dir, filepath.FromSlash(ignoreFile))
	if err != nil || text != madeHere && replaces[text] != madeHere {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	for _, e := range entries {
		if !slices.Contains([]string{"progress.md", "goal.md", ".gitignore"}, e.Name()) {
			return false
		}
	}
	return err == nil
}

// Prepare creates the folder .ralph, and its .gitignore unless the project has one.
func Prepare(root *os.Root) error {
	ignores := ignored
	if _, err := root.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		ignores = madeHere
	}
	if err := root.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if _, err := root.Lstat(ignoreFile); errors.Is(err, fs.ErrNotExist) {
		return writeWhole(root, ignoreFile, ignores)
	}
	if text, err := textfile.ReadInside(root.Name(), ignoreFile); err == nil && replaces[text] != "" {
		return writeWhole(root, ignoreFile, replaces[text])
	}
	return nil
}

// writeWhole writes a file that no one sees half-written. A link is replaced, not followed.
func writeWhole(root *os.Root, name, text string) error {
	temp := path.Join(path.Dir(name), atomicfile.TempName())
	err := root.WriteFile(temp, []byte(text), 0o644)
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
	}
	return err
}
