package canary

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// Limits for literals that are changed where only the status of the check tells whether it noticed. Each needs a run of
// its own, and a check with planted tests has one run more.
const (
	maxScripts = 2
	maxUnnamed = 1
)

// scriptKey begins the key of a mark in a script.
const scriptKey = "script"

// findScripts returns the scripts that the command runs without a test runner, and whose status is that of the command.
// Each counts as one test.
func (m *mutator) findScripts() []candidate {
	var all []candidate
	for i, s := range m.segments {
		words := s.texts()
		if len(words) == 0 {
			continue
		}
		if slices.Contains([]string{"cd", "pushd"}, words[0]) {
			break // the names after it mean other files
		}
		if !s.plain || !decides(m.segments, i) {
			continue
		}
		for _, c := range m.findStarted(words) {
			if !slices.ContainsFunc(all, func(other candidate) bool { return other.file == c.file }) {
				all = append(all, c)
			}
		}
	}
	return all
}

// findStarted returns the scripts that a simple command runs.
func (m *mutator) findStarted(words []string) []candidate {
	program, file := path.Base(words[0]), path.Clean(words[0])
	isMake := program == "make" || program == "gmake"
	if isMake {
		return m.findRecipes(words[1:])
	}
	interprets := shellProgram().MatchString(program) || pythonProgram().MatchString(program) || program == "node"
	if interprets {
		rest := words[1:]
		for len(rest) > 0 && harmlessOption().MatchString(rest[0]) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		file = path.Clean(rest[0])
	}
	text := m.search(file)
	switch {
	case !m.taken[file]:
		return nil
	case pythonProgram().MatchString(program):
		return []candidate{scriptOf(file, pythonScript(maskPython(text)))}
	case program == "node":
		return []candidate{scriptOf(file, jsScript(maskJavaScript(text)))}
	case shellProgram().MatchString(program) || isShell(file, text):
		return m.findShell(file, slices.Contains(words[1:], "-e") || !interprets && errexitLine().MatchString(text))
	}
	return nil
}

var (
	pythonProgram = text.LazyRegexp(`^python[\d.]*$`)
	shellProgram  = text.LazyRegexp(`^(?:ba|da|k|z|a)?sh$`)
	shellLine     = text.LazyRegexp(`\A#!\S*(?:sh|env (?:-S )?\w*sh)\b`)
	errexitLine   = text.LazyRegexp(`\A#!\S*sh\s+-\w*e`)
	testLike      = text.LazyRegexp(`(?i)(?:^|[/._-])(?:tests?|checks?|specs?|verify|smoke|assert\w*)(?:[/._-]|$)`)
	// harmlessOption matches options of shells that change nothing about what a script does.
	harmlessOption = text.LazyRegexp(`^-[eux]+$`)
)

func isShell(name, text string) bool {
	return slices.Contains([]string{".sh", ".bash"}, path.Ext(name)) || shellLine().MatchString(text)
}

func scriptOf(file string, spots []spot) candidate {
	return candidate{file: file, test: "a comparison", spots: spots}
}

// findShell returns a shell script and the tests that it starts or reads.
func (m *mutator) findShell(file string, errexit bool) []candidate {
	files := []string{file}
	for i := 0; i < len(files) && len(files) < maxFileTests; i++ {
		for _, word := range shell.Started(m.search(files[i])) {
			for _, name := range m.matching(path.Clean(word)) {
				if testLike().MatchString(name) && !slices.Contains(files, name) && isShell(name, m.search(name)) {
					files = append(files, name)
				}
			}
		}
	}
	scripts := make([]shell.Script, len(files))
	for i, name := range files {
		scripts[i] = shell.Script{Text: m.search(name), Program: i == 0, Errexit: i == 0 && errexit}
	}
	var all []candidate
	for i, found := range shell.Assertions(scripts) {
		all = append(all, scriptOf(files[i], shellSpots(scripts[i].Text, found)))
	}
	return all
}

// matching returns the files that a name or pattern means.
func (m *mutator) matching(pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[") {
		if m.taken[pattern] {
			return []string{pattern}
		}
		return nil
	}
	return m.files(func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

func shellSpots(text string, found []shell.Assertion) []spot {
	var spots []spot
	for _, a := range found {
		s := spot{span: span{a.From, a.To}, certain: true, word: !a.Number}
		if !a.Number || changeable(text[a.From:a.To]) {
			spots = append(spots, s)
		}
	}
	return spots
}

// quietOption matches options of make that change nothing about what it runs.
var quietOption = text.LazyRegexp(`^(?:-[sk]|--silent|--quiet|--no-print-directory|-j\d*)$`)

// findRecipes returns a Makefile whose recipes compare something. Only the recipes of the targets that the command
// names count, or else that of the first target.
func (m *mutator) findRecipes(words []string) []candidate {
	var targets []string
	for _, word := range words {
		switch {
		case quietOption().MatchString(word):
		case strings.HasPrefix(word, "-"), strings.Contains(word, "="):
			return nil
		default:
			targets = append(targets, word)
		}
	}
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if !m.taken[file] {
			continue
		}
		text := m.search(file)
		var spots []spot
		for _, line := range recipeLines(text, targets) {
			script := strings.Repeat(" ", line.at) + line.text
			found := shell.Assertions([]shell.Script{{Text: script, Program: true}})
			spots = append(spots, shellSpots(text, found[0])...)
		}
		return []candidate{scriptOf(file, spots)}
	}
	return nil
}

var (
	makeRule        = text.LazyRegexp(`^([\w./-][\w./ -]*?)\s*::?(?:[^=]|$)`)
	makeConditional = text.LazyRegexp(`^\s*(?:ifn?eq|ifn?def|else|endif|define)\b`)
)

// recipeLines returns the lines of recipes that are one command each: make only looks at the status of a whole line.
func recipeLines(makefile string, targets []string) []sourceLine {
	var found []sourceLine
	wanted, at := false, 0
	for line := range strings.Lines(makefile) {
		start := at
		at += len(line)
		line = strings.TrimRight(line, "\r\n")
		rule := makeRule().FindStringSubmatch(line)
		switch {
		case makeConditional().MatchString(line):
			return nil
		case strings.HasPrefix(line, "\t"):
			body := strings.TrimLeft(line, "\t@+ ")
			if isOne := !strings.HasPrefix(body, "-") && !strings.ContainsAny(body, ";&|\\"); wanted && isOne {
				start += len(line) - len(body)
				found = append(found, sourceLine{at: start, text: strings.ReplaceAll(body, "$$", " $")})
			}
		case rule != nil:
			names := strings.Fields(rule[1])
			if len(targets) == 0 {
				targets = names
			}
			wanted = slices.ContainsFunc(names, func(name string) bool { return slices.Contains(targets, name) })
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
			wanted = false
		}
	}
	return found
}

// scriptEnd matches lines that may end a Python program with success.
var scriptEnd = text.LazyRegexp(`\b(?:_?exit|SystemExit|skip\w*)\b`)

// pythonScript returns the literals that a Python program compares outside of its functions.
func pythonScript(s source) []spot {
	var spots []spot
	for _, line := range linesOf(s.code) {
		if claimDoubt().MatchString(line.text) && (line.indent == 0 || scriptEnd().MatchString(line.text)) {
			break
		}
		if line.indent > 0 || line.blank {
			continue
		}
		if at, ok := pythonCompared(s, line); ok {
			spots = append(spots, spot{span: at, certain: true})
		}
	}
	return spots
}

// jsScript returns the literals that a JavaScript program compares outside of its functions.
func jsScript(s source) []spot {
	var spots []spot
	whole := span{0, len(s.code)}
	doubt := s.first(jsDoubt(), whole)
	for _, start := range s.statements(whole) {
		if at, ok := jsCompared(s, start); ok && start < doubt && jsReached(s.code[:start]) {
			spots = append(spots, spot{span: at, certain: true})
		}
	}
	return spots
}

// placeOf names a literal of a script for people.
func placeOf(text string, at int) string {
	return fmt.Sprintf("line %d", 1+strings.Count(text[:at], "\n"))
}

// Separate returns plants by the runs that they need: those of which only the check's status tells something need one
// each.
func Separate(plants []Plant) [][]Plant {
	switch {
	case len(plants) == 0:
		return nil
	case !plants[0].Marks[0].ByStatus, plants[0].Marks[0].ByCount:
		return [][]Plant{plants}
	}
	return slices.Collect(slices.Chunk(plants, 1))
}

// With adds what another run says about its literals.
func (o Outcome) With(other Outcome) Outcome {
	o.Literals = slices.Concat(other.Literals, o.Literals)
	o.Failing, o.Passing = slices.Concat(other.Failing, o.Failing), slices.Concat(other.Passing, o.Passing)
	return o
}
