package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// sameTree is `sametree DIR DIR`: both hold the same files and links, byte for byte, and the same
// ones are executable. It ignores .git, the view that a run writes with the file that hides it from
// git, and folders without files.
func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sametree DIR DIR")
	}
	first, second := treeAt(ts, ts.MkAbs(args[0])), treeAt(ts, ts.MkAbs(args[1]))
	if len(first) == 0 {
		ts.Fatalf("%s holds no file", args[0])
	}
	if diff := cmp.Diff(first, second); (diff == "") == neg {
		ts.Fatalf("%s and %s were compared:\n%s", args[0], args[1], diff)
	}
}

// treeAt returns every file and link of a folder, with its kind and content.
func treeAt(ts *testscript.TestScript, dir string) map[string]string {
	files := map[string]string{}
	ts.Check(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case slices.Contains([]string{".git", ".ralph/progress.md", ".ralph/.gitignore"}, filepath.ToSlash(name)),
			entry.IsDir():
			return nil
		}
		files[name], err = describe(path, entry)
		return err
	}))
	return files
}

func describe(path string, entry fs.DirEntry) (string, error) {
	info, err := entry.Info()
	if err != nil {
		return "", err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return "link to " + target, err
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), nil
	}
	content, err := os.ReadFile(path)
	return fmt.Sprintf("program %v: %q", info.Mode()&0o100 != 0, content), err
}
