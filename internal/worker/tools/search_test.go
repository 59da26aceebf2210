package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var project = map[string]string{
	"main.go": "package main\n\nfunc main() {}\n", "lib/a.go": "package lib\n",
	"lib/deep/b.go": "package deep\n// Main thing\n", "README.md": "# Main\r\nmain text\r\n",
	"node_modules/x.go": "package x // main\n", ".gitignore": "node_modules/\n*.log\n", "run.log": "main\n",
	"data.bin": "main\x00\n", ".hidden/c.go": "package c\n",
}

func TestGlob(t *testing.T) {
	p := newPlace(t, project)
	must(t, os.Symlink("main.go", filepath.Join(p.dir, "link.go")))
	p.git("init", "-q")
	p.git("add", "main.go", "lib")
	p.put("gone.go", "")
	p.git("add", "gone.go")
	must(t, os.Remove(filepath.Join(p.dir, "gone.go")))
	// A nested repository, which git does not look into.
	p.put("nested/z.go", "package z\n")
	inner := p
	inner.dir = filepath.Join(p.dir, "nested")
	inner.git("init", "-q")
	tests := []struct {
		name  string
		input fields
		want  Output
	}{
		{
			"names", fields{"pattern": "*.go"},
			Output{Text: ".hidden/c.go\nlib/a.go\nlib/deep/b.go\nlink.go\nmain.go\nnested/z.go\n"},
		},
		{"folders", fields{"pattern": "lib/**/*.go"}, Output{Text: "lib/a.go\nlib/deep/b.go\n"}},
		{"from the top", fields{"pattern": "./lib/*.go"}, Output{Text: "lib/a.go\n"}},
		{"in a folder", fields{"pattern": "**/*.go", "path": "lib"}, Output{Text: "lib/a.go\nlib/deep/b.go\n"}},
		{"either", fields{"pattern": "{main,lib/a}.go"}, Output{Text: "lib/a.go\nmain.go\n"}},
		{
			"everything",
			fields{"pattern": "**", "path": filepath.Join(p.dir, "lib")},
			Output{Text: "lib/a.go\nlib/deep/b.go\n"},
		},
		{
			"an ignored folder by its name", fields{"pattern": "*", "path": "node_modules"}, Output{Text: "node_modules/x.go\n"},
		},
		{"inside of git", fields{"pattern": "HEAD", "path": ".git"}, Output{Text: ".git/HEAD\n"}},
		{"ignored", fields{"pattern": "*.log"}, Output{Text: "no file matches\n"}},
		{"git itself", fields{"pattern": "**/HEAD"}, Output{Text: "no file matches\n"}},
		{"malformed", fields{"pattern": "a[b"}, Output{Text: `the pattern "a[b" is malformed`, Failed: true}},
		{
			"outwards", fields{"pattern": "../*"},
			Output{Text: "the pattern must not begin with / or ..; name the folder in path", Failed: true},
		},
		{
			"absolute", fields{"pattern": "/etc/*"},
			Output{Text: "the pattern must not begin with / or ..; name the folder in path", Failed: true},
		},
		{"empty", fields{"pattern": ""}, Output{Text: "the pattern is empty; ** matches every file", Failed: true}},
		{
			"braces",
			fields{"pattern": strings.Repeat("{a,b}", 5)},
			Output{Text: "the pattern has more than 4 braces", Failed: true},
		},
		{
			"long",
			fields{"pattern": strings.Repeat("a", 501)},
			Output{Text: "the pattern is longer than 500 bytes", Failed: true},
		},
		{
			"a file",
			fields{"pattern": "*", "path": "main.go"},
			Output{Text: "main.go is a file; path must be a folder", Failed: true},
		},
		{"missing", fields{"pattern": "*", "path": "none"}, Output{Text: "there is no file none", Failed: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, p.call("glob", test.input)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGlobWithoutGit(t *testing.T) {
	for name, env := range map[string][]string{"no repository": nil, "no program": {"PATH=/nonexistent"}} {
		t.Run(name, func(t *testing.T) {
			p := placeIn(t, t.TempDir(), project, Options{Env: env})
			p.put(".git", "gitdir: nowhere\n")
			want := Output{Text: ".hidden/c.go\nlib/a.go\nlib/deep/b.go\nmain.go\nnode_modules/x.go\n"}
			if diff := cmp.Diff(want, p.call("glob", fields{"pattern": "*.go"})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Output{Text: "no file matches\n"}, p.call("glob", fields{"pattern": ".git"})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSearchStartsNothingOfTheWorkspace has a project that names a program as git's file monitor,
// and brings a git of its own.
func TestSearchStartsNothingOfTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	p := placeIn(
		t,
		dir,
		map[string]string{"a.go": "x\n", "bin/git": "#!/bin/sh\ntouch \"" + dir + "/started\"\n"},
		Options{Env: []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH")}},
	)
	must(t, os.Chmod(filepath.Join(dir, "bin/git"), 0o755))
	p.git("init", "-q")
	p.git("config", "core.fsmonitor", "touch '"+dir+"/started'; false")
	if diff := cmp.Diff(Output{Text: "a.go\n"}, p.call("glob", fields{"pattern": "*.go"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); !os.IsNotExist(err) {
		t.Error("a program of the workspace was started")
	}
}

func TestGlobHasBounds(t *testing.T) {
	p := newPlace(t, nil)
	for i := range 250 {
		p.put(fmt.Sprintf("f%03d", i), "needle\nneedle\n")
	}
	got := p.call("glob", fields{"pattern": "f*"})
	if lines := strings.Split(got.Text, "\n"); !got.Cut || len(lines) != 202 || lines[0] != "f000" ||
		lines[199] != "f199" || lines[200] != "[50 more match; narrow the pattern]" {
		t.Errorf("cut %v, %d lines, the last %q", got.Cut, len(lines), lines[len(lines)-2:])
	}
	got = p.call("grep", fields{"pattern": "needle"})
	if lines := strings.Split(got.Text, "\n"); !got.Cut || len(lines) != 202 || lines[0] != "f000:1: needle" ||
		lines[199] != "f099:2: needle" ||
		lines[200] != "[there are more hits; narrow the pattern or name a path]" {
		t.Errorf("cut %v, %d lines, the last %q", got.Cut, len(lines), lines[len(lines)-2:])
	}
	deep := strings.Repeat("a very long name of a folder, of which there are some/", 8)
	for i := range 199 {
		p.put(fmt.Sprintf("%sg%d", deep, i), "needle")
	}
	for tool, pattern := range map[string]string{"glob": "g*", "grep": "needle"} {
		got = p.call(tool, fields{"pattern": pattern, "path": strings.Split(deep, "/")[0]})
		if n := utf8.RuneCountInString(got.Text); n > 50_000 || !got.Cut {
			t.Errorf("%s: %d characters, cut %v", tool, n, got.Cut)
		}
	}
}

func TestGrep(t *testing.T) {
	p := newPlace(t, project)
	p.put("wide.txt", "begin "+strings.Repeat("ä", 300)+"\n")
	p.put("latin.txt", "caf\xe9 noir\n")
	p.git("init", "-q")
	tests := []struct {
		name  string
		input fields
		want  Output
	}{
		{
			"words", fields{"pattern": `\bmain\b`},
			Output{Text: "README.md:2: main text\nmain.go:1: package main\nmain.go:3: func main() {}\n"},
		},
		{
			"any case",
			fields{"pattern": "MAIN", "ignore_case": true, "glob": "*.md"},
			Output{Text: "README.md:1: # Main\nREADME.md:2: main text\n"},
		},
		{
			"pattern of names",
			fields{"pattern": "package", "glob": "lib/**"},
			Output{Text: "lib/a.go:1: package lib\nlib/deep/b.go:1: package deep\n"},
		},
		{"folder", fields{"pattern": "package", "path": "lib/deep"}, Output{Text: "lib/deep/b.go:1: package deep\n"}},
		{"file", fields{"pattern": "^package", "path": "lib/a.go"}, Output{Text: "lib/a.go:1: package lib\n"}},
		{"end of a line with CRLF", fields{"pattern": "text$"}, Output{Text: "README.md:2: main text\n"}},
		{"an ignored file by its name", fields{"pattern": "main", "path": "run.log"}, Output{Text: "run.log:1: main\n"}},
		{"a binary file by its name", fields{"pattern": "main", "path": "data.bin"}, Output{Text: "no line matches\n"}},
		{"not UTF-8", fields{"pattern": "noir"}, Output{Text: "latin.txt:1: caf\uFFFD noir\n"}},
		{
			"long line", fields{"pattern": "begin"},
			Output{Text: "wide.txt:1: begin " + strings.Repeat("ä", 194) + "[… 212 bytes cut …]\n"},
		},
		{"nothing", fields{"pattern": "nowhere"}, Output{Text: "no line matches\n"}},
		{
			"malformed", fields{"pattern": "a("},
			Output{
				Text: "the pattern is not a valid regular expression: error parsing regexp: missing closing ): `a(`", Failed: true,
			},
		},
		{
			"look-ahead", fields{"pattern": "a(?=b)"},
			Output{
				Text: "the pattern is not a valid regular expression: error parsing regexp: invalid or unsupported Perl " +
					"syntax: `(?=`",
				Failed: true,
			},
		},
		{"empty", fields{"pattern": ""}, Output{Text: "the pattern is empty", Failed: true}},
		{
			"long",
			fields{"pattern": strings.Repeat("a", 1001)},
			Output{Text: "the pattern is longer than 1000 bytes", Failed: true},
		},
		{"malformed glob", fields{"pattern": "a", "glob": "["}, Output{Text: `the pattern "[" is malformed`, Failed: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, p.call("grep", test.input)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
