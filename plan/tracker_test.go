package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// oneList is a sample without any of the suite's edits.
func oneList(path, text string) sample {
	return sample{name: path, path: path, files: map[string]string{path: text}}
}

func TestEveryInjuryIsNamed(t *testing.T) {
	const task = `{"id": "A", "title": "a", "description": "d", "acceptance": ["x", "y"], ` +
		`"depends_on": ["B"], "priority": 2, "checks": ["true"], "category": "c"}`
	const other = `{"id": "B", "title": "b"}`
	list := func(tasks ...string) string { return `{"tasks": [` + strings.Join(tasks, ",\n") + `]}` }
	edited := func(old, new string) string { return list(strings.Replace(task, old, new, 1), other) }
	tests := map[string]struct {
		text string
		want ralph.TaskEdits
	}{
		"title": {
			edited(`"title": "a"`, `"title": "z"`),
			ralph.TaskEdits{ListDamage: []string{"the title of task A was changed"}},
		},
		"description": {
			edited(`"d"`, `"e"`),
			ralph.TaskEdits{ListDamage: []string{"the description of task A was changed"}},
		},
		"criterion gone": {
			edited(`["x", "y"]`, `["x"]`),
			ralph.TaskEdits{ListDamage: []string{"the acceptance criteria of task A were changed"}},
		},
		"criterion more": {
			edited(`["x", "y"]`, `["x", "y", "z"]`),
			ralph.TaskEdits{ListDamage: []string{"the acceptance criteria of task A were changed"}},
		},
		"dependencies": {
			edited(`["B"]`, `[]`),
			ralph.TaskEdits{ListDamage: []string{"the dependencies of task A were changed"}},
		},
		"priority": {
			edited(`"priority": 2`, `"priority": 1`),
			ralph.TaskEdits{ListDamage: []string{"the priority of task A was changed"}},
		},
		"no priority": {
			edited(`"priority": 2`, `"priority": null`),
			ralph.TaskEdits{ListDamage: []string{"the priority of task A was changed"}},
		},
		"checks": {
			edited(`["true"]`, `["false"]`),
			ralph.TaskEdits{ListDamage: []string{"the checks of task A were changed"}},
		},
		"category": {
			edited(`"c"}`, `"k"}`),
			ralph.TaskEdits{ListDamage: []string{"the category of task A was changed"}},
		},
		"optional": {
			edited(`"c"}`, `"c", "optional": true}`),
			ralph.TaskEdits{ListDamage: []string{"task A was made optional"}},
		},
		"human": {
			edited(`"c"}`, `"c", "human": true}`),
			ralph.TaskEdits{ListDamage: []string{"task A was assigned to a person"}},
		},
		"id": {
			list(strings.Replace(task, `"B"`, `"C"`, 1), `{"id": "C", "title": "b"}`),
			ralph.TaskEdits{
				Added:      []string{"C"},
				ListDamage: []string{"the dependencies of task A were changed", "the id of task B was changed to C"},
			},
		},
		"id twice": {
			list(task, other, other),
			ralph.TaskEdits{ListDamage: []string{"l.json:3: the id B is used twice; first on line 2"}},
		},
		"circle": {
			list(task, `{"id": "B", "title": "b", "depends_on": ["A"]}`),
			ralph.TaskEdits{ListDamage: []string{"l.json:1: tasks depend on each other: A -> B -> A"}},
		},
		"unknown status": {
			list(task, `{"id": "B", "title": "b", "status": "complete"}`),
			ralph.TaskEdits{ListDamage: []string{`l.json:2: unknown status "complete"; choose one of: pending, done, failed`}},
		},
		"added with check": {
			list(task, other, `{"id": "C", "title": "c", "checks": ["curl x | sh"]}`),
			ralph.TaskEdits{
				Added:      []string{"C"},
				ListDamage: []string{"task C, which the agent added, has its own checks; only the user may add commands"},
			},
		},
		"all at once": {
			list(`{"id": "B", "title": "b", "status": "done"}`),
			ralph.TaskEdits{Claims: []string{"B"}, ListDamage: []string{"task A was deleted"}},
		},
		"other format": {
			`[{"id": "A", "title": "a", "status": "done"}]`,
			ralph.TaskEdits{ListDamage: []string{`l.json:1: expected an object with "tasks", but the file has a list`}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, oneList("l.json", list(task, other)))
			d.lay(map[string]string{"l.json": test.text})
			diff(t, test.want, d.inspect())
			d.must(d.book.Write(nil))
			diff(t, d.s.files, d.files())
		})
	}
}

func TestAnAgentMayAddToADescription(t *testing.T) {
	const plan = "- [ ] First\n  - The parser, not the printer.\n- [ ] Second\n"
	d := newDesk(t, oneList("plan.md", plan))
	noted := strings.Replace(plan, "printer.\n", "printer.\n  - Found: the tokens come from lex.go\n", 1)
	d.lay(map[string]string{"plan.md": noted})
	diff(t, ralph.TaskEdits{}, d.inspect())
	d.must(d.book.Write(nil))
	diff(t, map[string]string{"plan.md": noted}, d.files(), "what it found out stays")
	d.lay(map[string]string{"plan.md": strings.Replace(noted, "not the printer", "or the printer", 1)})
	diff(t, ralph.TaskEdits{ListDamage: []string{"the description of task first was changed"}}, d.inspect())
}

func TestOrderOfFinishedTasksIsFree(t *testing.T) {
	const a = `{"id":"A","title":"a","passes":false}`
	const b = `{"id":"B","title":"b","passes":false}`
	const c = `{"id":"C","title":"c","passes":true}`
	const bDone = `{"id":"B","title":"b","passes":true}`
	list := func(stories ...string) string { return `{"userStories":[` + strings.Join(stories, ",") + `]}` }
	d := newDesk(t, oneList("prd.json", list(a, b, c)))
	d.lay(map[string]string{"prd.json": list(c, a, bDone)})
	diff(t, ralph.TaskEdits{Claims: []string{"B"}}, d.inspect())
	d.lay(map[string]string{"prd.json": list(bDone, c, a)})
	diff(t, ralph.TaskEdits{Claims: []string{"B"}}, d.inspect(), "a claimed one may move, too")
	d.lay(map[string]string{"prd.json": list(b, a, c)})
	diff(t, ralph.TaskEdits{ListDamage: []string{"open tasks were reordered"}}, d.inspect())
}

func TestManyInjuriesAreCutShort(t *testing.T) {
	var tasks []string
	for i := range 30 {
		tasks = append(tasks, fmt.Sprintf(`{"id":"T-%d","title":"t"}`, i))
	}
	d := newDesk(t, oneList("prd.json", `[`+strings.Join(tasks, ",")+`]`))
	d.lay(map[string]string{"prd.json": `[{"id":"X","title":"x"}]`})
	injuries := d.inspect().ListDamage
	diff(t, 21, len(injuries))
	diff(t, "and 10 more changes", injuries[20])
}

func TestSpecFilesOfAnAgentFolder(t *testing.T) {
	const spec = ".agent/tasks/TASK-1.json"
	tests := map[string]struct {
		agent  func(d *desk) error
		injury string
	}{
		"deleted": {func(d *desk) error { return os.Remove(d.path(spec)) }, spec + " is gone"},
		"broken": {
			func(d *desk) error { return os.WriteFile(d.path(spec), []byte("{\n\"id\""), 0o644) },
			spec + `:2: the file ends after the key "id", where a colon was expected`,
		},
		"of another": {func(d *desk) error { return os.WriteFile(d.path(spec), []byte(`{"id":"TASK-2"}`), 0o644) },
			spec + ":1: the spec of task TASK-1 has the id TASK-2"},
		"no object": {
			func(d *desk) error { return os.WriteFile(d.path(spec), []byte(`[]`), 0o644) },
			"expected the spec of task TASK-1",
		},
		"folder gone": {func(d *desk) error { return os.RemoveAll(d.path(".agent/tasks")) }, ""},
		"all gone":    {func(d *desk) error { return os.RemoveAll(d.path(".agent")) }, ""},
		"folder a file": {func(d *desk) error {
			return errors.Join(os.RemoveAll(d.path(".agent/tasks")), os.WriteFile(d.path(".agent/tasks"), nil, 0o644))
		}, ""},
		"folder outside": {func(d *desk) error {
			return errors.Join(os.RemoveAll(d.path(".agent")), os.Symlink(d.TempDir(), d.path(".agent")))
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, agentSample)
			d.must(test.agent(d))
			injuries := d.inspect().ListDamage
			if len(injuries) == 0 || !strings.Contains(injuries[0], test.injury) {
				t.Errorf("injuries %q, want %q", injuries, test.injury)
			}
			d.must(d.book.Write(d.s.state(done)))
			diff(t, d.s.edited(t, d.s.done), d.files())
			diff(t, ralph.TaskEdits{}, d.inspect(), "after Write")
		})
	}
}

func TestASpecThatWasMissingIsNoGap(t *testing.T) {
	list := `[{"id":"TASK-1","title":"a","specFilePath":".agent/tasks/TASK-1.json","passes":false}]`
	d := newDesk(t, oneList(".agent/tasks.json", list))
	spec := d.path(".agent/tasks/TASK-1.json")
	write(t, spec, `{"acceptanceCriteria":["nothing to do"]}`)
	diff(t, ralph.TaskEdits{ListDamage: []string{"the acceptance criteria of task TASK-1 were changed"}}, d.inspect())
	d.must(d.book.Write(nil))
	diff(t, ralph.TaskEdits{}, d.inspect())
	if _, err := os.Stat(spec); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the agent's spec is still there: %v", err)
	}
}

func TestSpecsOfAddedTasksAreOwnedFromThenOn(t *testing.T) {
	d := newDesk(t, agentSample)
	d.lay(d.s.edited(t, d.s.added))
	spec := d.path(".agent/tasks/TASK-4.json")
	write(t, spec, `{"acceptanceCriteria":["strict"]}`)
	diff(t, ralph.TaskEdits{Added: []string{"TASK-4"}}, d.inspect())
	d.must(d.book.Write(nil))
	write(t, spec, `{"acceptanceCriteria":["lax"]}`)
	diff(t, ralph.TaskEdits{ListDamage: []string{"the acceptance criteria of task TASK-4 were changed"}}, d.inspect())
	d.must(d.book.Write(nil))
	text, err := os.ReadFile(spec)
	d.must(err)
	diff(t, `{"acceptanceCriteria":["strict"]}`, string(text))
}

func TestWhatWasInjuredIsKept(t *testing.T) {
	d := newDesk(t, caseSample)
	d.lay(d.s.edited(t, d.s.weaker))
	d.must(d.book.Write(nil))
	injured, found, err := loadSnapshot(d.keep, injuredName)
	d.must(err)
	diff(t, true, found)
	diff(t, d.s.edited(t, d.s.weaker)[d.s.path], string(injured.list()))
	if runtime.GOOS == "windows" {
		return // its modes say nothing
	}
	for _, name := range []string{keptName, injuredName} {
		info, err := os.Stat(filepath.Join(d.keep, name))
		d.must(err)
		diff(t, fs.FileMode(0o600), info.Mode())
	}
}

func TestWriteKeepsTheModeAndLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its modes say nothing")
	}
	d := newDesk(t, caseSample)
	d.must(os.Chmod(d.path("prd.json"), 0o640))
	d.must(d.book.Write(d.s.state(done)))
	info, err := os.Stat(d.path("prd.json"))
	d.must(err)
	diff(t, fs.FileMode(0o640), info.Mode())
	entries, err := os.ReadDir(d.dir)
	d.must(err)
	diff(t, 1, len(entries))
}

func TestAListBehindTheUsersLink(t *testing.T) {
	d := newDesk(t, caseSample)
	real := "docs/plan.json"
	d.must(os.MkdirAll(d.path("docs"), 0o755))
	d.must(os.Rename(d.path("prd.json"), d.path(real)))
	if err := os.Symlink(real, d.path("prd.json")); err != nil {
		t.Skip(err)
	}
	d.must(d.book.Adopt(nil))
	d.must(d.book.Write(d.s.state(done)))
	target, err := os.Readlink(d.path("prd.json"))
	d.must(err)
	diff(t, real, target, "the link stays")
	diff(t, d.s.edited(t, d.s.done), d.files())
	d.reopen()
	diff(t, ralph.TaskEdits{}, d.inspect())

	d.must(os.Remove(d.path("prd.json")))
	d.must(os.Symlink("elsewhere", d.path("prd.json")))
	diff(t, ralph.TaskEdits{ListDamage: []string{"prd.json is a symbolic link now"}}, d.inspect())
	d.must(d.book.Write(nil))
	diff(t, d.s.edited(t, d.s.done), d.files())
}

func TestAListOutsideTheWorkspace(t *testing.T) {
	s := caseSample
	elsewhere := t.TempDir()
	path := filepath.Join(elsewhere, "plan.json")
	write(t, path, s.files[s.path])
	book, err := OpenTracker(t.TempDir(), path, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Adopt(nil); err != nil {
		t.Fatal(err)
	}
	diff(t, path, book.File())
	if err := book.Write(s.state(done)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, s.edited(t, s.done)[s.path], string(text))
	if _, err := OpenTracker(t.TempDir(), "../plan.json", t.TempDir(), ""); err == nil {
		t.Error("a relative path out of the workspace was taken")
	}
}

func TestAnotherListWithTheSameKeepFolder(t *testing.T) {
	d := newDesk(t, caseSample)
	d.lay(storiesSample.files)
	book, err := OpenTracker(d.dir, storiesSample.path, d.keep, "")
	d.must(err)
	diff(t, []ralph.Task{}, book.List())
	d.must(book.Adopt(nil))
	diff(t, storiesSample.tasks, book.List())
}

func TestAKeptListThatIsTornIsAnError(t *testing.T) {
	d := newDesk(t, caseSample)
	write(t, filepath.Join(d.keep, keptName), "no archive at all, but long enough to be one"+strings.Repeat(".", 512))
	if _, err := OpenTracker(d.dir, d.s.path, d.keep, ""); err == nil {
		t.Error("opened")
	}
}

func TestTheUserMayChangeTheFormat(t *testing.T) {
	d := newDesk(t, caseSample)
	d.lay(map[string]string{"prd.json": `{"userStories":[{"id":"T-001","title":"Add"},{"id":"T-009","title":"New"}]}`})
	d.must(d.book.Adopt(map[string]ralph.TaskStatus{"T-001": done, "T-002": done}))
	diff(
		t,
		map[string]string{
			"prd.json": `{"userStories":[{"id":"T-001","title":"Add","passes":true},{"id":"T-009","title":"New"}]}`,
		},
		d.files(),
	)
	diff(t, []ralph.TaskStatus{done, pending}, d.states())
}

func TestWithoutAKeptCopyTheRecordHolds(t *testing.T) {
	d := newDesk(t, caseSample)
	d.must(os.RemoveAll(d.keep))
	d.reopen()
	d.must(d.book.Adopt(d.s.state(done)))
	diff(t, []ralph.TaskStatus{done, done, pending}, d.states())
	diff(t, d.s.edited(t, d.s.done), d.files())
}
