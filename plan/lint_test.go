package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// Every file of testdata/lint is a list with a file NAME.want beside it: one problem a line, as
// `ralph tasks lint` finds it in a run with checks, warnings marked as such.
func TestLintNamesFileLineAndReason(t *testing.T) {
	names, err := filepath.Glob("testdata/lint/*")
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for _, name := range names {
		if filepath.Ext(name) == ".want" {
			continue
		}
		lists++
		t.Run(filepath.Base(name), func(t *testing.T) {
			want, err := os.ReadFile(name + ".want")
			if err != nil {
				t.Fatal(err)
			}
			list, _ := Open("testdata/lint", filepath.Base(name))
			var got strings.Builder
			for _, p := range list.Lint(LintOptions{RunChecks: true}) {
				if p.Warning {
					got.WriteString("warning: ")
				}
				got.WriteString(p.String() + "\n")
			}
			diff(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got.String())
		})
	}
	if lists < 10 {
		t.Errorf("%d lists in testdata/lint, want at least ten", lists)
	}
}

func TestLintWarns(t *testing.T) {
	list := `{"version": 1, "tasks": [
{"id": "A", "title": "a", "acceptance": ["x"], "checks": ["true"]},
{"id": "B", "title": "b", "acceptance": ["x"]},
{"id": "C", "title": "c", "checks": ["true"], "depends_on": ["H", "O"]},
{"id": "D", "title": "d"},
{"id": "E", "title": "e", "status": "done"},
{"id": "H", "title": "h", "human": true},
{"id": "O", "title": "o", "optional": true, "acceptance": ["x"], "checks": ["true"], "depends_on": ["H"]}
]}`
	tests := map[string]struct {
		list   string
		around LintOptions
		want   []string
	}{
		"with checks": {list, LintOptions{RunChecks: true}, []string{
			"tasks.json:3: task B has no check of its own",
			"tasks.json:4: task C has no acceptance criteria",
			"tasks.json:4: task C depends on H, which is for a person: the run does not wait for it",
			"tasks.json:4: task C depends on O, which is optional",
			"tasks.json:5: task D has neither acceptance criteria nor a check of its own",
		}},
		"with tests by id": {list, LintOptions{TaskTests: true}, []string{
			"tasks.json:4: task C has no acceptance criteria",
			"tasks.json:4: task C depends on H, which is for a person: the run does not wait for it",
			"tasks.json:4: task C depends on O, which is optional",
			"tasks.json:5: task D has no acceptance criteria",
		}},
		"nothing testable": {`{"tasks": [{"id": "A", "title": "a", "acceptance": ["x"]}]}`, LintOptions{}, []string{
			"tasks.json:1: nothing can prove this list: add a check to the run or to a task",
			"tasks.json:1: task A has no check of its own",
		}},
		"nothing may show it": {
			`{"tasks": [{"id": "A", "title": "Refactor the parser", "acceptance": ["x"]},
{"id": "B", "title": "Update the README", "category": "docs"},
{"id": "C", "title": "Rename A to B", "acceptance": ["x"], "checks": ["true"]},
{"id": "D", "title": "Rename A to B", "acceptance": ["x"], "proof": "unbroken"},
{"id": "E", "title": "Rename A to B", "acceptance": ["x"], "proof": "shown"},
{"id": "F", "title": "Rename A to B", "status": "done"}]}`,
			LintOptions{RunChecks: true},
			[]string{
				"tasks.json:1: task A may have nothing that shows it: add a check of its own, or proof: unbroken",
				"tasks.json:2: task B may have nothing that shows it: add a check of its own, or proof: unbroken",
				"tasks.json:2: task B has no acceptance criteria",
				"tasks.json:5: task E has no check of its own",
			},
		},
		"nothing needs to show it": {
			`{"tasks": [{"id": "A", "title": "Refactor the parser", "acceptance": ["x"]}]}`,
			LintOptions{RunChecks: true, Unbroken: true},
			[]string{"tasks.json:1: task A has no check of its own"},
		},
		"unbroken without any check": {
			`{"tasks": [{"id": "A", "title": "Refactor the parser", "acceptance": ["x"], "proof": "unbroken"}]}`,
			LintOptions{},
			[]string{
				"tasks.json:1: nothing can prove this list: add a check to the run or to a task",
				"tasks.json:1: task A has no check of its own",
			},
		},
		"a task's check is enough": {
			`{"tasks": [{"id": "A", "title": "a", "acceptance": ["x"], "checks": ["true"]}]}`,
			LintOptions{},
			nil,
		},
		"missing spec": {
			`[{"id": "A", "title": "a", "specFilePath": "tasks/A.json", "passes": true}]`,
			LintOptions{RunChecks: true},
			[]string{
				"tasks.json:1: the spec of task A is missing: tasks/A.json",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tasks.json"), []byte(test.list), 0o644); err != nil {
				t.Fatal(err)
			}
			l, err := Open(dir, "tasks.json")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range l.Lint(test.around) {
				if !p.Warning {
					t.Errorf("not a warning: %s", p)
				}
				got = append(got, p.String())
			}
			diff(t, test.want, got)
		})
	}
}

func TestCirclesAreNamed(t *testing.T) {
	tests := map[string]struct {
		depends map[string][]string
		want    []string
	}{
		"none":      {map[string][]string{"A": {"B"}, "B": {"C"}}, nil},
		"itself":    {map[string][]string{"A": {"A"}}, []string{"A -> A"}},
		"three":     {map[string][]string{"A": {"C"}, "B": {"A"}, "C": {"B"}}, []string{"A -> C -> B -> A"}},
		"two":       {map[string][]string{"A": {"B"}, "B": {"A"}, "C": {"C"}}, []string{"A -> B -> A", "C -> C"}},
		"with tail": {map[string][]string{"A": {"B"}, "B": {"C"}, "C": {"B"}}, []string{"B -> C -> B"}},
		"diamond":   {map[string][]string{"A": {"B", "C"}, "B": {"C"}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var tasks []item
			for i, id := range []string{"A", "B", "C"} {
				tasks = append(tasks, item{Task: ralph.Task{ID: id, DependsOn: test.depends[id]}, line: i + 1})
			}
			var got []string
			for _, p := range crossCheck("list", tasks) {
				_, circle, _ := strings.Cut(p.Text, "tasks depend on each other: ")
				got = append(got, circle)
			}
			diff(t, test.want, got)
		})
	}
}
