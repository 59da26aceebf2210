//go:build linux

package cheats

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// languages are those of the sample projects, in the order of the page.
var languages = []language{{"go", "Go"}, {"python", "Python"}, {"node", "Node"}}

type language struct{ key, name string }

// kind says what a case is: something that must not be believed, or honest work that must be.
type kind string

const (
	attack kind = "attacks"
	honest kind = "honest"
)

// scenario is one case in one language: what the project has at its base, and what the agent does to it.
type scenario struct {
	kind     kind
	id       string
	title    string
	language language
	script   string            // what the agent does
	files    map[string]string // of the project at its base
	hidden   map[string]string // of the folder with the hidden checks
	kit      map[string]string // what scripts copy from, in the folder $KIT
	home     map[string]string // of the user's home
	setup    string            // what the user did in the project before
	keys     map[string]string
}

// The keys of a case's head, each as "key: value", or "key.go: value" for one language.
const (
	keyCheck   = "check"   // the command that decides; the project's own if none
	keyChecks  = "checks"  // "none" if no --check is given: the project's files say what is checked
	keyPlain   = "plain"   // what a naive loop looks at, if it is not the check
	keyNaive   = "naive"   // why the case does not fool a naive loop
	keyBase    = "base"    // "green" if the check is green before the agent began
	keyArgs    = "args"    // further arguments of `ralph run`, divided by blanks
	keyPath    = "path"    // a folder that the user has first on PATH
	keyAwait   = "await"   // a file that shows that what the agent left running has done its work
	keyServant = "servant" // a script that runs on the user's behalf, beside everything
	keyNeeds   = "needs"   // a program that must be there
	keyTurns   = "turns"   // how many iterations it may take
	keyClass   = "class"   // "answers" if nothing that checks run on is touched, and the product itself answers what it is asked; "person" if only a person can settle it
	keyTongues = "languages"
	keyColumns = "columns" // those that the case is tried in, if not all
)

var knownKeys = []string{keyCheck, keyChecks, keyPlain, keyNaive, keyBase, keyArgs, keyPath, keyAwait, keyServant, keyNeeds, keyTurns, keyColumns, keyClass, keyTongues}

func (s scenario) name() string { return s.id + "/" + s.language.key }

// loadScenarios reads all cases of a kind, by name, each in the languages that it is written for.
func loadScenarios(k kind) ([]scenario, error) {
	names, err := filepath.Glob(filepath.Join("testdata", string(k), "*.txtar"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	projects := map[string]*txtar.Archive{}
	for _, l := range languages {
		if projects[l.key], err = txtar.ParseFile(filepath.Join("testdata", "projects", l.key+".txtar")); err != nil {
			return nil, fmt.Errorf("read project: %w", err)
		}
	}
	var all []scenario
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return nil, fmt.Errorf("read case: %w", err)
		}
		for _, l := range languages {
			s := scenario{kind: k, id: strings.TrimSuffix(filepath.Base(name), ".txtar"), language: l}
			if err := s.read(projects[l.key], archive); err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			if s.script != "" && s.speaks() {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// speaks reports whether a case is meant for its language. A script for all need not be tried in all.
func (s scenario) speaks() bool {
	own := strings.Fields(s.keys[keyTongues])
	return len(own) == 0 || slices.Contains(own, s.language.key)
}

// read puts a case over a project. What the case says wins.
func (s *scenario) read(project, own *txtar.Archive) error {
	for _, m := range []*map[string]string{&s.files, &s.hidden, &s.kit, &s.home, &s.keys} {
		*m = map[string]string{}
	}
	for _, archive := range []*txtar.Archive{project, own} {
		if err := s.readHead(string(archive.Comment)); err != nil {
			return err
		}
		for _, f := range archive.Files {
			if err := s.readFile(f.Name, string(f.Data)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scenario) readHead(text string) error {
	title, rest, _ := strings.Cut(text, "\n")
	s.title = title
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, found := strings.Cut(line, ": ")
		key, of, some := strings.Cut(key, ".")
		if !found || !slices.Contains(knownKeys, key) {
			return fmt.Errorf("no key: %q", line)
		}
		if !some || of == s.language.key {
			s.keys[key] = value
		}
	}
	return nil
}

// readFile takes a section: "go" or "all" is a script, "base/NAME" or "base.go/NAME" a file of the project, and so on.
func (s *scenario) readFile(name, text string) error {
	where, file, deeper := strings.Cut(name, "/")
	where, of, some := strings.Cut(where, ".")
	if some && of != s.language.key {
		return nil
	}
	into := map[string]map[string]string{"base": s.files, "hidden": s.hidden, "kit": s.kit, "home": s.home}[where]
	switch {
	case into != nil && deeper:
		into[file] = text
	case where == "setup":
		s.setup = text
	case where == s.language.key, where == "all":
		s.script = text
	case !slices.ContainsFunc(languages, func(l language) bool { return l.key == where }):
		return fmt.Errorf("no section: %q", name)
	}
	return nil
}

// writeAll writes files below a folder. Scripts and what is in a bin folder can be started.
func writeAll(dir string, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") || strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "hooks/") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[name]), mode); err != nil {
			return err
		}
	}
	return nil
}
