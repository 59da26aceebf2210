package protect

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// CheckScripts names the scripts below dir that the checks start: files that are the first word of a command, that
// a shell is told to read, or that an interpreter is given if their name says that they check something. So do
// scripts with such a name anywhere in a command with eval or xargs, scripts that make, npm or a script of a check
// start in turn, and files with assertions that such a script reads. A built program is not a script: it is a
// product of the work.
func CheckScripts(dir string, checks []string) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // without a workspace there are no scripts
	}
	defer func() { _ = root.Close() }()
	s := &scriptSearch{dir: dir, root: root}
	for _, check := range checks {
		check = withoutFolder(check)
		for _, name := range withAbsolute(dir, []string{check}) {
			s.add(name, anyScript)
		}
		s.addWords(check)
	}
	for _, text := range s.reachedTexts(checks) { // one level
		for line := range strings.Lines(text) {
			line = withoutFolder(strings.TrimLeft(line, "\t@-+ "))
			for _, name := range startedScripts(line, "") {
				s.add(name, checksSomething)
			}
			s.addWords(line)
		}
	}
	return s.found
}

// scriptSearch collects scripts of a workspace.
type scriptSearch struct {
	dir   string
	root  *os.Root
	found []string
}

// workspaceFolder matches the ways in which a shell command names the folder that it runs in.
var workspaceFolder = text.LazyRegexp(`"?(?:\$PWD|\$\{PWD\}|\$\(pwd\)|` + "`pwd`" + `)"?/`)

func withoutFolder(command string) string { return workspaceFolder().ReplaceAllString(command, "./") }

// add adds the scripts that a name or pattern means, if choose accepts them. What a link leads to is added with it.
func (s *scriptSearch) add(pattern string, choose func(name, text string) bool) {
	names := []string{pattern}
	if strings.ContainsAny(pattern, "*?[") {
		names, _ = fs.Glob(s.root.FS(), path.Clean(pattern))
	}
	for _, name := range names {
		name = path.Clean(name)
		text, ok := s.script(name)
		if !ok || slices.Contains(s.found, name) || !choose(name, text) {
			continue
		}
		s.found = append(s.found, name)
		if target := s.target(name); target != name && filepath.IsLocal(target) {
			s.found = append(s.found, target)
		}
	}
}

// runsWords matches programs that run what they read or are given.
var runsWords = text.LazyRegexp(`(?:^|[\s;&|(])(?:xargs|eval|parallel)\s|\s-exec(?:dir)?\s`)

// addWords adds scripts that a command names anywhere, as in `echo check.sh | xargs sh`, if their name says that they
// check something.
func (s *scriptSearch) addWords(command string) {
	if !runsWords().MatchString(command) {
		return
	}
	breaks := func(r rune) bool { return strings.ContainsRune(" \t\n'\";&|()<>`={}$,", r) }
	for _, word := range strings.FieldsFunc(command, breaks) {
		if checksByName().MatchString(path.Base(word)) && filepath.IsLocal(filepath.FromSlash(word)) && !testName(word) {
			s.add(word, anyScript)
		}
	}
}

func anyScript(string, string) bool { return true }

var assertionFunction = text.LazyRegexp(`(?m)^\s*(?:function\s+)?\w*(?:assert|expect|check|fail|die)\w*\s*\(\)`)

// checksSomething reports whether a script that another one starts checks something, by its name or its functions.
// Otherwise it may be the product.
func checksSomething(name, text string) bool {
	return checksByName().MatchString(path.Base(name)) || assertionFunction().MatchString(text)
}

// reachedTexts returns the texts from which scripts are started: those of the scripts that were found, and the
// settings of make and npm if a check uses them.
func (s *scriptSearch) reachedTexts(checks []string) []string {
	var texts []string
	for _, name := range s.found {
		text, _ := s.script(name)
		texts = append(texts, text)
	}
	tools := map[string]bool{}
	for _, check := range checks {
		for _, words := range simpleCommands(check) {
			if words = program(words); len(words) > 0 {
				tools[path.Base(words[0])] = true
			}
		}
	}
	if tools["make"] || tools["gmake"] {
		for _, name := range makefiles {
			text, _ := s.script(name)
			texts = append(texts, text)
		}
	}
	if tools["npm"] || tools["yarn"] || tools["pnpm"] || tools["bun"] {
		var manifest struct {
			Scripts map[string]string `json:"scripts"`
		}
		text, _ := s.script("package.json")
		if json.Unmarshal([]byte(text), &manifest) == nil {
			for _, script := range manifest.Scripts {
				texts = append(texts, script)
			}
		}
	}
	return texts
}

// maxScript is how much of a script is read.
const maxScript = 256 << 10

// script returns the text of a script, and whether it is one.
func (s *scriptSearch) script(name string) (string, bool) {
	info, err := s.root.Stat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	file, err := s.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", false
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxScript))
	return string(text), err == nil && !bytes.Contains(text[:min(len(text), 512)], []byte{0})
}

// target returns the file that a name leads to.
func (s *scriptSearch) target(name string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		return name
	}
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return name
	}
	relative, err := filepath.Rel(dir, real)
	if err != nil {
		return name
	}
	return filepath.ToSlash(relative)
}

// withAbsolute adds scripts that a check names by their absolute path.
func withAbsolute(dir string, checks []string) []string {
	names := scriptNames(checks)
	whole, err := filepath.Abs(dir)
	if err != nil {
		return names
	}
	for _, check := range checks {
		for _, words := range simpleCommands(check) {
			words = program(words)
			if len(words) > 1 && slices.Contains(shells, words[0]) {
				words = words[1:]
			}
			if len(words) == 0 || !filepath.IsAbs(words[0]) {
				continue
			}
			if rel, err := filepath.Rel(whole, words[0]); err == nil && filepath.IsLocal(rel) {
				names = append(names, filepath.ToSlash(rel))
			}
		}
	}
	return names
}
