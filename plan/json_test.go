package plan

import (
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestScanJSONSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		text   string
		offset int
		want   string
	}{
		"nothing":            {" \n", 2, "the file is empty"},
		"only a mark":        {"\ufeff", 3, "the file is empty"},
		"trailing comma":     {`{"a":1 , }`, 7, "trailing comma before }"},
		"no comma":           {`[1 2]`, 3, "unexpected '2' in a list, where a comma or ] was expected"},
		"no colon":           {`{"a" 1}`, 5, `unexpected '1' after the key "a", where a colon was expected`},
		"key without quotes": {`{a:1}`, 1, "unexpected 'a' where a key was expected"},
		"single quotes":      {`['a']`, 1, `unexpected '\'' where a value was expected`},
		"comment":            {"[1, # one\n2]", 4, "JSON has no comments"},
		"open text":          {"[\"a\nb\"]", 3, "the string is not closed on its line"},
		"control character":  {"[\"a\tb\"]", 1, "the string contains a control character or an invalid escape"},
		"wrong escape":       {`["a\x"]`, 1, "the string contains a control character or an invalid escape"},
		"ends in a text":     {`["a\`, 4, "the file ends inside a string"},
		"ends in a list":     {`[1`, 2, "the file ends in a list, where a comma or ] was expected"},
		"ends in an object":  {`{"a":`, 5, "the file ends where a value was expected"},
		"leading zero":       {`[01]`, 1, "01 is not a number"},
		"minus alone":        {`[-]`, 1, "- is not a number"},
		"two documents":      {`[] []`, 3, "unexpected '[' after the end of the list"},
		"wrong word":         {`[True]`, 1, "unexpected 'T' where a value was expected"},
		"too deep":           {strings.Repeat("[", 200), maxDepth + 1, "nested deeper than 100"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := scanJSON([]byte(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			diff(t, test.want, err.text)
			diff(t, test.offset, err.offset)
		})
	}
}

func TestEditAddsAStateThatIsNotThere(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"lines": {
			"[\n  {\n    \"id\": \"T-1\",\n    \"title\": \"One\"\n  }\n]\n",
			"[\n  {\n    \"id\": \"T-1\",\n    \"title\": \"One\",\n    \"status\": \"done\"\n  }\n]\n"},
		"one line": {`[{"id":"T-1","title":"One"}]`, `[{"id":"T-1","title":"One","status":"done"}]`},
		"airy":     {`[ { "id" : "T-1" , "title" : "One" } ]`, `[ { "id" : "T-1" , "title" : "One", "status" : "done" } ]`},
		"comma first": {
			"[{ \"id\": \"T-1\"\n , \"title\": \"One\"\n }]",
			"[{ \"id\": \"T-1\"\n , \"title\": \"One\", \"status\": \"done\"\n }]"},
		"Windows": {
			"[{\r\n\t\"id\": \"T-1\",\r\n\t\"title\": \"One\"\r\n}]",
			"[{\r\n\t\"id\": \"T-1\",\r\n\t\"title\": \"One\",\r\n\t\"status\": \"done\"\r\n}]"},
		"null": {`[{"id":"T-1","title":"One","status":null }]`, `[{"id":"T-1","title":"One","status":"done" }]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := source{path: "prd.json", files: map[string][]byte{"prd.json": []byte(test.before)}}
			got := editedBy(t, caseList, src, map[string]ralph.TaskStatus{"T-1": ralph.TaskDone})
			diff(t, map[string]string{"prd.json": test.after}, got)
		})
	}
}

func TestAddKeepsTheStyleOfTheList(t *testing.T) {
	task := ralph.Task{ID: "T-2", Title: "Two < 3", Acceptance: []string{"a"}, Status: ralph.TaskPending}
	tests := map[string]struct {
		f             format
		before, after string
	}{
		"lines": {
			ownFormat,
			"{\n\t\"tasks\": [\n\t\t{\n\t\t\t\"id\": \"T-1\",\n\t\t\t\"title\": \"One\"\n\t\t}\n\t]\n}\n",
			"{\n\t\"tasks\": [\n\t\t{\n\t\t\t\"id\": \"T-1\",\n\t\t\t\"title\": \"One\"\n\t\t},\n\t\t{\n" +
				"\t\t\t\"id\": \"T-2\",\n\t\t\t\"title\": \"Two < 3\",\n" +
				"\t\t\t\"acceptance\": [\n\t\t\t\t\"a\"\n\t\t\t],\n\t\t\t\"status\": \"pending\"\n\t\t}\n\t]\n}\n",
		},
		"one line": {
			stories,
			`{"userStories":[{"id":"T-1","title":"One"}]}`,
			`{"userStories":[{"id":"T-1","title":"One"},` +
				`{"id":"T-2","title":"Two < 3","description":"","acceptanceCriteria":["a"],"passes":false,"notes":""}]}`,
		},
		"a line each": {caseList,
			"[\r\n  {\"id\":\"T-0\",\"title\":\"Zero\"},\r\n  {\"id\":\"T-1\",\"title\":\"One\"}\r\n]\r\n",
			"[\r\n  {\"id\":\"T-0\",\"title\":\"Zero\"},\r\n  {\"id\":\"T-1\",\"title\":\"One\"},\r\n" +
				"  {\"id\":\"T-2\",\"title\":\"Two < " +
				"3\",\"description\":\"\",\"acceptance_criteria\":[\"a\"],\"status\":\"pending\"}\r\n]\r\n"},
		"the first": {
			ownFormat,
			"{\n  \"version\": 1,\n  \"tasks\": []\n}\n",
			"{\n  \"version\": 1,\n  \"tasks\": [\n    {\n      \"id\": \"T-2\",\n      \"title\": \"Two < 3\",\n" +
				"      \"acceptance\": [\n        \"a\"\n      ],\n" +
				"      \"status\": \"pending\"\n    }\n  ]\n}\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.f.add(source{path: "list.json", files: map[string][]byte{"list.json": []byte(test.before)}}, task)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, test.after, string(got.list()))
		})
	}
}

func TestAddRefusesWhatTheFormatWouldDrop(t *testing.T) {
	tests := map[string]struct {
		f    format
		list string
		task ralph.Task
		want string
	}{
		"checks": {
			stories,
			`{"userStories":[]}`,
			ralph.Task{Checks: []string{"true"}},
			"add task: this format cannot store checks",
		},
		"dependencies": {
			caseList,
			`[]`,
			ralph.Task{DependsOn: []string{"A"}},
			"add task: this format cannot store depends_on",
		},
		"human": {agentFolder, `[]`, ralph.Task{Human: true}, "add task: this format cannot store human"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := test.f.add(source{path: "l", files: map[string][]byte{"l": []byte(test.list)}}, test.task)
			if err == nil {
				t.Fatal("it was added")
			}
			diff(t, test.want, err.Error())
		})
	}
}

func TestPriorities(t *testing.T) {
	for text, want := range map[string]*int{
		`1`: number(1), `0`: number(0), `-2`: number(-2), `3.0`: number(3), `1e2`: number(100),
		`"high"`: number(1), `"Medium"`: number(2), `"LOW"`: number(3), `null`: nil,
	} {
		src := source{
			path:  "l.json",
			files: map[string][]byte{"l.json": []byte(`{"tasks":[{"id":"A","title":"a","priority":` + text + `}]}`)},
		}
		diff(t, want, itemsOf(t, ownFormat, src)[0].Priority, text)
	}
}

func TestDetectionGoesByContent(t *testing.T) {
	tests := []struct{ path, text, want string }{
		{"prd.json", `[{"id":"T-001","status":"pending"}]`, "prd-tasks"},
		{"prd.json", `{"userStories":[]}`, "prd-stories"},
		{"prd.json", `[{"id":"TASK-1","passes":false}]`, "agent-folder"},
		{"any-name", "\ufeff\r\n" + `{"version":1,"tasks":[]}`, "ralph"},
		{"plan.md", `{"tasks":[]}`, "ralph"},
		{".agent/tasks.json", `[]`, "agent-folder"},
		{"prd.json", `[]`, "prd-tasks"},
		{".agent/tasks.json", `[{"id":"T-001","title":"a","status":"done"}]`, "prd-tasks"},
		{".ralph/tasks.json", `{}`, "ralph"},
		{".ralph/tasks.json", `{"tas`, "ralph"},
		{"prd.json", `{"userStories":[{"id"`, "prd-stories"},
		{"prd.json", `[{"id":"A","passes":fal`, "agent-folder"},
		{"list.json", `{"a":1}`, ""},
		{"list.json", `"text"`, ""},
	}
	for _, test := range tests {
		got := ""
		if f := detect(test.path, []byte(test.text)); f != nil {
			got = f.name()
		}
		diff(t, test.want, got, test.path, test.text)
	}
}

func TestNextID(t *testing.T) {
	tests := []struct {
		ids  []string
		want string
	}{
		{[]string{"TASK-7"}, "TASK-8"},
		{[]string{"T-001", "T-003", "T-002"}, "T-004"},
		{[]string{"US-009", "US-010"}, "US-011"},
		{[]string{"T-999"}, "T-1000"},
		{[]string{"A1", "B-2", "B-9", "B-3"}, "B-10"},
		{[]string{"write-docs", "T-1"}, "T-2"},
		{[]string{"write-docs-2"}, ""},
		{nil, ""},
	}
	for _, test := range tests {
		var tasks []item
		for _, id := range test.ids {
			tasks = append(tasks, item{Task: ralph.Task{ID: id}})
		}
		got, _ := nextID(tasks)
		diff(t, test.want, got)
	}
}
