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

// aroundName is the folder in Options.Folder where copies lie that checks may read, and spoil.
const aroundName = "around"

// covered is what a view does about surroundings that were changed.
type covered struct {
	binds []process.Mount
	edits []Edit
	env   []string
}

// hiding is a way to show checks what was.
type hiding int

const (
	byNothing hiding = iota
	byTree           // it is a file of the tree, where other rules hold
	byEdit
	byBind
	byVariable
)

func (s *Surroundings) howToHide(c change, mode Mode, dir string) hiding {
	_, inside := below(c.plain, realPath(dir))
	_, linkedInside := below(c.real, realPath(dir))
	switch {
	case !c.git && (inside || c.real != "" && linkedInside):
		return byTree
	case mode == Overlay && inside:
		return byEdit
	case mode == Overlay && c.bindable():
		return byBind
	case c.group != "" && (c.group == gitGlobal || len(s.copiesOf(c.group)) <= 1):
		return byVariable
	}
	return byNothing
}

// bindable says that something can be shown in its place, and that this is the place: over a link that the agent made, we would hide from checks
// whatever it leads to, as a program that they need in order to fail.
func (c *change) bindable() bool {
	info, err := os.Stat(c.path)
	if err != nil || info.IsDir() {
		return false
	}
	now := realPath(c.path)
	return now == c.plain || c.real != "" && now == c.real
}

func (s *Surroundings) copiesOf(g group) []string {
	var paths []string
	for _, k := range s.index.Kept {
		if k.Group == g && k.Copy != "" {
			paths = append(paths, filepath.Join(s.folder, k.Copy))
		}
	}
	return paths
}

// cover finds out what a view has to do, and makes the files that it takes.
func (s *Surroundings) cover(o Options) (covered, error) {
	var c covered
	changes := s.changes()
	if len(changes) == 0 {
		return c, nil
	}
	folder := filepath.Join(o.Folder, aroundName)
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
		if err := s.hide(&c, change, o, write); err != nil {
			return c, errors.Join(fmt.Errorf("cover %s: %w", change.path, err), c.discard(o.Folder))
		}
	}
	return c, nil
}

// hide adds what a view has to do about one change.
func (s *Surroundings) hide(c *covered, change change, o Options, write func(texts ...string) (string, error)) (err error) {
	var source string
	switch s.howToHide(change, o.Mode, o.Dir) {
	case byEdit:
		name, _ := below(change.plain, realPath(o.Dir))
		if change.copy != "" {
			source, err = change.shown(write)
		}
		c.edits = append(c.edits, Edit{Name: filepath.ToSlash(name), Source: source})
	case byBind:
		source, err = change.shown(write)
		c.binds = append(c.binds, process.Mount{Kind: process.Bind, Source: source, Target: realPath(change.path)})
	case byVariable:
		name := string(change.group) + "="
		if slices.ContainsFunc(c.env, func(entry string) bool { return strings.HasPrefix(entry, name) }) {
			return nil
		}
		source, err = change.group.instead(s.copiesOf(change.group), write)
		c.env = append(c.env, name+source)
	}
	return err
}

// shown makes the file that checks see: what was, or nothing. It is never the kept one, since a check could write to it.
func (c *change) shown(write func(texts ...string) (string, error)) (string, error) {
	if c.copy == "" {
		return write("")
	}
	text, err := os.ReadFile(c.copy)
	if err != nil {
		return "", err
	}
	path, err := write(string(text))
	if err == nil && c.prog {
		err = os.Chmod(path, 0o700)
	}
	return path, err
}

func (c covered) discard(folder string) error { return wipe(folder, aroundName) }
