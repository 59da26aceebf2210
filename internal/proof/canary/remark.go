package canary

import (
	"bytes"
	"go/format"
	"go/scanner"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// maxRemarked limits the files that get remarks.
const maxRemarked = 60

// Remark adds comments to lines of existing tests beside planted ones. They change nothing but the text, so every test
// must end as without them: code that lets tests pass whose text it knows no longer knows these.
func Remark(t Tree, command string, random io.Reader, beside []Plant) []Plant {
	g := newPlanner(t, command, random)
	if g == nil || len(beside) == 0 || formats().MatchString(command) {
		return nil
	}
	m := &mutator{planner: g}
	folders := map[string]bool{}
	for _, p := range beside {
		folders[path.Dir(p.Name)] = true
	}
	files := m.files(func(name string) bool { return folders[path.Dir(name)] && m.lineEnds(name) != nil })
	slices.SortFunc(files, compareHashes) // the same files in every tree
	var plants []Plant
	for _, name := range files[:min(len(files), maxRemarked)] {
		text := m.search(name)
		if strings.Contains(text, "\r") {
			continue
		}
		var b strings.Builder
		from := 0
		for _, end := range m.lineEnds(name)(text) {
			b.WriteString(text[from:end.at] + end.sign + g.draw(8))
			from = end.at
		}
		if from > 0 {
			plants = append(plants, Plant{Name: name, Text: formatted(name, text, b.String()+text[from:]), Inside: true})
		}
	}
	return plants
}

// formats matches programs that check how code is formatted, which a comment may change.
var formats = text.LazyRegexp(
	`\b(?:fmt|gofmt|goimports|gofumpt|golangci-lint|rustfmt|black|ruff|flake8|prettier|eslint|lint|biome)\b`,
)

// formatted formats a changed Go file if it was before.
func formatted(name, before, after string) string {
	if path.Ext(name) != ".go" {
		return after
	}
	clean, err := format.Source([]byte(before))
	if err != nil || string(clean) != before {
		return after
	}
	if text, err := format.Source([]byte(after)); err == nil {
		return string(text)
	}
	return after
}

// lineEnd is a place where a comment fits, and what begins it.
type lineEnd struct {
	at   int
	sign string
}

// lineEnds returns what finds places for comments in a test, or nil if the file is none.
func (m *mutator) lineEnds(name string) func(text string) []lineEnd {
	switch extension := path.Ext(name); {
	case strings.HasSuffix(name, "_test.go"):
		return goLineEnds
	case pythonTest(name):
		return pythonLineEnds
	case extension == ".rs":
		return func(text string) []lineEnd { return statementEnds(maskRust(text)) }
	case m.jsTest(name) && extension != ".jsx" && extension != ".tsx":
		return func(text string) []lineEnd { return statementEnds(maskJavaScript(text)) }
	}
	return nil
}

// goLineEnds returns the ends of the lines that end a statement.
func goLineEnds(text string) (ends []lineEnd) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	before := 0 // where the last token ended
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return ends
		}
		at := file.Offset(pos)
		isEnd := kind == token.SEMICOLON && literal == "\n" && at < len(text) && text[at] == '\n'
		if isEnd && strings.TrimSpace(text[min(before, at):at]) == "" { // otherwise there is a comment
			ends = append(ends, lineEnd{at, " // "})
		}
		before = at + max(len(literal), len(kind.String()))
	}
}

// pythonLineEnds returns the ends of the lines with code. The first two may declare an encoding.
func pythonLineEnds(text string) (ends []lineEnd) {
	for i, line := range linesOf(maskPython(text).code) {
		end := line.at + len(line.text)
		if i > 1 && !line.blank && end < len(text) && !strings.HasSuffix(line.text, `\`) {
			ends = append(ends, lineEnd{end, "  # "})
		}
	}
	return ends
}

// statementEnds returns the ends of the lines that end with a semicolon.
func statementEnds(s source) (ends []lineEnd) {
	for _, line := range linesOf(s.code) {
		if strings.HasSuffix(line.text, ";") {
			ends = append(ends, lineEnd{line.at + len(line.text), " // "})
		}
	}
	return ends
}

var (
	wholeGo = text.LazyRegexp(`^go test(?: -(?:v|race|count=\d+|short))* \./\.\.\.$`)
	// choosesTests matches options with which a runner leaves out tests.
	choosesTests = text.LazyRegexp(`pytest\b.*\s-[km]\b|--deselect|--ignore|\s-(?:run|skip|k|t|p)\b|--grep|test-name`)
)

// Unheard returns the test files of which no run names a test, although planted tests beside them failed. If the go
// command runs every package, it examines all files beside planted tests.
func Unheard(t Tree, command string, planted, claimed, base Outcome) []string {
	g := newPlanner(t, command, bytes.NewReader(make([]byte, 32)))
	if g == nil || choosesTests().MatchString(command) || g.filtersPytest() {
		return nil
	}
	beside := planted.Failing
	if isNested := func(name string) bool { return strings.HasSuffix(name, "/go.mod") }; wholeGo().MatchString(command) &&
		!slices.ContainsFunc(t.Files, isNested) {
		beside = planted.Planted
	}
	m := &mutator{planner: g}
	heard := map[string]bool{}
	for ecosystem, find := range m.finders() {
		if ecosystem == "rust" {
			continue // what is compiled decides which of its tests exist
		}
		for _, c := range certain(ecosystem, find()) {
			if heard[c.file] || !c.besideOne(beside) {
				continue
			}
			mark := c.mark()
			heard[c.file] = claimed.namesOne(mark) || base.namesOne(mark)
		}
	}
	var files []string
	for file, known := range heard {
		if !known {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files
}

func (o Outcome) namesOne(m Mark) bool {
	for name := range o.Tests {
		if m.Matches(name) {
			return true
		}
	}
	return false
}

// filtersPytest reports whether a file tells pytest what to collect.
func (g *planner) filtersPytest() bool {
	return slices.ContainsFunc([]string{"pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"}, func(name string) bool {
		text := g.read(name)
		return strings.Contains(text, "addopts") || strings.Contains(text, "python_files")
	})
}
