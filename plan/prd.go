package plan

import (
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
)

// Two formats are both called prd.json: a list of tasks with a status each, and an object with user
// stories that pass or do not.

// caseList is the list of tasks, each proven by a case that its agent submits.
var caseList = jsonFormat{
	label:  "prd-tasks",
	detect: func(s sketch) bool { return s.opening == '[' && !agentFolder.detect(s) },
	items:  plainList,
	keys: []key{
		idKey, titleKey, descriptionKey,
		textsKey("acceptance_criteria", func(t *ralph.Task) *[]string { return &t.Acceptance }),
		proofKey,
	},
	state: "status",
	write: func(t ralph.Task) (any, error) {
		lost := hasNoPlaceFor(t, "depends_on", "priority", "category", "checks", "optional", "human")
		return struct {
			ID          string           `json:"id"`
			Title       string           `json:"title"`
			Description string           `json:"description"`
			Acceptance  []string         `json:"acceptance_criteria"`
			Proof       ralph.ProofRule  `json:"proof,omitempty"`
			Status      ralph.TaskStatus `json:"status"`
		}{t.ID, t.Title, t.Description, orEmpty(t.Acceptance), t.Proof, t.Status}, lost
	},
}

// stories is the object with user stories.
var stories = jsonFormat{
	label:  "prd-stories",
	detect: func(s sketch) bool { return s.opening == '{' && s.keys["userStories"] },
	items: func(r *jsonReader, top *node) *node {
		if m := top.get("tasks"); m != nil {
			r.faultAt(m.start, `the file has both "tasks" and "userStories"; remove one of them`)
			return nil
		}
		return listUnder(r, top, "userStories")
	},
	keys: []key{
		idKey, titleKey, descriptionKey,
		textsKey("acceptanceCriteria", func(t *ralph.Task) *[]string { return &t.Acceptance }),
		textsKey("dependsOn", func(t *ralph.Task) *[]string { return &t.DependsOn }),
		priorityKey, proofKey,
	},
	state:   "passes",
	boolean: true,
	write: func(t ralph.Task) (any, error) {
		lost := hasNoPlaceFor(t, "category", "checks", "optional", "human")
		done := t.Status == ralph.TaskDone
		return struct {
			ID          string          `json:"id"`
			Title       string          `json:"title"`
			Description string          `json:"description"`
			Acceptance  []string        `json:"acceptanceCriteria"`
			DependsOn   []string        `json:"dependsOn,omitempty"`
			Priority    *int            `json:"priority,omitempty"`
			Proof       ralph.ProofRule `json:"proof,omitempty"`
			Passes      bool            `json:"passes"`
			Notes       string          `json:"notes"`
		}{t.ID, t.Title, t.Description, orEmpty(t.Acceptance), t.DependsOn, t.Priority, t.Proof, done, ""}, lost
	},
}

// hasNoPlaceFor refuses a task with content that the format would silently drop.
func hasNoPlaceFor(t ralph.Task, fields ...string) error {
	for _, f := range []struct {
		name string
		used bool
	}{
		{"depends_on", len(t.DependsOn) > 0},
		{"priority", t.Priority != nil},
		{"category", t.Category != ""},
		{"checks", len(t.Checks) > 0},
		{"optional", t.Optional},
		{"human", t.Human},
	} {
		if f.used && slices.Contains(fields, f.name) {
			return fmt.Errorf("this format cannot store %s", f.name)
		}
	}
	return nil
}

// orEmpty makes a list that is written as [], not as null.
func orEmpty(texts []string) []string { return append([]string{}, texts...) }
