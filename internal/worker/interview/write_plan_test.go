package interview

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/plan"
)

func TestAPlanIsReadWhole(t *testing.T) {
	two := 2
	got, err := decodePlan([]byte(`{"overview":" One.\r\nTwo.\u001b[31m ","blockers":["b"],"open_questions":null,` +
		`"scope_notes":[],"tasks":[
		{"id":" T-1 ","title":"A\n title\u202e","description":"d\u0000\n\tmore","acceptance":["holds"],"depends_on":[" ` +
		`T-2"],"priority":2,"checks":[" go test ./... "],"category":"a  b","optional":true,"proof":""},
		{"id":"T-2","title":"b","acceptance":[],"human":true,"proof":"unbroken"}]}`))
	must(t, err)
	diff(t, Plan{
		Overview: "One.\nTwo.[31m", Blockers: []string{"b"},
		Tasks: []ralph.Task{
			{
				ID: "T-1", Title: "A title", Description: "d\n\tmore", Acceptance: []string{"holds"}, DependsOn: []string{"T-2"},
				Priority: &two, Checks: []string{"go test ./..."}, Category: "a b", Optional: true, Status: ralph.TaskPending,
			},
			{ID: "T-2", Title: "b", Human: true, Proof: ralph.ProofUnbroken, Status: ralph.TaskPending},
		},
	}, got)
}

// changed is a valid plan with one change.
func changed(t *testing.T, change func(*planInput)) string {
	t.Helper()
	p := somePlan()
	change(&p)
	data, err := json.Marshal(p)
	must(t, err)
	return string(data)
}

func TestPlansThatAreNotTaken(t *testing.T) {
	first := func(change func(*taskInput)) string {
		return changed(t, func(p *planInput) { change(&p.Tasks[0]) })
	}
	long := func(n int) string { return strings.Repeat("ä", n) }
	below, huge := -1, 1_000_001
	for _, c := range []struct{ input, want string }{
		{``, "the input is empty; it must be a JSON object"},
		{`null`, "the input must be an object, not null"},
		{`[]`, "the input must be an object, not an array"},
		{`{"overview":"x","tasks":{}}`, "field tasks must be an array, not an object"},
		{
			`{"overview":"x","tasks":[],"notes":1}`,
			"field notes is unknown; the fields are overview, tasks, open_questions, blockers, scope_notes",
		},
		{`{"overview":"x"}`, "field tasks is missing"},
		{`{"overview":"x","tasks":[]}`, "field tasks must have 1 to 200 tasks, not 0"},
		{`{"overview":"x","tasks":[{"id":"A","title":"a","description":"","acceptance":["x"],"status":"done"}]}`,
			"field tasks[0].status is unknown; the fields are id, title, description, acceptance, depends_on, priority, " +
				"checks, " +
				"category, optional, human, proof"},
		{`{"overview":"x","tasks":[{"id":1}]}`, "field tasks[0].id must be a string, not a number"},
		{
			`{"overview":"x","tasks":[{"id":"A","title":"a","description":"","acceptance":[null]}]}`,
			"field tasks[0].acceptance[0] must be a string, not null",
		},
		{`"` + strings.Repeat("x", planLimit) + `"`, "the input has more than 2097152 bytes; write shorter texts"},
		{
			changed(t, func(p *planInput) { p.Tasks = slices.Repeat(p.Tasks[:1], 201) }),
			"field tasks must have 1 to 200 tasks, not 201",
		},
		{changed(t, func(p *planInput) { p.Overview = " " }), "field overview is empty"},
		{
			changed(t, func(p *planInput) { p.Overview = long(8001) }),
			"field overview has 8001 characters; the limit is 8000",
		},
		{changed(t, func(p *planInput) { p.Blockers = []string{""} }), "field blockers[0] is empty"},
		{
			changed(t, func(p *planInput) { p.ScopeNotes = slices.Repeat([]string{"x"}, 51) }),
			"field scope_notes has 51 items; the limit is 50",
		},
		{
			changed(t, func(p *planInput) { p.OpenQuestions = []string{long(2001)} }),
			"field open_questions[0] has 2001 characters; the limit is 2000",
		},
		{first(func(i *taskInput) { i.ID = long(65) }), "field tasks[0].id has 65 characters; the limit is 64"},
		{first(func(i *taskInput) { i.Title = "\x00\n" }), "field tasks[0].title is empty"},
		{first(func(i *taskInput) { i.Title = long(201) }), "field tasks[0].title has 201 characters; the limit is 200"},
		{
			first(func(i *taskInput) { i.Description = long(8001) }),
			"field tasks[0].description has 8001 characters; the limit is 8000",
		},
		{
			first(func(i *taskInput) { i.Acceptance = []string{} }),
			"field tasks[0].acceptance is empty: say how to tell that task T-001 is done",
		},
		{
			first(func(i *taskInput) { i.Acceptance = slices.Repeat([]string{"x"}, 41) }),
			"field tasks[0].acceptance has 41 items; the limit is 40",
		},
		{
			first(func(i *taskInput) { i.DependsOn = []string{long(65)} }),
			"field tasks[0].depends_on[0] has 65 characters; the limit is 64",
		},
		{first(func(i *taskInput) { i.Priority = &below }), "field tasks[0].priority must be from 0 to 1000000"},
		{first(func(i *taskInput) { i.Priority = &huge }), "field tasks[0].priority must be from 0 to 1000000"},
		{
			first(func(i *taskInput) { i.Category = long(65) }),
			"field tasks[0].category has 65 characters; the limit is 64",
		},
		{
			first(func(i *taskInput) { i.Proof = "shown" }),
			`field tasks[0].proof must be one of unbroken, not "shown"`,
		},
		{first(func(i *taskInput) { i.Checks = []string{"a", " \n"} }), "field tasks[0].checks[1] is empty"},
		{
			first(func(i *taskInput) { i.Checks = slices.Repeat([]string{"x"}, 21) }),
			"field tasks[0].checks has 21 items; the limit is 20",
		},
		{
			first(func(i *taskInput) { i.Checks = []string{"true \x1b[8m; rm -rf ~"} }),
			"field tasks[0].checks[0] contains an invisible character; write the command in plain text",
		},
		{
			first(func(i *taskInput) { i.Checks = []string{"true \u202e"} }),
			"field tasks[0].checks[0] contains an invisible character; write the command in plain text",
		},
	} {
		_, err := decodePlan([]byte(c.input))
		if err == nil {
			t.Errorf("%.80s: taken", c.input)
			continue
		}
		diff(t, c.want, err.Error())
	}
}

// FuzzPlan: whatever a model writes, nothing panics; an accepted plan is plain, within limits, and
// survives being written to a list.
func FuzzPlan(f *testing.F) {
	data, err := json.Marshal(somePlan())
	if err != nil {
		f.Fatal(err)
	}
	dir := f.TempDir()
	draft, err := plan.NewDraft(dir, plan.DraftOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add(`{"overview":"\u001b","tasks":[{"id":"A","title":"\ud800","description":"\u2028","acceptance":["x"],` +
		`"checks":["a\nb"],"priority":1e3}]}`)
	f.Add(
		`{"overview":"x","tasks":[{"id":"A","title":"a","description":"","acceptance":[],"human":true,"depends_on":["A"]}]}`,
	)
	f.Add(`{"overview":"x","tasks":[`)
	f.Fuzz(func(t *testing.T, input string) {
		p, err := decodePlan(json.RawMessage(input))
		if err != nil {
			return
		}
		for _, text := range append(
			[]string{p.Overview, p.Tasks[0].Title, p.Tasks[0].Description}, append(p.Blockers, p.Tasks[0].Checks...)...,
		) {
			if strings.ContainsFunc(text, isHidden) || !utf8.ValidString(text) {
				t.Errorf("not plain: %q", text)
			}
		}
		text, faults, _ := draft.Preview(p.Tasks)
		if len(faults) > 0 {
			return
		}
		must(t, os.WriteFile(filepath.Join(dir, "list.json"), []byte(text), 0o644))
		list, err := plan.Open(dir, "list.json")
		must(t, err)
		diff(t, p.Tasks, list.Tasks())
	})
}
