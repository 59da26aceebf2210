package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ignoredThen finds, among the files that a restore would delete, those that the rules of
// the snapshot ignore. They may have been there when it was taken, without being in it;
// an agent that deletes .gitignore makes them look like new ones.
func (k *Keeper) ignoredThen(ctx context.Context, target copied, edits []edit) (map[string]bool, error) {
	var names []string
	due := written(edits)
	for _, e := range edits {
		if e.after.mode == modeNone && !due.need(e.name) {
			names = append(names, e.name)
		}
	}
	return k.ignoredBy(ctx, target, names)
}

// ignoredBy finds the files that the rules of a snapshot ignore, tracked or not.
func (k *Keeper) ignoredBy(ctx context.Context, target copied, files []string) (map[string]bool, error) {
	const here = "./" // a name that begins with a colon would mean something else
	var names strings.Builder
	for _, name := range files {
		names.WriteString(here + name + "\x00")
	}
	if names.Len() == 0 {
		return nil, nil
	}
	folder, err := os.MkdirTemp(k.snaps.path("tmp"), "rules-")
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := k.putRules(ctx, target, folder); err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	putBack, err := k.excludeThen(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	out := limited{limit: statusLimit}
	err = k.snaps.feed([]byte(names.String()), func(file string) error {
		return k.snaps.in(ctx, folder, call{args: []string{"check-ignore", "--no-index", "-z", "--stdin"}, stdin: file, out: &out})
	})
	if err := putBack(); err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	if failed, ok := errors.AsType[*failure](err); ok && failed.code == 1 {
		return nil, nil // none is
	}
	if err != nil {
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	ignored := map[string]bool{}
	for _, name := range splitNames(out.text.String()) {
		ignored[strings.TrimPrefix(name, here)] = true
	}
	return ignored, nil
}

// excludeThen lets the info/exclude of the snapshot count, until it is put back.
func (k *Keeper) excludeThen(ctx context.Context, target copied) (putBack func() error, err error) {
	if target.repository == "" {
		return func() error { return nil }, nil
	}
	then, err := k.snaps.recordedFile(ctx, target, "exclude")
	if err != nil {
		return nil, err
	}
	now, err := os.ReadFile(k.snaps.path("info/exclude"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return func() error { return k.snaps.write("info/exclude", now) }, k.snaps.write("info/exclude", then)
}

// places are the names that edits write to, and the folders above them.
type places struct{ files, folders map[string]bool }

func written(edits []edit) places {
	p := places{map[string]bool{}, map[string]bool{}}
	for _, e := range edits {
		if e.after.mode == modeNone {
			continue
		}
		p.files[e.name] = true
		for folder := folderOf(e.name); folder != "." && !p.folders[folder]; folder = folderOf(folder) {
			p.folders[folder] = true
		}
	}
	return p
}

// need reports whether a file has to make way: for a folder, or as part of one.
func (p places) need(name string) bool {
	for folder := folderOf(name); folder != "."; folder = folderOf(folder) {
		if p.files[folder] {
			return true
		}
	}
	return p.folders[name]
}

// putRules writes the files that say what is ignored, and nothing else, into a folder:
// those of the snapshot, and those above a workspace that is not the whole tree.
func (k *Keeper) putRules(ctx context.Context, target copied, folder string) error {
	files, err := k.snaps.files(ctx, target.tree)
	if err != nil {
		return err
	}
	var rules []edit
	for _, file := range files {
		if filepath.Base(filepath.FromSlash(file.name)) == ".gitignore" && file.mode != modeLink {
			rules = append(rules, edit{file.name, entry{mode: modeNone}, file})
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &writer{root: root, done: &Restored{}}
	if err := w.put(ctx, k.snaps, rules); err != nil {
		return err
	}
	for above := strings.TrimSuffix(k.repo.prefix, "/"); above != "" && above != "."; {
		above = folderOf(above)
		text, known := readConfiguration(filepath.Join(k.repo.Top, filepath.FromSlash(above), ".gitignore"))
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
