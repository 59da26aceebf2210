// Package layout checks the structure of this code base: the length of files, functions and parameter
// lists, the size of types, which package may import which, and the purity of the packages that
// decide. It reads only the source, so that its test gives the same result on every machine. The
// linter checks calls that only one package may make.
//
// Check reports two things. Complaints exceed a hard limit: the test fails, and names the file, the
// figure and the reason for the rule. Notes exceed the usual size but not the limit; `go test -v`
// shows them, and they fail nothing.
//
// The rules are tables in rules.go: a new package gets a row there and a sentence in docs/decisions.
// Test files are not measured, and may import more than the code that they test. Code below
// testdata, and in folders that are separate modules, is not checked.
package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Finding is one place where the code breaks a rule.
type Finding struct {
	File   string
	Line   int
	What   string // what was found, with its name and figure
	Reason string // why the rule exists
}

// String returns the finding as one line of a test log.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.What, f.Reason)
}

// Report holds the findings of Check, in the order of the files.
type Report struct {
	Files      int
	Complaints []Finding
	Notes      []Finding
}

// Check measures every Go file below the root of tree that is not a test. It returns an error if a
// file cannot be read or parsed.
func Check(tree fs.FS) (Report, error) {
	var report Report
	mainLines := map[string]int{}
	types := typeSizes{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && foreign(tree, name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := read(tree, name)
		if err != nil {
			return err
		}
		report.Files++
		report.complain(judge(src)...)
		types.add(src)
		report.Notes = append(report.Notes, measure(src, usual)...)
		if under(src.room, "cmd") {
			mainLines[src.room] += src.code
			report.complain(judgeMain(src, mainLines[src.room])...)
		}
		return nil
	})
	report.complain(types.judge()...)
	return report, err
}

func (r *Report) complain(findings ...Finding) { r.Complaints = append(r.Complaints, findings...) }

func judge(src source) []Finding {
	var findings []Finding
	findings = append(findings, judgeName(src)...)
	findings = append(findings, measure(src, wall)...)
	findings = append(findings, judgeImports(src)...)
	findings = append(findings, judgePurity(src)...)
	findings = append(findings, judgeText(src)...)
	return findings
}

// foreign reports whether a folder holds no code of this module.
func foreign(tree fs.FS, name string) bool {
	if name == "." {
		return false
	}
	base := path.Base(name)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(tree, path.Join(name, "go.mod"))
	return err == nil
}

// source is one parsed file.
type source struct {
	name  string
	room  string // its folder, "." for the root
	lines int
	code  int // lines with more than a comment
	set   *token.FileSet
	tree  *ast.File
}

func read(tree fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return source{}, fmt.Errorf("read source: %w", err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		return source{}, fmt.Errorf("parse source: %w", err)
	}
	lines := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	return source{name: name, room: path.Dir(name), lines: lines, code: codeLines(text), set: set, tree: parsed}, nil
}

func codeLines(text []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var tokens scanner.Scanner
	tokens.Init(file, text, nil, 0)
	seen := map[int]bool{}
	for {
		pos, kind, literal := tokens.Scan()
		if kind == token.EOF {
			return len(seen)
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(literal, "\n"); line++ {
			seen[line] = true
		}
	}
}

func (s source) finding(at token.Pos, reason, format string, args ...any) Finding {
	return Finding{File: s.name, Line: s.set.Position(at).Line, What: fmt.Sprintf(format, args...), Reason: reason}
}

// under reports whether a folder is the room or is inside it. The root room is only its own folder.
func under(folder, room string) bool {
	return folder == room || room != "." && strings.HasPrefix(folder, room+"/")
}
