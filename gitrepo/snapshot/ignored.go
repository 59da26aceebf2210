package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// ignoredBy returns the files that the rules of a snapshot ignore, tracked or not.
func (k *Keeper) ignoredBy(ctx context.Context, target header, files []string) (map[string]bool, error) {
	const here = "./" // a leading colon in a name would have a special meaning
	var names strings.Builder
	for _, name := range files {
		names.WriteString(here + name + "\x00")
	}
	if names.Len() == 0 {
		return nil, nil
	}
	out, err := k.checkIgnore(ctx, target, names.String())
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	ignored := map[string]bool{}
	for _, name := range git.SplitNames(out) {
		ignored[strings.TrimPrefix(name, here)] = true
	}
	return ignored, nil
}

// checkIgnore asks git which names the rules of a snapshot ignore.
func (k *Keeper) checkIgnore(ctx context.Context, target header, names string) (string, error) {
	folder, err := os.MkdirTemp(k.path("tmp"), "rules-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	if err := k.putRules(ctx, target, folder); err != nil {
		return "", err
	}
	putBack, err := k.excludeThen(ctx, target)
	if err != nil {
		return "", err
	}
	out, err := k.feed(
		ctx,
		k.inTree,
		names,
		git.Call{Dir: folder, Args: []string{"check-ignore", "--no-index", "-z", "--stdin"}},
	)
	if git.ExitCode(err) == 1 {
		err = nil // no file is ignored
	}
	return out, cmp.Or(putBack(), err)
}

// excludeThen activates the info/exclude of the snapshot until putBack is called.
func (k *Keeper) excludeThen(ctx context.Context, target header) (putBack func() error, err error) {
	if target.repository == "" {
		return func() error { return nil }, nil
	}
	then, err := k.recordedFile(ctx, target, "exclude")
	if err != nil {
		return nil, err
	}
	now, err := os.ReadFile(k.path("info/exclude"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return func() error { return k.write("info/exclude", now) }, k.write("info/exclude", then)
}

// putRules writes only the .gitignore files into a folder: those of the snapshot, and those above a
// workspace that is not the whole tree.
func (k *Keeper) putRules(ctx context.Context, target header, folder string) error {
	files, err := k.files(ctx, target.tree)
	if err != nil {
		return err
	}
	var rules []manifest.Edit
	for _, file := range files {
		if filepath.Base(filepath.FromSlash(file.Name)) == ".gitignore" && file.Mode != manifest.ModeLink {
			rules = append(rules, manifest.Added(file))
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &manifest.Writer{Root: root, Done: &manifest.Restored{}}
	if err := w.Put(ctx, k.Store, rules); err != nil {
		return err
	}
	for above := strings.TrimSuffix(k.repo.Prefix, "/"); above != "" && above != "."; {
		above = manifest.FolderOf(above)
		text, known := scan.ReadSmall(filepath.Join(k.repo.Top, filepath.FromSlash(above), ".gitignore"))
		if !known || len(text) == 0 {
			continue
		}
		if err := root.MkdirAll(filepath.FromSlash(above), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.Join(filepath.FromSlash(above), ".gitignore"), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
