package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// jsonFormat is a task list in JSON. The formats differ in where the tasks are and in the names of
// keys.
type jsonFormat struct {
	label   string
	detect  func(sketch) bool
	items   func(r *jsonReader, top *node) *node // the list of tasks; nil, with a problem, if there is none
	keys    []key                                // of a task, without its state
	state   string                               // the key of the state
	boolean bool                                 // the state is true or false, not a word
	strict  bool                                 // an unknown key is an error
	write   func(ralph.Task) (any, error)        // a new task, ready to be marshaled
}

func (f jsonFormat) name() string { return f.label }

func (f jsonFormat) detects(path string, data []byte) bool {
	s, ok := sketchOf(path, data)
	return ok && f.detect(s)
}

func (f jsonFormat) parse(src source) ([]item, []Problem) {
	r, list := f.open(src)
	if list == nil {
		return nil, r.problems
	}
	all := text.Mapped(list.elements, func(n *node) item { return f.item(r, n) })
	return all, r.problems
}

// open finds the node with the tasks. It returns nil, with a problem, if there is none.
func (f jsonFormat) open(src source) (*jsonReader, *node) {
	r := newJSONReader(src.path, src.list())
	top, err := scanJSON(src.list())
	if err != nil {
		r.faultAt(err.offset, "%s", err.text)
		return r, nil
	}
	return r, f.items(r, top)
}

// item reads one task.
func (f jsonFormat) item(r *jsonReader, n *node) item {
	it := item{Task: ralph.Task{Status: ralph.TaskPending}, line: r.lines.at(n.start)}
	if n.kind != '{' {
		r.fault(n, "a task must be an object, not %s", n.kindName())
		return it
	}
	if id := n.get("id"); id != nil && id.value.kind == '"' {
		r.task = id.value.text
	}
	defer func() { r.task = "" }()
	before, seen := len(r.problems), map[string]bool{}
	for i := range n.members {
		m := &n.members[i]
		known := f.member(r, m, &it.Task)
		if known && seen[m.key] {
			r.faultAt(m.start, "the key %q appears twice", m.key)
		}
		seen[m.key] = true
	}
	switch sound := len(r.problems) == before; { // one problem per task is enough
	case it.ID == "" && sound:
		r.fault(n, "the task has no id")
	case strings.TrimSpace(it.Title) == "" && sound:
		r.fault(n, "task %s has no title", it.ID)
	}
	return it
}

// member reads one key of a task, and reports whether the format uses it.
func (f jsonFormat) member(r *jsonReader, m *member, t *ralph.Task) bool {
	if m.key == f.state {
		t.Status = r.status(m.value, f.boolean)
		return true
	}
	for _, k := range f.keys {
		if k.name == m.key {
			if m.value.kind != 'n' {
				k.read(r, t, m.value)
			}
			return true
		}
	}
	switch {
	case m.key == "passes" || m.key == "status":
		r.faultAt(m.start, "the tasks of this list use %q; remove %q, which contradicts or repeats it", f.state, m.key)
	case f.strict:
		r.faultAt(m.start, "unknown key %q%s", m.key, didYouMean(m.key, f.names()))
	}
	return false
}

func (f jsonFormat) names() []string {
	return append([]string{f.state}, text.Mapped(f.keys, func(k key) string { return k.name })...)
}

// sketch is a first impression of a list, even of a broken one.
type sketch struct {
	path    string
	opening byte            // '{' or '['
	keys    map[string]bool // of the object, or of the list's objects
}

// sketchOf returns false if data is not JSON at all.
func sketchOf(name string, data []byte) (sketch, bool) {
	s := sketch{path: name, keys: map[string]bool{}}
	body := bytes.TrimLeft(bytes.TrimPrefix(data, byteOrderMark), " \t\r\n")
	if len(body) == 0 || body[0] != '{' && body[0] != '[' {
		return s, false
	}
	s.opening = body[0]
	top, err := scanJSON(data)
	if err != nil {
		// Broken JSON: trust a .json name, or a start like that of objects, so that the message is about
		// JSON.
		inner := bytes.TrimLeft(body[1:], " \t\r\n")
		if path.Ext(name) != ".json" && (len(inner) == 0 || inner[0] != '{' && inner[0] != '"') {
			return s, false
		}
		for _, key := range []string{"tasks", "userStories", "passes", "specFilePath", "status", "acceptance_criteria"} {
			s.keys[key] = bytes.Contains(body, []byte(`"`+key+`"`))
		}
		return s, true
	}
	for _, n := range append([]*node{top}, top.elements...) {
		for i := range n.members {
			s.keys[n.members[i].key] = true
		}
	}
	return s, true
}

// jsonReader collects problems while it reads a list.
type jsonReader struct {
	file     string
	lines    lines
	task     string // the current task
	problems []Problem
}

func newJSONReader(file string, data []byte) *jsonReader {
	return &jsonReader{file: file, lines: linesOf(data)}
}

func (r *jsonReader) fault(n *node, format string, args ...any) { r.faultAt(n.start, format, args...) }

func (r *jsonReader) faultAt(offset int, format string, args ...any) {
	r.problems = append(
		r.problems,
		Problem{File: r.file, Line: r.lines.at(offset), Task: r.task, Text: fmt.Sprintf(format, args...)},
	)
}

// status reads a state. null counts as missing.
func (r *jsonReader) status(v *node, boolean bool) ralph.TaskStatus {
	switch {
	case v.kind == 'n':
	case boolean && v.kind == 't':
		return ralph.TaskDone
	case boolean && v.kind != 'f':
		r.fault(v, "passes must be true or false, not %s", v.kindName())
	case boolean:
	case v.kind != '"':
		r.fault(v, "status must be a string, not %s", v.kindName())
	default:
		switch s := ralph.TaskStatus(v.text); s {
		case ralph.TaskPending, ralph.TaskDone, ralph.TaskFailed:
			return s
		}
		r.fault(v, "unknown status %q; choose one of: pending, done, failed", v.text)
	}
	return ralph.TaskPending
}

// key is one field of a task.
type key struct {
	name string
	read func(r *jsonReader, t *ralph.Task, v *node)
}

func textKey(name string, field func(*ralph.Task) *string) key {
	return key{name, func(r *jsonReader, t *ralph.Task, v *node) { *field(t) = r.text(name, v) }}
}

func textsKey(name string, field func(*ralph.Task) *[]string) key {
	return key{name, func(r *jsonReader, t *ralph.Task, v *node) { *field(t) = r.texts(name, v) }}
}

func flagKey(name string, field func(*ralph.Task) *bool) key {
	return key{name, func(r *jsonReader, t *ralph.Task, v *node) {
		if v.kind != 't' && v.kind != 'f' {
			r.fault(v, "%s must be true or false, not %s", name, v.kindName())
		}
		*field(t) = v.kind == 't'
	}}
}

// Fields of every JSON format, under the names that most of them use.
var (
	idKey = key{"id", func(r *jsonReader, t *ralph.Task, v *node) {
		t.ID = r.text("id", v)
		if v.kind == '"' && !validID(t.ID) {
			r.fault(v, "%s", badID(t.ID))
		}
	}}
	titleKey       = textKey("title", func(t *ralph.Task) *string { return &t.Title })
	descriptionKey = textKey("description", func(t *ralph.Task) *string { return &t.Description })
	categoryKey    = textKey("category", func(t *ralph.Task) *string { return &t.Category })
	priorityKey    = key{"priority", func(r *jsonReader, t *ralph.Task, v *node) { t.Priority = r.priority(v) }}
	proofKey       = key{"proof", func(r *jsonReader, t *ralph.Task, v *node) { t.Proof = r.proof(v) }}
)

func (r *jsonReader) text(name string, v *node) string {
	if v.kind != '"' {
		r.fault(v, "%s must be a string, not %s", name, v.kindName())
		return ""
	}
	return v.text
}

func (r *jsonReader) texts(name string, v *node) []string {
	if v.kind != '[' {
		r.fault(v, "%s must be a list of strings, not %s", name, v.kindName())
		return nil
	}
	var all []string
	for _, e := range v.elements {
		if e.kind != '"' {
			r.fault(e, "%s must be a list of strings, but one item is %s", name, e.kindName())
			continue
		}
		all = append(all, e.text)
	}
	return all
}

// proof reads what a task's claim must prove.
func (r *jsonReader) proof(v *node) ralph.ProofRule {
	word := r.text("proof", v)
	if v.kind == '"' && !knownProof(word) {
		r.fault(v, "%s", badProof(word))
	}
	return ralph.ProofRule(word)
}

// priority reads a whole number or a word.
func (r *jsonReader) priority(v *node) *int {
	switch v.kind {
	case '0':
		var number float64
		if err := json.Unmarshal([]byte(v.text), &number); err == nil && number == float64(int32(number)) {
			n := int(number)
			return &n
		}
		r.fault(v, "priority must be a whole number, not %s", v.text)
	case '"':
		if n, ok := priorityOf(v.text); ok {
			return &n
		}
		r.fault(v, "priority must be a number, high, medium or low, not %q", v.text)
	default:
		r.fault(v, "priority must be a number, high, medium or low, not %s", v.kindName())
	}
	return nil
}

// priorityOf converts a word to a number.
func priorityOf(word string) (int, bool) {
	i := slices.Index([]string{"high", "medium", "low"}, strings.ToLower(strings.TrimSpace(word)))
	return i + 1, i >= 0
}
