package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/ralphloop/ralph"
)

// OwnPath is the path of the list that Ralph writes itself.
const OwnPath = ".ralph/tasks.json"

// ownFormat is the format of .ralph/tasks.json. It is strict: a misspelled key would be a criterion
// that is never read.
var ownFormat = jsonFormat{
	label: "ralph",
	detect: func(s sketch) bool {
		return s.opening == '{' && !s.keys["userStories"] && (s.keys["tasks"] || path.Clean(s.path) == OwnPath)
	},
	items: ownItems,
	keys: []key{
		idKey, titleKey, descriptionKey,
		textsKey("acceptance", func(t *ralph.Task) *[]string { return &t.Acceptance }),
		textsKey("depends_on", func(t *ralph.Task) *[]string { return &t.DependsOn }),
		priorityKey,
		textsKey("checks", func(t *ralph.Task) *[]string { return &t.Checks }),
		categoryKey,
		flagKey("optional", func(t *ralph.Task) *bool { return &t.Optional }),
		flagKey("human", func(t *ralph.Task) *bool { return &t.Human }),
		proofKey,
	},
	state:  "status",
	strict: true,
	write:  func(t ralph.Task) (any, error) { return t, nil },
}

const ownVersion = 1

func ownItems(r *jsonReader, top *node) *node {
	known := []string{"$schema", "version", "tasks"}
	for i := range top.members {
		m := &top.members[i]
		switch {
		case !slices.Contains(known, m.key):
			r.faultAt(m.start, "unknown key %q%s", m.key, didYouMean(m.key, known))
		case m.key == "version" && m.value.text != fmt.Sprint(ownVersion):
			r.fault(m.value, "this version of ralph reads version %d of the list", ownVersion)
		}
	}
	return listUnder(r, top, "tasks")
}

// listUnder returns the list that an object contains under a key.
func listUnder(r *jsonReader, top *node, name string) *node {
	m := top.get(name)
	switch {
	case top.kind != '{':
		r.fault(top, "expected an object with %[2]q, but the file has %[1]s", top.kindName(), name)
	case m == nil:
		r.fault(top, "the file has no %q", name)
	case m.value.kind != '[':
		r.fault(m.value, "%s must be a list, not %s", name, m.value.kindName())
	default:
		return m.value
	}
	return nil
}

// plainList reads a document that is just a list of tasks.
func plainList(r *jsonReader, top *node) *node {
	if top.kind != '[' {
		r.fault(top, "expected a list of tasks, but the file has %s", top.kindName())
		return nil
	}
	return top
}

// Encode writes tasks in our own format.
func Encode(tasks []ralph.Task) ([]byte, error) {
	document := struct {
		Version int          `json:"version"`
		Tasks   []ralph.Task `json:"tasks"`
	}{ownVersion, append([]ralph.Task{}, tasks...)}
	for i := range document.Tasks {
		document.Tasks[i].Status = cmp.Or(document.Tasks[i].Status, ralph.TaskPending)
	}
	text, err := marshal(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode tasks: %w", err)
	}
	return []byte(text + "\n"), nil
}
