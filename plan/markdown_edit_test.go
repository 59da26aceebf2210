package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestMarkdownEdit(t *testing.T) {
	for _, c := range []struct {
		name, text, states, want string
	}{
		{"one byte", "- [ ] a\r\n* [X] b\r\n", "a=done b=done", "- [x] a\r\n* [X] b\r\n"},
		{"back", "- [x] a\n* [X] b\n", "a=pending b=failed", "- [ ] a\n* [ ] b\n"},
		{"failed is not done", "- [ ] a\n- [~] b\n", "a=failed b=pending", "- [ ] a\n- [~] b\n"},
		{"begun to done", "- [~] a\n- [\t] b\n", "a=done b=done", "- [x] a\n- [x] b\n"},
		{"steps are not the task", "- [ ] a\n  - [ ] b\n- [x] c\n  - [x] d\n", "a=done c=pending",
			"- [x] a\n  - [ ] b\n- [ ] c\n  - [x] d\n"},
		{"byte order mark, tab, no newline", "\ufeff-\t[ ]\ta", "a=done", "\ufeff-\t[x]\ta"},
		{"lone CR", "- [ ] a\r- [x] b\r", "a=done b=pending", "- [x] a\r- [ ] b\r"},
		{"a section ticks what is open", "## Task 1: A\n- [x] a\n- [ ] b\n  - [ ] c\n", "Task-1=done",
			"## Task 1: A\n- [x] a\n- [x] b\n  - [x] c\n"},
		{"and unticks all", "## Task 1: A\n- [x] a\n- [X] b\n## Task 2: B\n- [x] c\n", "Task-1=pending Task-2=done",
			"## Task 1: A\n- [ ] a\n- [ ] b\n## Task 2: B\n- [x] c\n"},
		{"a section half done is pending as it is", "## Task 1: A\n- [x] a\n- [ ] b\n", "Task-1=failed",
			"## Task 1: A\n- [x] a\n- [ ] b\n"},
		{"what a person ticks", "## Task 1: A\n- [ ] a\n- [ ] b (manual)\n### Optional\n- [ ] c\n", "Task-1=done",
			"## Task 1: A\n- [x] a\n- [ ] b (manual)\n### Optional\n- [ ] c\n"},
		{"box in the heading", "## [ ] Task 1: A\n## [ ] Task 2: B\n- [ ] b\n", "Task-1=done Task-2=done",
			"## [x] Task 1: A\n## [x] Task 2: B\n- [x] b\n"},
		{"no box", "## Task 1: A\n## Task 2: B\n- [ ] b\n", "Task-1=done", "## Task 1: A\n## Task 2: B\n- [ ] b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := markdownSource(c.text)
			states := map[string]ralph.TaskStatus{}
			for _, pair := range strings.Fields(c.states) {
				id, state, _ := strings.Cut(pair, "=")
				states[id] = ralph.TaskStatus(state)
			}
			diff(t, map[string]string{planPath: c.want}, editedBy(t, markdown{}, src, states))
			diff(t, c.text, string(src.list()), "the source")
			changed, err := markdown{}.edit(src, states)
			if err != nil {
				t.Fatal(err)
			}
			if _, listed := changed.files[planPath]; listed != (c.want != c.text) {
				t.Errorf("file listed as changed: %v", listed)
			}
		})
	}
}

func TestMarkdownAdd(t *testing.T) {
	plain := ralph.Task{Title: "New one"}
	full := ralph.Task{
		ID:          "T-9",
		Title:       "New one",
		Description: "Two\nlines.",
		Acceptance:  []string{"it `works`", "fast"},
		DependsOn:   []string{"T-1"},
		Priority:    number(2),
		Checks:      []string{"make a", "echo `b`"},
		Category:    "ui",
		SpecFile:    "specs/a.md",
		Human:       true,
		Status:      ralph.TaskDone,
	}
	for _, c := range []struct {
		name, text string
		task       ralph.Task
		want       string
	}{
		{"empty file", "", plain, "- [ ] New one\n"},
		{"byte order mark alone", "\ufeff", plain, "\ufeff- [ ] New one\n"},
		{"heading only", "# Plan\n", plain, "# Plan\n\n- [ ] New one\n"},
		{"behind the list", "# Plan\n- [ ] a\n\nText\n", plain, "# Plan\n- [ ] a\n- [ ] New one\n\nText\n"},
		{"no final newline", "* [ ] a", plain, "* [ ] a\n* [ ] New one"},
		{"CRLF and a heading right behind", "- [ ] a\r\n## Notes\r\n", plain, "- [ ] a\r\n- [ ] New one\r\n## Notes\r\n"},
		{"lone CR", "- [ ] a\r", plain, "- [ ] a\r- [ ] New one\r"},
		{"numbered", "1. [ ] a\n2. [x] b\n", plain, "1. [ ] a\n2. [x] b\n3. [ ] New one\n"},
		{"loose", "- [ ] a\n\n- [ ] b\n", plain, "- [ ] a\n\n- [ ] b\n\n- [ ] New one\n"},
		{"nested", "- Group\n  - [ ] a\n    more\n- Other\n", plain,
			"- Group\n  - [ ] a\n    more\n  - [ ] New one\n- Other\n"},
		{"blanks at the end of the line stay", "- [ ] a  \n\n\n", plain, "- [ ] a  \n- [ ] New one\n\n\n"},
		{"behind code", "- [ ] a\n  ```\n  x\n  ```\n\n# End\n", plain,
			"- [ ] a\n  ```\n  x\n  ```\n- [ ] New one\n\n# End\n"},
		{"not among the optional", "- [ ] a\n\n## Optional\n- [ ] b\n", plain,
			"- [ ] a\n- [ ] New one\n\n## Optional\n- [ ] b\n"},
		{"not among what is done", "# P\n## Open\n- [ ] a\n## Completed\n- [x] b\n", plain,
			"# P\n## Open\n- [ ] a\n- [ ] New one\n## Completed\n- [x] b\n"},
		{"nothing but optional ones", "# P\n## Optional\n- [ ] b\n", plain,
			"# P\n## Optional\n- [ ] b\n\n## Tasks\n\n- [ ] New one\n"},
		{"same title again", "- [ ] New one\n", plain, "- [ ] New one\n- [ ] New one\n"},
		{"id that the title has anyway", "- [ ] a\n", ralph.Task{ID: "new-one", Title: "New one"},
			"- [ ] a\n- [ ] New one\n"},
		{"optional", "- [ ] a\n", ralph.Task{Title: "New one", Optional: true}, "- [ ] a\n- [ ] New one (optional)\n"},
		{"markup is escaped where it has to be", "- [ ] a\n", ralph.Task{Title: "Use *args and **kw of f_x_y <b>"},
			"- [ ] a\n- [ ] Use \\*args and \\*\\*kw of f\\_x\\_y \\<b\\>\n"},
		{"all of it", "- [ ] T-1: a\n", full,
			"- [ ] T-1: a\n- [x] T-9: New one (human)\n  - Depends on: T-1\n  - Priority: 2\n  - Category: ui\n" +
				"  - Spec: `specs/a.md`\n  - Check: `make a`\n" +
				"  - Check: ``` echo `b` ```\n  - [ ] it `works`\n  - [ ] fast\n\n  Two\n  lines.\n"},
		{"section", "# Plan\n### Task 1: A\n- [ ] a\n\n## Notes\n- [ ] x\n", plain,
			"# Plan\n### Task 1: A\n- [ ] a\n\n### Task 2: New one\n\n- [ ] New one\n\n## Notes\n- [ ] x\n"},
		{"section with all of it", "## Task 1: A\n- [ ] a\n",
			ralph.Task{ID: "Task-7", Title: "New one", Description: "Text.", Acceptance: []string{"b", "c"},
				DependsOn: []string{"Task-1"}},
			"## Task 1: A\n- [ ] a\n\n## Task 7: New one\n\nText.\n\n- Depends on: Task-1\n- [ ] b\n- [ ] c\n"},
		{"section in the list's own style", "## US-001: A\n- [ ] a\n", ralph.Task{ID: "US-002", Title: "New one"},
			"## US-001: A\n- [ ] a\n\n## US-002: New one\n\n- [ ] New one\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := markdownSource(c.text)
			changed, err := markdown{}.add(src, c.task)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, map[string][]byte{planPath: []byte(c.want)}, changed.files)
			diff(t, c.text, string(src.list()), "the source")
		})
	}
}

func TestMarkdownAddRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		task ralph.Task
	}{
		"no title":                    {"- [ ] a\n", ralph.Task{Title: " \n"}},
		"id that cannot be written":   {"- [ ] a\n", ralph.Task{ID: "x.y", Title: "New one"}},
		"a fence that is open":        {"# P\n```\n- [ ] a\n", ralph.Task{Title: "New one"}},
		"a description with commands": {"- [ ] a\n", ralph.Task{Title: "New one", Description: "Check: `rm -rf /`"}},
		"a description with tasks":    {"- [ ] a\n", ralph.Task{Title: "New one", Description: "x\n\n- [ ] y"}},
		"a file that cannot be read":  {strings.Repeat("> ", 200) + "a\n", ralph.Task{Title: "New one"}},
	} {
		t.Run(name, func(t *testing.T) {
			changed, err := markdown{}.add(markdownSource(c.text), c.task)
			if err == nil {
				t.Errorf("added:\n%s", changed.list())
			}
		})
	}
}

func TestMarkdownDetects(t *testing.T) {
	for _, c := range []struct {
		path, text string
		want       bool
	}{
		{"PLAN.md", "", true},
		{"docs/plan.Markdown", "prose", true},
		{"TODO", "- [ ] a\n", true},
		{"todo.txt", "## Task 1: a\n- [ ] b\n", true},
		{"todo.txt", "prose\n", false},
		{"todo.txt", "```\n- [ ] a\n```\n", false},
		{"list.json", `{"text": "- [ ] a"}`, false},
	} {
		if got := (markdown{}).detects(c.path, []byte(c.text)); got != c.want {
			t.Errorf("%s %q: %v, want %v", c.path, c.text, got, c.want)
		}
	}
}

// Hostile lists must be read in time linear in their length. Some of these took minutes, or all
// memory, when a Markdown parser got them whole.
func TestMarkdownReadsHostileLists(t *testing.T) {
	const size = 1 << 16
	for unit, want := range map[string]int{
		"> ": 0, ">": 0, "1. ": 0, "`": 0, "[": 0, "_a*": 0, "[a](": 0, "[a]: b\n": 0,
		"- [ ] _a*": 1, "- [ ] (human)": 1,
		"- [ ] a\n": size / 8, "- [ ] a\n  1. b\n": size / 15, "# Task 1: a\n- [ ] b\n": size / 20,
	} {
		all, _ := markdown{}.parse(markdownSource(strings.Repeat(unit, size/len(unit))))
		if len(all) != want {
			t.Errorf("%q: %d tasks, want %d", unit, len(all), want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range samples {
		if s.format == "markdown" {
			f.Add(s.source().list(), uint64(1))
		}
	}
	for _, text := range []string{"- [ ] a\n  - [x] b\n- [~] c\r\n", "\ufeff## Task 1\n- [ ] a\n- [x] b (human)\n",
		"- - [ ] a\n\t1) [X]\tb", "- [x]\n  a\n\n[x]: b\n", "### [ ] Task 1\n# Task 1.1\n> - [ ] a",
		"- [ ]* a\r- [x] b\n***\n    - [ ] c\n"} {
		f.Add([]byte(text), uint64(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, pick uint64) {
		src := source{path: planPath, files: map[string][]byte{planPath: data}}
		list := readChecklist(src)
		states := map[string]ralph.TaskStatus{}
		for i, task := range list.tasks {
			if !validID(task.ID) || task.Title == "" || task.line < 1 {
				t.Fatalf("task %+v", task)
			}
			states[task.ID] = []ralph.TaskStatus{ralph.TaskPending, ralph.TaskDone}[(pick>>(i%64))&1]
		}
		changed, err := markdown{}.edit(src, states)
		if err != nil {
			t.Fatal(err)
		}
		after, touched := changed.files[planPath]
		if !touched {
			after = data
		}
		checkBoxBytes(t, data, after)
		src.files[planPath] = after
		now := readChecklist(src)
		if len(now.tasks) != len(list.tasks) {
			t.Fatalf("%d tasks became %d", len(list.tasks), len(now.tasks))
		}
		for i, task := range now.tasks {
			want := list.tasks[i].Task
			want.Status = states[task.ID]
			if len(task.boxes) == 0 {
				want.Status = ralph.TaskPending
			}
			diff(t, want, task.Task)
		}
	})
}

// checkBoxBytes finds the bytes that differ: each has to stand between brackets.
func checkBoxBytes(t *testing.T, before, after []byte) {
	t.Helper()
	if len(before) != len(after) {
		t.Fatalf("%d bytes became %d", len(before), len(after))
	}
	for i := range before {
		if before[i] != after[i] &&
			(before[i-1] != '[' || before[i+1] != ']' || !bytes.ContainsRune([]byte("x "), rune(after[i]))) {
			t.Fatalf("byte %d: %q became %q", i, before[i], after[i])
		}
	}
}

// Whatever can be added can be read back, and leaves the rest alone.
func FuzzMarkdownAdd(f *testing.F) {
	f.Add([]byte("- [ ] a\n"), "New *one*")
	f.Add([]byte("## Task 1: a\r\n- [ ] b"), "# [x] b:")
	f.Fuzz(func(t *testing.T, data []byte, title string) {
		src := source{path: planPath, files: map[string][]byte{planPath: data}}
		changed, err := markdown{}.add(src, ralph.Task{Title: title})
		if err != nil {
			return
		}
		before, after := readChecklist(src).tasks, readChecklist(changed).tasks
		if len(after) != len(before)+1 {
			t.Fatalf("%d tasks became %d", len(before), len(after))
		}
		now, same := changed.list(), 0
		for same < len(data) && now[same] == data[same] {
			same++
		}
		if !bytes.HasSuffix(now, data[same:]) {
			t.Fatalf("more than an insertion: %q became %q", data, now)
		}
	})
}

func BenchmarkMarkdownParse(b *testing.B) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(
			&text,
			"- [ ] **T-%d**: Item with `code` and [link](x.md)\n  - Depends on: T-%d\n  - [ ] criterion\n",
			i,
			max(0, i-1),
		)
	}
	src := markdownSource(text.String())
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if all, _ := (markdown{}).parse(src); len(all) != 5000 {
			b.Fatal(len(all))
		}
	}
}
