// Package layout holds the shape of this code base: how long a file, a function and a list of parameters may be, how much
// one type may do, which room may import which, and what keeps the deciding rooms pure. It reads the source and nothing
// else, so that its test is the same on every machine. Calls that belong to one room alone are the linter's matter.
//
// Check reports two things. Complaints break a wall: the test fails, naming the file, the figure and the reason of the rule. Notes are beyond the
// usual size but within the wall; they are shown by `go test -v` and fail nothing.
//
// The rules are in rules.go, as tables: a new room gets a row there and a sentence in docs/decisions. Test files are not measured; they may reach
// further than the code that they test. Code below testdata, and in folders that are modules of their own, is not ours to judge.
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

// Finding is one place where the code and a rule disagree.
type Finding struct {
	File   string
	Line   int
	What   string // what was found, with its name and figure
	Reason string // why the rule exists
}

// String is the finding as one line of a test log.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.What, f.Reason)
}

// Report is what Check found, in the order of the files.
type Report struct {
	Files      int
	Complaints []Finding
	Notes      []Finding
}

// Check measures every Go file below the root of tree that is not a test. An error means that a file cannot be read or parsed.
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
	code  int // lines that hold more than a comment
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

// under reports whether a folder is the room or lies in it. The root room is its own folder only.
func under(folder, room string) bool {
	return folder == room || room != "." && strings.HasPrefix(folder, room+"/")
}
