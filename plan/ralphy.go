package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// ralphy is ralphy's list in YAML: tasks with a title each, and completed, description and parallel_group. An id is
// made from the title, as for Markdown, unless the task has one.
type ralphy struct{}

func (ralphy) name() string { return "ralphy" }

var (
	tasksLine = text.LazyRegexp(`(?m)^tasks:[ \t]*(?:#.*|\[.*)?\r?$`)
	yamlTask  = text.LazyRegexp(`(?m)^[ \t]*- +(?:\{ *)?(?:title|id|completed|description|parallel_group):`)
)

func (ralphy) detects(name string, data []byte) bool {
	isYAML := slices.Contains([]string{".yaml", ".yml"}, path.Ext(name))
	return tasksLine().Match(data) && (isYAML || path.Ext(name) != ".md" && yamlTask().Match(data))
}

// yamlEntry is one task of the list with the nodes that say where it is.
type yamlEntry struct {
	item
	fields    []*ast.MappingValueNode
	flow      bool // written as {title: …}
	group     int
	completed ast.Node // nil if the task has no such key
}

func (f ralphy) parse(src source) ([]item, []Problem) {
	entries, _, problems := f.read(src)
	return text.Mapped(entries, func(e yamlEntry) item { return e.item }), problems
}

// read returns the tasks and the sequence that holds them.
func (f ralphy) read(src source) (entries []yamlEntry, list *ast.SequenceNode, problems []Problem) {
	r := &yamlReader{file: src.path}
	list = r.tasks(src.list())
	if list == nil {
		return nil, nil, r.problems
	}
	for _, n := range list.Values {
		entries = append(entries, r.entry(n))
	}
	nameByTitle(entries)
	// ralphy works on its groups in order; a task without one is in group 0.
	if slices.ContainsFunc(entries, func(e yamlEntry) bool { return e.group != 0 }) {
		for i := range entries {
			entries[i].Priority = &entries[i].group
		}
	}
	return entries, list, r.problems
}

// nameByTitle gives tasks ids that do not depend on their position.
func nameByTitle(entries []yamlEntry) {
	taken, next := map[string]int{}, map[string]int{}
	for _, e := range entries {
		taken[e.ID] = e.line
	}
	for i := range entries {
		e := &entries[i]
		if e.ID != "" || e.Title == "" {
			continue
		}
		e.ID = slug(e.Title)
		if _, used := taken[e.ID]; used {
			e.ID = freeSlug(e.ID, taken, next)
		}
		taken[e.ID] = e.line
	}
}

// yamlReader collects problems while it reads a list.
type yamlReader struct {
	file     string
	problems []Problem
}

func (r *yamlReader) fault(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// tasks returns the sequence of tasks. It returns nil, with a problem, if there is none.
func (r *yamlReader) tasks(data []byte) *ast.SequenceNode {
	root, problem := parseYAML(data)
	if problem != nil {
		r.fault(problem.line, "not valid YAML: %s", problem.text)
		return nil
	}
	for _, m := range fieldsOf(root) {
		list, ok := m.Value.(*ast.SequenceNode)
		switch {
		case m.Key.GetToken().Value != "tasks":
		case !ok:
			r.fault(lineOf(m.Value), "tasks must be a list")
			return nil
		default:
			return list
		}
	}
	r.fault(0, `the file has no "tasks"`)
	return nil
}

func (r *yamlReader) entry(n ast.Node) yamlEntry {
	e := yamlEntry{fields: fieldsOf(n), item: item{Task: ralph.Task{Status: ralph.TaskPending}, line: lineOf(n)}}
	if m, ok := n.(*ast.MappingNode); ok {
		e.flow = m.IsFlowStyle
	}
	if len(e.fields) == 0 {
		r.fault(e.line, "a task must have a title")
		return e
	}
	e.line = e.fields[0].Key.GetToken().Position.Line
	before, seen := len(r.problems), map[string]bool{}
	for _, m := range e.fields {
		name := m.Key.GetToken().Value
		if seen[name] {
			r.fault(lineOf(m.Value), "the key %q appears twice", name)
		}
		seen[name] = true
		r.field(&e, name, m.Value)
	}
	if strings.TrimSpace(e.Title) == "" && len(r.problems) == before {
		r.fault(e.line, "the task has no title")
	}
	return e
}

// field reads one key of a task. Keys that are not ours are ignored.
func (r *yamlReader) field(e *yamlEntry, name string, v ast.Node) {
	if name == "acceptance" {
		e.Acceptance = r.texts(name, v)
		return
	}
	if !slices.Contains([]string{"id", "title", "description", "completed", "parallel_group", "proof"}, name) {
		return
	}
	words, ok := scalar(v)
	if !ok {
		r.fault(lineOf(v), "%s must be plain text, without anchors and tags", name)
		return
	}
	switch name {
	case "id":
		if e.ID = words; !validID(words) {
			r.fault(lineOf(v), "%s", badID(words))
		}
	case "title":
		e.Title = strings.TrimSpace(words)
	case "description":
		e.Description = strings.TrimSpace(words)
	case "completed":
		e.completed = v
		b, isBool := v.(*ast.BoolNode)
		if !isBool && words != "" {
			r.fault(lineOf(v), "completed must be true or false, not %q", shorten(words))
		}
		if isBool && b.Value {
			e.Status = ralph.TaskDone
		}
	case "parallel_group":
		if _, err := fmt.Sscan(words, &e.group); err != nil {
			r.fault(lineOf(v), "parallel_group must be a whole number, not %q", shorten(words))
		}
	case "proof":
		if e.Proof = ralph.ProofRule(words); !knownProof(words) {
			r.fault(lineOf(v), "%s", badProof(words))
		}
	}
}

// texts reads a list of texts.
func (r *yamlReader) texts(name string, v ast.Node) []string {
	list, ok := v.(*ast.SequenceNode)
	if !ok {
		r.fault(lineOf(v), "%s must be a list of texts", name)
		return nil
	}
	var all []string
	for _, e := range list.Values {
		words, ok := scalar(e)
		if !ok {
			r.fault(lineOf(e), "%s must be a list of texts, without anchors and tags", name)
		}
		all = append(all, words)
	}
	return all
}

// edit sets completed, and reads the result again: a layout that it does not understand is an error, not damage.
func (f ralphy) edit(src source, states map[string]ralph.TaskStatus) (source, error) {
	entries, _, problems := f.read(src)
	if bad := Errors(problems); len(bad) > 0 {
		return source{}, fmt.Errorf("edit list: %s", bad[0])
	}
	open, data := maps.Clone(states), src.list()
	var patches []patch
	want := map[string]ralph.TaskStatus{}
	for _, e := range entries {
		want[e.ID] = e.Status
		wanted, named := open[e.ID]
		delete(open, e.ID)
		if wanted = onlyDone(wanted); !named || wanted == e.Status {
			continue
		}
		want[e.ID] = wanted
		p, ok := e.setCompleted(data, fmt.Sprint(wanted == ralph.TaskDone))
		if !ok {
			return source{}, fmt.Errorf("edit %s:%d: cannot set completed of task %s", src.path, e.line, e.ID)
		}
		patches = append(patches, p)
	}
	switch {
	case len(open) > 0:
		return source{}, fmt.Errorf("edit %s: there is no task %s", src.path, slices.Sorted(maps.Keys(open))[0])
	case len(patches) == 0:
		return source{path: src.path}, nil
	}
	changed := source{path: src.path, files: map[string][]byte{src.path: splice(data, patches)}}
	return changed, f.confirm(changed, want)
}

// confirm reports whether a source has the wanted states.
func (f ralphy) confirm(src source, want map[string]ralph.TaskStatus) error {
	entries, _, _ := f.read(src)
	now := map[string]ralph.TaskStatus{}
	for _, e := range entries {
		now[e.ID] = e.Status
	}
	if !maps.Equal(now, want) {
		return fmt.Errorf("edit %s: the layout of the file is not understood", src.path)
	}
	return nil
}

// setCompleted returns the patch that sets completed. A task without that key gets it as its first one.
func (e yamlEntry) setCompleted(data []byte, value string) (patch, bool) {
	if e.completed != nil {
		t := e.completed.GetToken()
		at, ok := offsetOf(data, t)
		return patch{at, at + len(t.Value), value}, ok
	}
	t := e.fields[0].Key.GetToken()
	at, ok := offsetOf(data, t)
	after := lineBreak(data) + strings.Repeat(" ", t.Position.Column-1)
	if e.flow {
		after = ", "
	}
	return patch{at, at, "completed: " + value + after}, ok
}

// offsetOf returns where a token is, and whether it is there.
func offsetOf(data []byte, t *token.Token) (int, bool) {
	at := 0
	for range t.Position.Line - 1 {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	line, _, _ := strings.Cut(string(data[at:]), "\n")
	runes := []rune(line)
	if t.Position.Column < 1 || t.Position.Column > len(runes) {
		return 0, false
	}
	at += len(string(runes[:t.Position.Column-1]))
	return at, t.Value != "" && bytes.HasPrefix(data[at:], []byte(t.Value))
}

// add appends a task in the layout of the last one.
func (f ralphy) add(src source, t ralph.Task) (source, error) {
	entries, list, problems := f.read(src)
	if bad := Errors(problems); len(bad) > 0 {
		return source{}, fmt.Errorf("add task: %s", bad[0])
	}
	if err := hasNoPlaceFor(t, "depends_on", "category", "checks", "optional", "human"); err != nil {
		return source{}, fmt.Errorf("add task: %w", err)
	}
	if list.IsFlowStyle || len(entries) == 0 {
		return source{}, fmt.Errorf("add task: write the first task into %s yourself, on lines of its own", src.path)
	}
	data, breaks := src.list(), lineBreak(src.list())
	end, lead := endOfTasks(data, entries[len(entries)-1].line), ""
	if end > 0 && data[end-1] != '\n' {
		lead = breaks
	}
	indent := strings.Repeat(" ", list.Start.Position.Column-1)
	added := lead + indent + "- " + strings.Join(yamlLines(t), breaks+indent+"  ") + breaks
	changed := source{path: src.path, files: map[string][]byte{src.path: splice(data, []patch{{end, end, added}})}}
	if now, _, _ := f.read(changed); len(now) != len(entries)+1 {
		return source{}, fmt.Errorf("add task: the layout of %s is not understood; write it yourself", src.path)
	}
	return changed, nil
}

// endOfTasks returns where the tasks end: before the key after them, or at the end of the file.
func endOfTasks(data []byte, lastTask int) int {
	root, _ := parseYAML(data)
	for _, m := range fieldsOf(root) {
		if key := m.Key.GetToken(); key.Position.Line > lastTask {
			if at, ok := offsetOf(data, key); ok {
				return at
			}
		}
	}
	return len(data)
}

// yamlLines returns the lines of a new task. JSON strings are YAML, too.
func yamlLines(t ralph.Task) []string {
	lines := []string{"title: " + quoted(t.Title), "completed: " + fmt.Sprint(t.Status == ralph.TaskDone)}
	for _, f := range []struct{ name, value string }{
		{"id", t.ID}, {"description", t.Description}, {"proof", string(t.Proof)},
	} {
		if f.value != "" {
			lines = append(lines, f.name+": "+quoted(f.value))
		}
	}
	if len(t.Acceptance) > 0 {
		lines = append(lines, "acceptance: ["+strings.Join(text.Mapped(t.Acceptance, quoted), ", ")+"]")
	}
	if t.Priority != nil {
		lines = append(lines, fmt.Sprintf("parallel_group: %d", *t.Priority))
	}
	return lines
}

func quoted(s string) string {
	encoded, _ := json.Marshal(s) // a text always has a form
	return string(encoded)
}
