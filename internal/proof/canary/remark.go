package canary

import (
	"bytes"
	"cmp"
	"go/scanner"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"
)

// maxRemarked limits the files that get remarks.
const maxRemarked = 60

// Remark adds comments to lines of existing tests beside planted ones. They change nothing but the text, so every test
// must end as without them: code that lets tests pass whose text it knows no longer knows these.
func Remark(t Tree, command string, random io.Reader, beside []Plant) []Plant {
	g := newPlanner(t, command, random)
	if g == nil || len(beside) == 0 {
		return nil
	}
	m := &mutator{planner: g}
	folders := map[string]bool{}
	for _, p := range beside {
		folders[path.Dir(p.Name)] = true
	}
	files := m.files(func(name string) bool { return folders[path.Dir(name)] && m.lineEnds(name) != nil })
	g.dice.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	var plants []Plant
	for _, name := range files[:min(len(files), maxRemarked)] {
		text := m.search(name)
		var b strings.Builder
		from := 0
		for _, end := range m.lineEnds(name)(text) {
			b.WriteString(text[from:end.at] + "  " + end.sign + " " + g.draw(8))
			from = end.at
		}
		if from > 0 {
			plants = append(plants, Plant{Name: name, Text: b.String() + text[from:], Inside: true})
		}
	}
	return plants
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
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return ends
		}
		at := file.Offset(pos)
		if kind == token.SEMICOLON && literal == "\n" && at < len(text) && text[at] == '\n' {
			ends = append(ends, lineEnd{at, "//"})
		}
	}
}

// pythonLineEnds returns the ends of the lines with code. The first two may declare an encoding.
func pythonLineEnds(text string) (ends []lineEnd) {
	for i, line := range linesOf(maskPython(text).code) {
		end := line.at + len(line.text)
		if i > 1 && !line.blank && end < len(text) && !strings.HasSuffix(line.text, `\`) {
			ends = append(ends, lineEnd{end, "#"})
		}
	}
	return ends
}

// statementEnds returns the ends of the lines that end with a semicolon.
func statementEnds(s source) (ends []lineEnd) {
	for _, line := range linesOf(s.code) {
		if strings.HasSuffix(line.text, ";") {
			ends = append(ends, lineEnd{line.at + len(line.text), "//"})
		}
	}
	return ends
}

// Unheard returns the test files of which no run names a test. It examines those that the command runs: beside planted
// tests that failed, or beside all of them if the go command runs every package, or if the claimed tree ran no test.
func Unheard(t Tree, command string, planted, claimed, base Outcome) []string {
	runs, failed := []Outcome{claimed, base}, planted.Failing
	if inv := Invoke(t, command, ""); inv.Known && inv.Runs == "go" || claimed.Total == 0 {
		failed = planted.Planted
	}
	g := newPlanner(t, command, bytes.NewReader(make([]byte, 32)))
	if g == nil {
		return nil
	}
	m := &mutator{planner: g}
	heard := map[string]bool{}
	for ecosystem, find := range m.finders() {
		for _, c := range find() {
			c.ecosystem, c.key = ecosystem, ecosystem+" "+c.file+" literal "+c.test
			if !c.besideOne(failed) {
				continue
			}
			heard[c.file] = heard[c.file] || slices.ContainsFunc(runs, func(o Outcome) bool {
				for name := range o.Tests {
					if c.mark().Matches(name) {
						return true
					}
				}
				return false
			})
		}
	}
	var files []string
	for file, known := range heard {
		if !known {
			files = append(files, file)
		}
	}
	slices.SortFunc(files, cmp.Compare)
	return files
}
