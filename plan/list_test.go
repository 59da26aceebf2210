package plan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestFindTakesTheFirst(t *testing.T) {
	dir := t.TempDir()
	name, ok, err := Find(dir)
	if name != "" || ok || err != nil {
		t.Fatal(name, ok, err)
	}
	for i := len(Places) - 1; i >= 0; i-- {
		write(t, filepath.Join(dir, Places[i]), "")
		name, ok, err := Find(dir)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		diff(t, Places[i], name)
	}
}

func TestFindPassesByFilesInTheFoldersPlace(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".agent"), "")
	write(t, filepath.Join(dir, "prd.json"), "")
	name, _, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "prd.json", name)
}

func TestOpenShowsTheList(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		d := newDesk(t, s)
		for _, path := range []string{s.path, d.path(s.path)} {
			l, err := Open(d.dir, path)
			d.must(err)
			diff(t, s.tasks, l.Tasks())
			diff(t, s.format, l.Format())
			diff(t, s.path, l.Path())
			diff(t, 0, l.Line("no-such-task"))
			if first, third := l.Line(s.tasks[0].ID), l.Line(s.tasks[2].ID); first < 1 || third <= first {
				t.Errorf("lines %d and %d", first, third)
			}
		}
	})
}

func TestSetWritesOnlyStates(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		d := newDesk(t, s)
		l, err := Open(d.dir, s.path)
		d.must(err)
		d.must(l.Set(s.state(done)))
		diff(t, s.edited(t, s.done), d.files())
		diff(t, done, l.Tasks()[0].Status)
		d.must(l.Set(s.state(pending)))
		diff(t, s.files, d.files())
		if err := l.Set(map[string]ralph.TaskStatus{"no-such-task": done}); err == nil {
			t.Error("an unknown task was set")
		}
	})
}

func TestAddCountsOn(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		d := newDesk(t, s)
		l, err := Open(d.dir, s.path)
		d.must(err)
		want, _ := nextID(l.items)
		got, err := l.Add(ralph.Task{Title: "One more"})
		d.must(err)
		diff(t, want, got)
		diff(t, 4, len(l.Tasks()))
		if _, err := l.Add(ralph.Task{ID: got, Title: "Again"}); err == nil {
			t.Error("an id was given twice")
		}
		if _, err := l.Add(ralph.Task{ID: "no id", Title: "Again"}); err == nil {
			t.Error("a bad id was taken")
		}
		diff(t, 4, len(l.Tasks()))
	})
}

func TestAddToAnAgentFolderWritesTheSpec(t *testing.T) {
	d := newDesk(t, agentSample)
	l, err := Open(d.dir, d.s.path)
	d.must(err)
	task := ralph.Task{
		Title:       "More",
		Description: "All of it",
		Acceptance:  []string{"a"},
		DependsOn:   []string{"TASK-3"},
		Category:    "docs",
		Priority:    number(7),
		Status:      pending,
	}
	_, err = l.Add(task)
	d.must(err)
	task.ID, task.SpecFile = "TASK-4", ".agent/tasks/TASK-4.json"
	diff(t, task, l.Tasks()[3])
	if _, err := l.Add(ralph.Task{Title: "More", DependsOn: []string{"TASK-33"}}); err == nil {
		t.Error("a dependency on nothing was added")
	}
	diff(t, 4, len(l.Tasks()))
}

func TestAddToAnEmptyList(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "prd.json"), "[]\n")
	l, err := Open(dir, "prd.json")
	var bad Problems
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	id, err := l.Add(ralph.Task{Title: "First"})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "TASK-1", id)
	diff(t, []ralph.Task{{ID: "TASK-1", Title: "First", Status: pending}}, l.Tasks())
}

func TestCreateWritesOurOwnFormatOnce(t *testing.T) {
	dir := t.TempDir()
	l, err := Create(dir, []ralph.Task{{Title: "First", Acceptance: []string{"a < b"}}})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []ralph.Task{{ID: "TASK-1", Title: "First", Acceptance: []string{"a < b"}, Status: pending}}, l.Tasks())
	text, err := os.ReadFile(filepath.Join(dir, OwnPath))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, `{
  "version": 1,
  "tasks": [
    {
      "id": "TASK-1",
      "title": "First",
      "acceptance": [
        "a < b"
      ],
      "status": "pending"
    }
  ]
}
`, string(text))
	if _, err := Create(dir, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
}

func TestEncodeImportsEveryFormat(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		data, err := Encode(s.tasks)
		if err != nil {
			t.Fatal(err)
		}
		src := source{path: OwnPath, files: map[string][]byte{OwnPath: data}}
		want := slices.Clone(s.tasks)
		for i := range want {
			want[i].SpecFile = "" // its text came along
		}
		diff(t, want, tasksOf(itemsOf(t, ownFormat, src)))
	})
}

func TestOpenReadsOnlyWhatItShould(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "prd.json"), `[{"id":"A","title":"a","status":"done"}]`)
	write(t, filepath.Join(dir, "folder.json", "x"), "")
	if err := os.Symlink(filepath.Join(outside, "prd.json"), filepath.Join(dir, "link.json")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("../"+filepath.Base(outside)+"/prd.json", filepath.Join(dir, "dots.json")); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]string{
		"none.json":   "none.json: the file is not there",
		"folder.json": "folder.json: the file is a folder",
		"link.json":   "link.json: the file cannot be read: path escapes from parent",
		"dots.json":   "dots.json: the file cannot be read: path escapes from parent",
	} {
		l, err := Open(dir, name)
		if err == nil {
			t.Errorf("%s was read", name)
			continue
		}
		diff(t, want, err.Error())
		diff(t, name == "none.json", errors.Is(err, fs.ErrNotExist))
		var bad Problems
		diff(t, true, errors.As(err, &bad))
		diff(t, []ralph.Task{}, l.Tasks())
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := writeFile(root, "dots.json", nil, 0o644); err == nil {
		t.Error("a link out of the workspace was written through")
	}
}
