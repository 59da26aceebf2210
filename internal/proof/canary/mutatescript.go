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

// findScripts returns the scripts that the command runs without a test runner. Each counts as one test.
func (m *mutator) findScripts() []candidate {
	var all []candidate
	for _, s := range m.segments {
		words := s.texts()
		if len(words) == 0 {
			continue
		}
		program, file := path.Base(words[0]), firstFile(words)
		switch {
		case program == "make" || program == "gmake":
			all = append(all, m.findRecipes(words[1:])...)
		case pythonProgram().MatchString(program) && m.taken[file]:
			all = append(all, m.scriptOf(file, pythonScript(maskPython(m.search(file)))))
		case program == "node" && m.taken[file]:
			all = append(all, m.scriptOf(file, jsScript(maskJavaScript(m.search(file)))))
		case shellProgram().MatchString(program) && m.taken[file]:
			all = append(all, m.findShell(file)...)
		case m.taken[path.Clean(words[0])] && isShell(words[0], m.search(path.Clean(words[0]))):
			all = append(all, m.findShell(path.Clean(words[0]))...)
		}
	}
	return all
}

var (
	pythonProgram = text.LazyRegexp(`^python[\d.]*$`)
	shellProgram  = text.LazyRegexp(`^(?:ba|da|k|z|a)?sh$`)
	shellLine     = text.LazyRegexp(`\A#!\S*(?:sh|env (?:-S )?\w*sh)\b`)
	testLike      = text.LazyRegexp(`(?i)(?:^|[/._-])(?:tests?|checks?|specs?|verify|smoke|assert\w*)(?:[/._-]|$)`)
)

// firstFile returns the first word after the program that is no option.
func firstFile(words []string) string {
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			return path.Clean(word)
		}
	}
	return ""
}

func isShell(name, text string) bool {
	return slices.Contains([]string{".sh", ".bash"}, path.Ext(name)) || shellLine().MatchString(text)
}

func (m *mutator) scriptOf(file string, spots []spot) candidate {
	return candidate{file: file, test: "a comparison", spots: spots}
}

// findShell returns a shell script and the tests that it mentions.
func (m *mutator) findShell(file string) []candidate {
	files := []string{file}
	for i := 0; i < len(files) && len(files) < maxFileTests; i++ {
		for _, word := range shell.Mentioned(m.search(files[i])) {
			for _, name := range m.matching(path.Clean(word)) {
				if testLike().MatchString(name) && !slices.Contains(files, name) && isShell(name, m.search(name)) {
					files = append(files, name)
				}
			}
		}
	}
	scripts := make([]shell.Script, len(files))
	for i, name := range files {
		scripts[i].Text = m.search(name)
	}
	var all []candidate
	for i, found := range shell.Assertions(scripts) {
		all = append(all, m.scriptOf(files[i], shellSpots(scripts[i].Text, found)))
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

// findRecipes returns a Makefile whose recipes compare something. Only the recipes of the targets that the command
// names count, or else that of the first target.
func (m *mutator) findRecipes(words []string) []candidate {
	var targets []string
	for _, word := range words {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			targets = append(targets, word)
		}
	}
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if !m.taken[file] {
			continue
		}
		text := m.search(file)
		script := recipes(text, targets)
		found := shell.Assertions([]shell.Script{{Text: script, Errexit: true}})
		return []candidate{m.scriptOf(file, shellSpots(text, found[0]))}
	}
	return nil
}

var makeRule = text.LazyRegexp(`^([\w./ -]+?)\s*::?(?:[^=]|$)`)

// recipes returns a Makefile in which everything but the recipes of some targets is blank, so that it is a script.
func recipes(makefile string, targets []string) string {
	var b strings.Builder
	wanted, continued := false, false
	for line := range strings.Lines(makefile) {
		rule := makeRule().FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "\t") || continued:
			continued = strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`)
			body := strings.TrimLeft(line, "\t@+ ")
			if !wanted || strings.HasPrefix(body, "-") && !continued {
				break
			}
			b.WriteString(strings.Repeat(" ", len(line)-len(body)))
			b.WriteString(strings.ReplaceAll(body, "$$", " $"))
			continue
		case rule != nil && !strings.HasPrefix(line, "."):
			names := strings.Fields(rule[1])
			if len(targets) == 0 {
				targets = names
			}
			wanted = slices.ContainsFunc(names, func(name string) bool { return slices.Contains(targets, name) })
		}
		blank := strings.TrimRight(line, "\n")
		b.WriteString(strings.Repeat(" ", len(blank)) + line[len(blank):])
	}
	return b.String()
}

// pythonScript returns the literals that a Python program compares outside of its functions.
func pythonScript(s source) []spot {
	var spots []spot
	for _, line := range linesOf(s.code) {
		if line.indent > 0 || line.blank {
			continue
		}
		if claimDoubt().MatchString(line.text) {
			break
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
	case !plants[0].Marks[0].ByStatus:
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
