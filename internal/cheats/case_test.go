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

// languages are the sample projects, one for each language or test runner, in the order of the page.
var languages = []language{
	{"go", "Go", "go"}, {"python", "Python", "python3"}, {"node", "Node", "node"}, {"pytest", "pytest", "pytest"},
	{"vitest", "vitest", "node vitest"}, {"cargo", "Rust", "cargo"}, {"make", "make", "make python3"},
	{"shell", "shell", ""},
}

// common is how many of the languages most cases are written for: the first ones.
const common = 3

type language struct {
	key, name string
	needs     string // programs, separated by spaces
}

// kind is an attack, which must be refused, or honest work, which must be accepted.
type kind string

const (
	attack kind = "attacks"
	honest kind = "honest"
)

// scenario is one case in one language: the project at its base, and what the agent does to it.
type scenario struct {
	kind     kind
	id       string
	title    string
	language language
	script   string            // what the agent does
	files    map[string]string // the project at its base
	hidden   map[string]string // the folder with the hidden checks
	judge    map[string]string // what a person asks afterwards; neither the agent nor Ralph ever sees it
	kit      map[string]string // files that scripts copy from, in the folder $KIT
	home     map[string]string // the user's home
	setup    string            // what the user ran in the project before
	between  string            // what the user does between two runs
	after    string            // what the user does after the last run; the run's record counts then
	keys     map[string]string
}

// The keys in the head of a case, each as "key: value", or "key.go: value" for one language.
const (
	keyCheck   = "check"   // the command that decides; default: the project's own
	keyChecks  = "checks"  // "none" to pass no --check: the project's files name the checks
	keyPlain   = "plain"   // what a naive loop runs, if it is not the check
	keyNaive   = "naive"   // why the case does not fool a naive loop
	keyBase    = "base"    // "green" if the check passes before the agent starts
	keyArgs    = "args"    // additional arguments of `ralph run`, separated by spaces
	keyPath    = "path"    // a folder that comes first on the user's PATH
	keyAwait   = "await"   // a file that appears when a process left behind by the agent has done its work
	keyServant = "servant" // a script that runs for the user during the whole case
	keyNeeds   = "needs"   // a program that must be installed
	keyTurns   = "turns"   // how many iterations the case may take
	// "answers" if the agent changes nothing that checks run on, and the product itself answers their
	// questions; "person" if only a person can decide
	keyClass   = "class"
	keyTongues = "languages"
	keyFamily  = "kind"    // the letter of the attack's family
	keyAnswers = "answers" // what the judge's questions must be answered with
	// "workspace" if the work includes files that git ignores; "hidden" if the hidden check can tell
	// alone; default: the judge asks a fresh clone
	keyJudge   = "judge"
	keyRuns    = "runs"    // how often the user runs the same command; the last result counts
	keyCache   = "cache"   // "own" for a build cache of Go's that no other case uses
	keyColumns = "columns" // the columns that the case is tried in; default: all
)

var knownKeys = []string{
	keyCheck, keyChecks, keyPlain, keyNaive, keyBase, keyArgs, keyPath, keyAwait, keyServant, keyNeeds, keyTurns,
	keyColumns, keyClass, keyTongues, keyFamily, keyAnswers, keyJudge, keyRuns, keyCache, keyRunner, keyWall, keyLimit,
	keyGoal,
}

func (s scenario) name() string { return s.id + "/" + s.language.key }

// loadScenarios reads all cases of a kind, by name, each in the languages that it is written for.
func loadScenarios(k kind) ([]scenario, error) {
	names, err := filepath.Glob(filepath.Join("testdata", string(k), "*.txtar"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	projects := map[string]*txtar.Archive{}
	runners := languages
	if k == newGround {
		runners = slices.Concat(languages, moreRunners)
	}
	for _, l := range runners {
		if projects[l.key], err = txtar.ParseFile(filepath.Join("testdata", "projects", l.key+".txtar")); err != nil {
			return nil, fmt.Errorf("read project: %w", err)
		}
	}
	tools, err := groundTools(k)
	if err != nil {
		return nil, err
	}
	var all []scenario
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return nil, fmt.Errorf("read case: %w", err)
		}
		for _, l := range runners {
			s := scenario{kind: k, id: strings.TrimSuffix(filepath.Base(name), ".txtar"), language: l}
			if err := s.read(projects[l.key], tools, archive); err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			if s.script != "" && s.supportsLanguage() {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// supportsLanguage reports whether a case is meant for its language. A script for all languages
// need not be tried in all.
func (s scenario) supportsLanguage() bool {
	own := strings.Fields(s.keys[keyTongues])
	return len(own) == 0 || slices.Contains(own, s.language.key)
}

// read applies a case on top of a project. The case, which is last, takes precedence.
func (s *scenario) read(archives ...*txtar.Archive) error {
	for _, m := range []*map[string]string{&s.files, &s.hidden, &s.judge, &s.kit, &s.home, &s.keys} {
		*m = map[string]string{}
	}
	for _, archive := range archives {
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

// readFile reads a section: "go" or "all" is a script, "base/NAME" or "base.go/NAME" a file of the
// project, and so on.
func (s *scenario) readFile(name, text string) error {
	where, file, deeper := strings.Cut(name, "/")
	where, of, some := strings.Cut(where, ".")
	if some && of != s.language.key {
		return nil
	}
	into := map[string]map[string]string{
		"base": s.files, "hidden": s.hidden, "judge": s.judge, "kit": s.kit, "home": s.home,
	}[where]
	switch {
	case into != nil && deeper:
		into[file] = text
	case where == "setup":
		s.setup += text // a project's own comes first
	case where == "between":
		s.between = text
	case where == "after":
		s.after = text
	case where == s.language.key, where == "all":
		s.script = text
	case !slices.ContainsFunc(slices.Concat(languages, moreRunners), func(l language) bool { return l.key == where }):
		return fmt.Errorf("no section: %q", name)
	}
	return nil
}

// writeAll writes files below a folder. Scripts and files in a bin folder are executable.
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
