package pristine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// surroundingsName is the folder in Options.Folder for copies that checks may read and overwrite.
const surroundingsName = "around"

// coverPlan is how a view hides changed surroundings from checks.
type coverPlan struct {
	binds []process.Mount
	edits []Edit
	env   []string
}

// hideMethod is a way to show checks the original state of a file.
type hideMethod int

const (
	cannotHide   hideMethod = iota
	hiddenByTree            // the file belongs to the tree, where the protection rules apply
	hiddenByEdit
	hiddenByBind
	hiddenByVariable
)

func (s *Surroundings) hideMethodFor(c change, mode Mode, dir string) hideMethod {
	_, inside := relativeTo(c.unlinked, realPath(dir))
	_, linkedInside := relativeTo(c.real, realPath(dir))
	switch {
	case !c.git && (inside || c.real != "" && linkedInside):
		return hiddenByTree
	case mode == Overlay && inside:
		return hiddenByEdit
	case mode == Overlay && c.bindable():
		return hiddenByBind
	case c.group != "" && (c.group == gitGlobal || len(s.savedCopies(c.group)) <= 1):
		return hiddenByVariable
	}
	return cannotHide
}

// bindable reports whether a file can be covered by a bind mount at its original place. If the
// agent replaced the path with a link, a mount would hide the link's target from checks. That could
// be a program that they need in order to fail.
func (c *change) bindable() bool {
	info, err := os.Stat(c.path)
	if err != nil || info.IsDir() {
		return false
	}
	now := realPath(c.path)
	return now == c.unlinked || c.real != "" && now == c.real
}

func (s *Surroundings) savedCopies(g configGroup) []string {
	var paths []string
	for _, k := range s.index.Files {
		if k.Group == g && k.Copy != "" {
			paths = append(paths, filepath.Join(s.folder, k.Copy))
		}
	}
	return paths
}

// planCover decides how a view hides changed files, and writes the replacement files.
func (s *Surroundings) planCover(o Options) (coverPlan, error) {
	var c coverPlan
	changes := s.changes()
	if len(changes) == 0 {
		return c, nil
	}
	folder := filepath.Join(o.Folder, surroundingsName)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return c, fmt.Errorf("cover surroundings: %w", err)
	}
	made := 0
	write := func(texts ...string) (string, error) {
		path := filepath.Join(folder, fmt.Sprintf("%04d", made))
		made++
		return path, os.WriteFile(path, []byte(strings.Join(texts, "")), 0o600)
	}
	for _, change := range changes {
		if err := s.addCover(&c, change, o, write); err != nil {
			return c, errors.Join(fmt.Errorf("cover %s: %w", change.path, err), c.discard(o.Folder))
		}
	}
	return c, nil
}

// addCover adds to the plan what hides one change.
func (s *Surroundings) addCover(
	c *coverPlan, change change, o Options, write func(texts ...string) (string, error),
) (err error) {
	var source string
	switch s.hideMethodFor(change, o.Mode, o.Dir) {
	case hiddenByEdit:
		name, _ := relativeTo(change.unlinked, realPath(o.Dir))
		if change.copy != "" {
			source, err = change.writeOriginal(write)
		}
		c.edits = append(c.edits, Edit{Name: filepath.ToSlash(name), Source: source})
	case hiddenByBind:
		source, err = change.writeOriginal(write)
		c.binds = append(c.binds, process.Mount{Kind: process.Bind, Source: source, Target: realPath(change.path)})
	case hiddenByVariable:
		name := string(change.group) + "="
		if slices.ContainsFunc(c.env, func(entry string) bool { return strings.HasPrefix(entry, name) }) {
			return nil
		}
		source, err = change.group.replacement(s.savedCopies(change.group), write)
		c.env = append(c.env, name+source)
	}
	return err
}

// writeOriginal writes the file that checks see: the original content, or an empty file. It never
// returns the saved copy itself, because a check could write to it.
func (c *change) writeOriginal(write func(texts ...string) (string, error)) (string, error) {
	if c.copy == "" {
		return write("")
	}
	text, err := os.ReadFile(c.copy)
	if err != nil {
		return "", err
	}
	path, err := write(string(text))
	if err == nil && c.program {
		err = os.Chmod(path, 0o700)
	}
	return path, err
}

func (c coverPlan) discard(folder string) error { return removeAll(folder, surroundingsName) }
