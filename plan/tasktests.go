package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph/internal/text"
)

// idMark is the placeholder of a task's id in checks.task_tests.
const idMark = "{id}"

// testPattern is checks.task_tests, split at its slashes; nil if it is not set.
type testPattern []string

func parseTestPattern(text string) (testPattern, error) {
	if text == "" {
		return nil, nil
	}
	if !strings.Contains(text, idMark) {
		return nil, fmt.Errorf("%q has no {id}, so every file would belong to every task", text)
	}
	clean := path.Clean(filepath.ToSlash(text))
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return nil, fmt.Errorf("%q is outside the workspace", text)
	}
	p := testPattern(strings.Split(clean, "/"))
	if p[len(p)-1] == "**" {
		p = append(p, "*") // the files in all those folders
	}
	for _, part := range p.with("*") {
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	return p, nil
}

// with replaces the placeholder with an id.
func (p testPattern) with(id string) testPattern {
	return text.Mapped(p, func(part string) string { return strings.ReplaceAll(part, idMark, id) })
}

// spellings returns the forms of an id in a file name: in lower case, with and without punctuation.
func spellings(id string) []string {
	id = strings.ToLower(id)
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-", r) {
			return -1
		}
		return r
	}, id)
	if plain == id {
		return []string{id}
	}
	return []string{id, plain}
}

// Tests lists the test files of these tasks, sorted and without duplicates, as paths in the
// workspace.
func (b *Tracker) Tests(ids []string) ([]string, error) {
	files, err := b.candidates()
	if err != nil {
		return nil, err
	}
	return b.testsAmong(files, ids), nil
}

// Suite lists every file that the pattern could match, except those of the named tasks.
func (b *Tracker) Suite(without []string) ([]string, error) {
	files, err := b.candidates()
	if err != nil {
		return nil, err
	}
	left := b.testsAmong(files, without)
	return slices.DeleteFunc(
		files,
		func(name string) bool { _, found := slices.BinarySearch(left, name); return found },
	), nil
}

func (b *Tracker) testsAmong(files, ids []string) []string {
	var all []string
	for _, id := range ids {
		for _, spelling := range spellings(id) {
			longer := sync.OnceValue(func() []string { return b.longer(id, spelling) }) // looks at every task
			for _, name := range files {
				if b.tests.means(name, spelling) &&
					!slices.ContainsFunc(longer(), func(other string) bool { return b.tests.means(name, other) }) {
					all = append(all, name)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// longer returns the spellings of other tasks that start with this one: a test of T-10 is not a
// test of T-1.
func (b *Tracker) longer(id, spelling string) []string {
	var all []string
	for _, it := range b.items {
		if it.ID == id {
			continue
		}
		for _, other := range spellings(it.ID) {
			if len(other) > len(spelling) && strings.HasPrefix(other, spelling) {
				all = append(all, other)
			}
		}
	}
	return all
}

// means reports whether a file belongs to the task of that id.
func (p testPattern) means(name, id string) bool {
	return strings.Contains(name, id) && matchParts(p.with(id), strings.Split(name, "/"))
}

// matchParts matches a path with a pattern, part by part; ** matches any number of folders.
func matchParts(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		return matchParts(pattern[1:], name) || len(name) > 0 && matchParts(pattern, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return err == nil && ok && matchParts(pattern[1:], name[1:])
}

// candidates returns all files that the pattern matches for any id, sorted.
func (b *Tracker) candidates() ([]string, error) {
	if b.tests == nil {
		return nil, nil
	}
	root, err := os.OpenRoot(b.workspace)
	if err != nil {
		return nil, fmt.Errorf("look for tests: %w", err)
	}
	defer root.Close()
	s := search{root: root}
	if err := s.in(".", b.tests.with("*")); err != nil {
		return nil, fmt.Errorf("look for tests: %w", err)
	}
	slices.Sort(s.found)
	return slices.Compact(s.found), nil
}

// search walks only folders that the pattern can match.
type search struct {
	root  *os.Root
	found []string
}

func (s *search) in(folder string, pattern testPattern) error {
	if len(pattern) > 1 && pattern[0] == "**" {
		if err := s.in(folder, pattern[1:]); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(s.root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case pattern[0] == "**" && entry.IsDir() && entry.Name() != ".git" && entry.Name() != "node_modules":
			err = s.in(name, pattern)
		case pattern[0] == "**":
		case len(pattern) > 1 && entry.IsDir() && matchParts(pattern[:1], []string{entry.Name()}):
			err = s.in(name, pattern[1:])
		case len(pattern) == 1 && matchParts(pattern, []string{entry.Name()}) && s.regular(name):
			s.found = append(s.found, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// regular follows a link only as long as it stays in the workspace.
func (s *search) regular(name string) bool {
	info, err := s.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
