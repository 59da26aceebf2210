package workspace

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/text"
)

// Strays lists the paths of the temporary files in the workspace that killed processes left beside the files they
// were about to replace. As long as the caller holds the workspace's lock, no process uses them. It does
// not look into folders that git ignores, apart from Ralph's own.
func (w Workspace) Strays(ctx context.Context) ([]string, error) {
	names, err := w.strayNames(ctx)
	return text.Mapped(names, func(name string) string { return filepath.Join(w.Dir, filepath.FromSlash(name)) }), err
}

func (w Workspace) strayNames(ctx context.Context) ([]string, error) {
	var names []string
	for _, folder := range []string{".", ".ralph", ".agent"} {
		if info, err := os.Lstat(filepath.Join(w.Dir, folder)); err != nil || !info.IsDir() {
			continue
		}
		entries, _ := os.ReadDir(filepath.Join(w.Dir, folder)) // a folder that cannot be read is left alone
		for _, entry := range entries {
			names = append(names, path.Join(folder, entry.Name()))
		}
	}
	if tree, ok := w.Tree.(*plain.Tree); ok {
		names = append(names, tree.Names()...)
	}
	if w.Repo != nil {
		out, err := w.Repo.Ask(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
		if err != nil {
			return nil, fmt.Errorf("look for temporary files: %w", err)
		}
		names = append(names, strings.Split(out, "\x00")...)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(name)))
		return !atomicfile.IsTemp(path.Base(name)) || err != nil || info.IsDir()
	})
	slices.Sort(names)
	return w.untracked(ctx, slices.Compact(names))
}

// untracked returns the files that are not in the index: a tracked file is the user's, whatever its name.
func (w Workspace) untracked(ctx context.Context, names []string) ([]string, error) {
	if w.Repo == nil || len(names) == 0 {
		return names, nil
	}
	list := append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, names...)
	tracked, err := w.Repo.Ask(ctx, list...)
	if err != nil {
		return nil, fmt.Errorf("look for temporary files: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(strings.Split(tracked, "\x00"), name)
	}), nil
}

// RemoveStrays removes what Strays lists, and returns the names in the workspace.
func (w Workspace) RemoveStrays(ctx context.Context) ([]string, error) {
	names, err := w.strayNames(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return nil, fmt.Errorf("remove temporary files: %w", err)
	}
	defer root.Close()
	for i, name := range names {
		if err := root.Remove(filepath.FromSlash(name)); err != nil {
			return names[:i], fmt.Errorf("remove temporary files: %w", err)
		}
	}
	return names, nil
}
