package plan

import (
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

func init() { samples = append(samples, taskmasterSample, ralphySample) }

const (
	taskmasterFirst = `      {
        "id": 1,
        "title": "Read the list",
        "description": "Every format.",
        "details": "Keep the order.",
        "testStrategy": "Bytes are kept",
        "status": "pending",
        "dependencies": [],
        "priority": "medium",
        "subtasks": []
      }`
	taskmasterThird = `      {"id": 3, "title": "Write the list", "status": "in-progress", "dependencies": [1, 2],
       "priority": "low"}`
	taskmasterMiddle = ",\n      {\"id\": 2, \"title\": \"Delete\", \"status\": \"done\", \"dependencies\": []},\n"
)

// A list with tags, of which the current one is master.
var taskmasterSample = sample{
	name:   "taskmaster",
	format: "taskmaster",
	path:   ".taskmaster/tasks/tasks.json",
	files: map[string]string{".taskmaster/tasks/tasks.json": `{
  "master": {
    "tasks": [
` + taskmasterFirst + taskmasterMiddle + taskmasterThird + `
    ],
    "metadata": {"created": "2025-07-01T10:00:00.000Z", "description": "Tasks for master context"}
  },
  "later": {"tasks": [{"id": 1, "title": "Something else", "status": "pending"}]}
}
`},
	tasks: []ralph.Task{
		{
			ID:          "1",
			Title:       "Read the list",
			Description: "Every format.\n\nKeep the order.",
			Acceptance:  []string{"Bytes are kept"},
			Priority:    number(2),
			Status:      ralph.TaskPending,
		},
		{ID: "2", Title: "Delete", Status: ralph.TaskDone},
		{ID: "3", Title: "Write the list", DependsOn: []string{"1", "2"}, Priority: number(3), Status: ralph.TaskPending},
	},
	done: change{
		old: "\"status\": \"pending\",\n        \"dependencies\"",
		new: "\"status\": \"done\",\n        \"dependencies\"",
	},
	undone: change{old: `"title": "Delete", "status": "done"`, new: `"title": "Delete", "status": "pending"`},
	gone:   change{old: ",\n" + taskmasterThird, new: ""},
	weaker: change{old: "\"Bytes are kept", new: "\"Bytes are mostly kept"},
	added: change{
		old: taskmasterThird,
		new: taskmasterThird + ",\n      " + `{"id": 4, "title": "Rest", "status": "pending"}`,
	},
	addedID: "4",
	trick: change{
		old: taskmasterThird,
		new: taskmasterThird + ",\n      " + `{"id": 4, "title": "Rest", "status": "done"}`,
	},
	swapped: change{
		old: taskmasterFirst + taskmasterMiddle + taskmasterThird,
		new: taskmasterThird + taskmasterMiddle + taskmasterFirst,
	},
	prose:  change{old: "Tasks for master context", new: "Tasks for the master context"},
	broken: change{old: taskmasterThird, new: taskmasterThird + ","},
}

const (
	ralphyFirst = "  - title: \"Read the list\"   # first\n    id: T-1\n    completed: false\n    description: |\n" +
		"      Every format.\n      In any layout.\n    acceptance: [A list is read, \"Bytes are kept\"]\n"
	ralphySecond = "  - title: Löschen\n    id: T-2\n    parallel_group: 1\n    completed: true\n"
	ralphyThird  = "  - {title: Write the list, id: T-3, parallel_group: 2}\n"
)

var ralphySample = sample{
	name:   "ralphy",
	format: "ralphy",
	path:   "tasks.yaml",
	files: map[string]string{
		"tasks.yaml": "# our list\ntasks:\n" + ralphyFirst + ralphySecond + ralphyThird + "notes: none\n",
	},
	tasks: []ralph.Task{
		{
			ID:          "T-1",
			Title:       "Read the list",
			Description: "Every format.\nIn any layout.",
			Acceptance:  []string{"A list is read", "Bytes are kept"},
			Priority:    number(0),
			Status:      ralph.TaskPending,
		},
		{ID: "T-2", Title: "Löschen", Priority: number(1), Status: ralph.TaskDone},
		{ID: "T-3", Title: "Write the list", Priority: number(2), Status: ralph.TaskPending},
	},
	done:    change{old: "id: T-1\n    completed: false", new: "id: T-1\n    completed: true"},
	undone:  change{old: "parallel_group: 1\n    completed: true", new: "parallel_group: 1\n    completed: false"},
	gone:    change{old: ralphyThird, new: ""},
	weaker:  change{old: "Bytes are kept", new: "Bytes are mostly kept"},
	added:   change{old: ralphyThird, new: ralphyThird + "  - title: Rest\n    id: T-4\n    completed: false\n"},
	addedID: "T-4",
	trick:   change{old: ralphyThird, new: ralphyThird + "  - title: Rest\n    id: T-4\n    completed: true\n"},
	swapped: change{
		old: ralphyFirst + ralphySecond + ralphyThird,
		new: ralphyThird + ralphySecond + ralphyFirst,
	},
	prose:  change{old: "# our list", new: "# our own list"},
	broken: change{old: ralphyThird, new: "  - {title: Write the list, id: T-3\n"},
}

// Subtasks are the work; their task is done when they are.
func TestTaskmasterSubtasks(t *testing.T) {
	src := source{path: "tasks.json", files: map[string][]byte{"tasks.json": []byte(`{"tasks": [
  {"id": 1, "title": "Log in", "description": "With a form.", "status": "pending", "priority": "high", "subtasks": [
    {"id": 1, "title": "The form", "status": "done", "dependencies": []},
    {"id": 2, "title": "The session", "status": "pending", "dependencies": [1]}
  ]},
  {"id": 2, "title": "Log out", "status": "pending", "dependencies": [1]},
  {"id": 3, "title": "Remember me", "status": "deferred", "dependencies": ["1.2"]},
  {"id": 4, "title": "Captcha", "status": "cancelled"}
]}
`)}}
	f := detect(src.path, src.list())
	want := []ralph.Task{
		{
			ID: "1.1", Title: "The form", Description: "Part of: Log in\n\nWith a form.", Priority: number(1),
			Status: ralph.TaskDone,
		},
		{
			ID: "1.2", Title: "The session", Description: "Part of: Log in\n\nWith a form.", Priority: number(1),
			DependsOn: []string{"1.1"}, Status: ralph.TaskPending,
		},
		{ID: "2", Title: "Log out", DependsOn: []string{"1.1", "1.2"}, Status: ralph.TaskPending},
		{ID: "3", Title: "Remember me", DependsOn: []string{"1.2"}, Optional: true, Status: ralph.TaskPending},
		{ID: "4", Title: "Captcha", Status: ralph.TaskDone},
	}
	diff(t, want, tasksOf(itemsOf(t, f, src)))
	done := editedBy(t, f, src, map[string]ralph.TaskStatus{"1.2": ralph.TaskDone, "4": ralph.TaskDone})["tasks.json"]
	whole := change{old: `"With a form.", "status": "pending"`, new: `"With a form.", "status": "done"`}
	wantDone := strings.Replace(string(src.list()), whole.old, whole.new, 1)
	wantDone = strings.Replace(wantDone, `"The session", "status": "pending"`, `"The session", "status": "done"`, 1)
	diff(t, wantDone, done)
	// An agent that marks the whole task done claims its subtasks; they can be set back one by one.
	claimed := source{path: "tasks.json", files: map[string][]byte{
		"tasks.json": []byte(strings.Replace(string(src.list()), whole.old, whole.new, 1)),
	}}
	diff(t, ralph.TaskDone, itemsOf(t, f, claimed)[1].Status)
	back := editedBy(t, f, claimed, map[string]ralph.TaskStatus{"1.2": ralph.TaskPending})["tasks.json"]
	diff(t, string(src.list()), back)
}

// The tag that Task Master works on is in a file of its own.
func TestTaskmasterTag(t *testing.T) {
	src := taskmasterSample.source()
	src.files[".taskmaster/state.json"] = []byte(`{"currentTag": "later"}`)
	got := tasksOf(itemsOf(t, taskmaster{}, src))
	diff(t, []ralph.Task{{ID: "1", Title: "Something else", Status: ralph.TaskPending}}, got)
	src.files[".taskmaster/state.json"] = []byte(`{"currentTag": "gone"}`)
	_, problems := taskmaster{}.parse(src)
	diff(t, `.taskmaster/tasks/tasks.json:1: the file has no tasks for the tag "gone"`, Errors(problems)[0].String())
}

// A task without completed and id, as people write it.
func TestRalphyWithoutKeys(t *testing.T) {
	text := "tasks:\r\n- title: Set up\r\n- title: Set up\r\n  description: >\r\n    all of\r\n    it\r\n" +
		"- { title: \"Größe\" }\r\n"
	src := source{path: "list.yml", files: map[string][]byte{"list.yml": []byte(text)}}
	f := detect(src.path, src.list())
	var ids []string
	states := map[string]ralph.TaskStatus{}
	for _, it := range itemsOf(t, f, src) {
		ids = append(ids, it.ID)
		states[it.ID] = ralph.TaskDone
	}
	diff(t, []string{"set-up", "set-up-2", "grosse"}, ids)
	want := "tasks:\r\n- completed: true\r\n  title: Set up\r\n- completed: true\r\n  title: Set up\r\n" +
		"  description: >\r\n    all of\r\n    it\r\n- { completed: true, title: \"Größe\" }\r\n"
	diff(t, want, editedBy(t, f, src, states)["list.yml"])
}

func TestRalphyProblems(t *testing.T) {
	for list, want := range map[string]string{
		"tasks:\n  - completed: true\n":                "l.yaml:2: the task has no title",
		"tasks:\n  - title: a\n    completed: maybe\n": `l.yaml:3: completed must be true or false, not "maybe"`,
		"tasks:\n  - title: &x a\n":                    "l.yaml:2: title must be plain text, without anchors and tags",
		"tasks:\n  - title: a\n    title: b\n":         `l.yaml:3: the key "title" appears twice`,
		"tasks:\n  x: 1\n":                             "l.yaml:2: tasks must be a list",
	} {
		src := source{path: "l.yaml", files: map[string][]byte{"l.yaml": []byte(list)}}
		_, problems := ralphy{}.parse(src)
		if len(problems) == 0 {
			t.Errorf("%q has no problem", list)
			continue
		}
		diff(t, want, problems[0].String(), list)
	}
}

// FuzzOtherTools: reading never panics, and what was set is read again.
func FuzzOtherTools(f *testing.F) {
	for _, s := range []sample{taskmasterSample, ralphySample} {
		f.Add([]byte(s.files[s.path]))
	}
	f.Add([]byte("tasks:\n- title: a\n-\n  title: b\n  completed: no\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []format{taskmaster{}, ralphy{}} {
			src := source{path: "l", files: map[string][]byte{"l": data}}
			all, problems := format.parse(src)
			if len(Errors(append(problems, crossCheck("l", all)...))) > 0 {
				continue
			}
			states := map[string]ralph.TaskStatus{}
			for _, it := range all {
				states[it.ID] = ralph.TaskDone
			}
			changed, err := format.edit(src, states)
			if err != nil {
				continue // a layout that is not understood is an error, not damage
			}
			again, _ := format.parse(src.with(changed))
			for i, it := range again {
				if it.Status != ralph.TaskDone || it.Title != all[i].Title {
					t.Fatalf("%s: %+v after %+v\n%s", format.name(), it, all[i], src.with(changed).list())
				}
			}
		}
	})
}
