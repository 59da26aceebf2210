package layout

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestThisCodeBase(t *testing.T) {
	report, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range report.Complaints {
		t.Error(complaint)
	}
	for _, note := range report.Notes {
		t.Log(note)
	}
	if report.Files < 10 {
		t.Errorf("only %d files were read: is this the root of the module?", report.Files)
	}
}

func TestBadSamplesAreComplainedAbout(t *testing.T) {
	report, err := Check(os.DirFS("testdata/bad"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range report.Complaints {
		if c.Reason == "" {
			t.Errorf("%v has no reason", c)
		}
		got = append(got, fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.What))
	}
	want := []string{
		"agent/claude.go:11: agent imports verify",
		"agent/claude.go:16: (*adapter).start has 6 parameters, more than 5",
		"attic/old.go:1: attic is a room without a rule",
		"cmd/ralph/main.go:2: cmd/ralph has 16 lines of code, more than 15",
		"cmd/ralph/main.go:8: cmd/ralph imports internal/assembly",
		"internal/cli/run.go:6: internal/cli imports gitrepo",
		"internal/term/screen.go:5: internal/term imports internal/config",
		"internal/term/screen.go:6: internal/term imports runlog",
		"internal/process/run.go:4: dot import of os",
		"judge/decide.go:4: judge imports context",
		"judge/decide.go:8: Judge has 21 fields and 1 methods",
		"judge/decide.go:12: use of time.Now",
		"promise/leaf.go:6: promise imports internal/prompt",
		"promise/leaf.go:9: the expression `(?i)<promise>`",
		"root.go:3: . imports agent",
		"utils/utils.go:1: package utils",
		"utils/utils.go:1: utils is a room without a rule",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
	if report.Files != 10 {
		t.Errorf("%d files were read, want 10: tests and other modules are left out", report.Files)
	}
}

func TestSizesAtTheirLimits(t *testing.T) {
	file := func(lines int) string { return "package ralph\n" + strings.Repeat("\n", lines-1) }
	body := func(lines int) string { return "{\n" + strings.Repeat("\n", lines-2) + "}\n" }
	tests := []struct {
		name       string
		text       string
		complaints []string
		notes      []string
	}{
		{name: "usual file", text: file(400)},
		{name: "long file", text: file(401), notes: []string{"the file has 401 lines, more than 400"}},
		{name: "file at the wall", text: file(600), notes: []string{"the file has 600 lines, more than 400"}},
		{
			name: "file beyond the wall", text: file(601),
			complaints: []string{"the file has 601 lines, more than 600"},
			notes:      []string{"the file has 601 lines, more than 400"},
		},
		{
			name: "last line without its end", text: file(600) + "// x",
			complaints: []string{"the file has 601 lines, more than 600"},
			notes:      []string{"the file has 601 lines, more than 400"},
		},
		{name: "usual function", text: "package ralph\nfunc f() " + body(40)},
		{
			name: "function at the wall", text: "package ralph\nfunc f() " + body(80),
			notes: []string{"f has 80 lines, more than 40"},
		},
		{
			name: "function beyond the wall", text: "package ralph\nfunc (s State) f() " + body(81),
			complaints: []string{"State.f has 81 lines, more than 80"}, notes: []string{"State.f has 81 lines, more than 40"},
		},
		{
			name: "literal beyond the wall", text: "package ralph\nvar f = func() " + body(81),
			complaints: []string{"a function literal has 81 lines, more than 80"},
			notes:      []string{"a function literal has 81 lines, more than 40"},
		},
		{name: "five parameters and a receiver", text: "package ralph\nfunc (s State) f(a, b, c int, d, e string) {}\n"},
		{
			name: "six parameters in a literal", text: "package ralph\nfunc f() { _ = func(a, b, c, d, e, f int) {} }\n",
			complaints: []string{"a function literal in f has 6 parameters, more than 5"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report, err := Check(fstest.MapFS{"x.go": {Data: []byte(tt.text)}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.complaints, texts(report.Complaints)); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, texts(report.Notes)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFileThatCannotBeParsedIsAnError(t *testing.T) {
	if _, err := Check(fstest.MapFS{"x.go": {Data: []byte("pack")}}); err == nil {
		t.Error("no error")
	}
}

func TestEveryRoomHasOneRow(t *testing.T) {
	seen := map[string]int{}
	for _, d := range directions {
		for _, room := range d.rooms {
			seen[room]++
		}
	}
	for _, d := range directions {
		for _, room := range d.may {
			if seen[room] == 0 {
				t.Errorf("%v may import %s, which has no row", d.rooms, room)
			}
		}
	}
	for room, rows := range seen {
		if rows != 1 {
			t.Errorf("%s has %d rows", room, rows)
		}
	}
}

func texts(findings []Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.What)
	}
	return all
}
