package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// TaskmasterPath is where Task Master keeps its list.
const TaskmasterPath = ".taskmaster/tasks/tasks.json"

// taskmaster is the list of Task Master: an object with tasks, or with a list of tasks for each tag. A task with
// subtasks is done when they are, so only the subtasks are work; their ids are "7.2" for subtask 2 of task 7.
type taskmaster struct{}

func (taskmaster) name() string { return "taskmaster" }

func (taskmaster) detects(name string, data []byte) bool {
	if path.Clean(name) == TaskmasterPath {
		return true
	}
	top, err := scanJSON(data)
	if err != nil || top.kind != '{' || top.get("userStories") != nil || top.get("version") != nil {
		return false
	}
	if tasks := top.get("tasks"); tasks != nil {
		return slices.ContainsFunc(tasks.value.elements, isTaskmasterTask)
	}
	return slices.ContainsFunc(top.members, func(m member) bool { return m.value.get("tasks") != nil })
}

// isTaskmasterTask reports whether a task has something that no other format with "tasks" has.
func isTaskmasterTask(n *node) bool {
	id := n.get("id")
	return id != nil && id.value.kind == '0' || slices.ContainsFunc(n.members, func(m member) bool {
		return slices.Contains([]string{"dependencies", "details", "testStrategy", "subtasks"}, m.key)
	})
}

// companions implements companion: the current tag is in a file of its own.
func (taskmaster) companions(src source) []string { return []string{tagFile(src.path)} }

func tagFile(list string) string { return path.Join(path.Dir(path.Dir(list)), "state.json") }

func (f taskmaster) parse(src source) ([]item, []Problem) {
	r, list := f.open(src)
	if list == nil {
		return nil, r.problems
	}
	var all []item
	parts := map[string][]string{} // the subtasks of each task that has some
	for _, n := range list.elements {
		whole := f.item(r, n, "")
		subtasks := subtasksOf(n)
		if len(subtasks) == 0 {
			all = append(all, whole)
		}
		for _, sub := range subtasks {
			part := f.item(r, sub, whole.ID)
			part.Description = joinTexts(
				"Part of: "+whole.Title, whole.Description, strings.Join(whole.Acceptance, "\n"), part.Description,
			)
			part.DependsOn = append(slices.Clone(whole.DependsOn), part.DependsOn...)
			part.DependsOn = slices.DeleteFunc(part.DependsOn, func(id string) bool { return id == whole.ID })
			part.Priority = cmp.Or(part.Priority, whole.Priority)
			if whole.Status == ralph.TaskDone {
				part.Status = ralph.TaskDone
			}
			all = append(all, part)
			parts[whole.ID] = append(parts[whole.ID], part.ID)
		}
	}
	for i := range all {
		all[i].DependsOn = expand(all[i].DependsOn, parts)
	}
	return all, r.problems
}

// expand replaces tasks that have subtasks by their subtasks.
func expand(ids []string, parts map[string][]string) []string {
	var all []string
	for _, id := range ids {
		if len(parts[id]) == 0 {
			all = append(all, id)
		}
		all = append(all, parts[id]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// open finds the tasks: those of the current tag, if the list has tags.
func (f taskmaster) open(src source) (*jsonReader, *node) {
	r := newJSONReader(src.path, src.list())
	top, err := scanJSON(src.list())
	if err != nil {
		r.faultAt(err.offset, "%s", err.text)
		return r, nil
	}
	if top.get("tasks") != nil {
		return r, listUnder(r, top, "tasks")
	}
	tag := currentTag(src)
	if m := top.get(tag); m != nil {
		return r, listUnder(r, m.value, "tasks")
	}
	r.fault(top, "the file has no tasks for the tag %q", tag)
	return r, nil
}

// currentTag returns the tag that Task Master works on.
func currentTag(src source) string {
	if top, err := scanJSON(src.files[tagFile(src.path)]); err == nil {
		if m := top.get("currentTag"); m != nil && m.value.kind == '"' {
			return m.value.text
		}
	}
	return "master"
}

func subtasksOf(n *node) []*node {
	if m := n.get("subtasks"); m != nil {
		return m.value.elements
	}
	return nil
}

// item reads a task, or a subtask of the task whole.
func (f taskmaster) item(r *jsonReader, n *node, whole string) item {
	it := item{Task: ralph.Task{Status: ralph.TaskPending}, line: r.lines.at(n.start)}
	if n.kind != '{' {
		r.fault(n, "a task must be an object, not %s", n.kindName())
		return it
	}
	before, seen := len(r.problems), map[string]bool{}
	it.ID = idIn(n, whole)
	r.task = it.ID
	defer func() { r.task = "" }()
	for i := range n.members {
		m := &n.members[i]
		if seen[m.key] {
			r.faultAt(m.start, "the key %q appears twice", m.key)
		}
		seen[m.key] = true
		if m.value.kind != 'n' {
			f.member(r, m, whole, &it.Task)
		}
	}
	switch sound := len(r.problems) == before; {
	case !validID(it.ID) && sound:
		r.fault(n, "the task has no id")
	case strings.TrimSpace(it.Title) == "" && sound:
		r.fault(n, "task %s has no title", it.ID)
	}
	return it
}

// idIn returns the id of a task, "" if it has none.
func idIn(n *node, whole string) string {
	m := n.get("id")
	if m == nil || m.value.kind != '0' && m.value.kind != '"' {
		return ""
	}
	if whole == "" || strings.HasPrefix(m.value.text, whole+".") {
		return m.value.text
	}
	return whole + "." + m.value.text
}

// member reads one key of a task.
func (taskmaster) member(r *jsonReader, m *member, whole string, t *ralph.Task) {
	switch m.key {
	case "title":
		t.Title = r.text("title", m.value)
	case "description":
		t.Description = joinTexts(r.text("description", m.value), t.Description)
	case "details":
		t.Description = joinTexts(t.Description, r.text("details", m.value))
	case "testStrategy", "acceptanceCriteria":
		if criterion := r.text(m.key, m.value); strings.TrimSpace(criterion) != "" {
			t.Acceptance = append(t.Acceptance, criterion)
		}
	case "priority":
		t.Priority = r.priority(m.value)
	case "proof":
		t.Proof = r.proof(m.value)
	case "status":
		t.Status = taskmasterStatus(m.value)
		t.Optional = m.value.text == "deferred"
	case "dependencies":
		for _, e := range m.value.elements {
			id := e.text
			if e.kind == '0' && whole != "" { // a number is another subtask of the same task
				id = whole + "." + id
			}
			t.DependsOn = append(t.DependsOn, id)
		}
	}
}

// taskmasterStatus reads a status. Nothing is left to do for a task that was canceled.
func taskmasterStatus(v *node) ralph.TaskStatus {
	if slices.Contains([]string{"done", "completed", "cancelled"}, v.text) {
		return ralph.TaskDone
	}
	return ralph.TaskPending
}

func joinTexts(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	return strings.Join(texts, "\n\n")
}

// edit sets states. A task with subtasks is done exactly if all of them are, once one of them changes.
func (f taskmaster) edit(src source, states map[string]ralph.TaskStatus) (source, error) {
	r, list := f.open(src)
	if list == nil {
		return source{}, fmt.Errorf("edit list: %s", r.problems[0])
	}
	open, data := maps.Clone(states), src.list()
	var patches []patch
	set := func(n *node, done bool) {
		if done != isDone(n) {
			patches = append(patches, writeStatus(data, n, done))
		}
	}
	for _, n := range list.elements {
		id, all, moved := idIn(n, ""), true, false
		if wanted, named := open[id]; named && len(subtasksOf(n)) == 0 {
			delete(open, id)
			set(n, wanted == ralph.TaskDone)
		}
		want := map[*node]bool{}
		for _, sub := range subtasksOf(n) {
			now := isDone(sub) || isDone(n)
			want[sub] = now
			if wanted, named := open[idIn(sub, id)]; named {
				delete(open, idIn(sub, id))
				want[sub] = wanted == ralph.TaskDone
			}
			all, moved = all && want[sub], moved || want[sub] != now
		}
		if !moved {
			continue
		}
		set(n, all)
		for sub, done := range want {
			set(sub, done)
		}
	}
	if len(open) > 0 {
		return source{}, fmt.Errorf("edit %s: there is no task %s", src.path, slices.Sorted(maps.Keys(open))[0])
	}
	if len(patches) == 0 {
		return source{path: src.path}, nil
	}
	slices.SortFunc(patches, func(a, b patch) int { return cmp.Compare(a.start, b.start) })
	return source{path: src.path, files: map[string][]byte{src.path: splice(data, patches)}}, nil
}

// isDone reports whether a task is done by its own status.
func isDone(n *node) bool {
	m := n.get("status")
	return m != nil && taskmasterStatus(m.value) == ralph.TaskDone
}

func writeStatus(data []byte, n *node, done bool) patch {
	word := `"pending"`
	if done {
		word = `"done"`
	}
	if m := n.get("status"); m != nil {
		return patch{m.value.start, m.value.end, word}
	}
	return jsonFormat{state: "status"}.newState(data, n, word)
}

func (f taskmaster) add(src source, t ralph.Task) (source, error) {
	r, list := f.open(src)
	if list == nil {
		return source{}, fmt.Errorf("add task: %s", r.problems[0])
	}
	highest := 0
	for _, n := range list.elements {
		number, _ := strconv.Atoi(idIn(n, ""))
		highest = max(highest, number)
	}
	id, err := strconv.Atoi(cmp.Or(t.ID, strconv.Itoa(highest+1)))
	if err != nil {
		return source{}, fmt.Errorf("add task: the ids of this list are numbers, not %q", t.ID)
	}
	if err := hasNoPlaceFor(t, "category", "checks", "optional", "human"); err != nil {
		return source{}, fmt.Errorf("add task: %w", err)
	}
	added := struct {
		ID           int              `json:"id"`
		Title        string           `json:"title"`
		Description  string           `json:"description"`
		Details      string           `json:"details"`
		TestStrategy string           `json:"testStrategy"`
		Priority     string           `json:"priority"`
		Dependencies []any            `json:"dependencies"`
		Proof        ralph.ProofRule  `json:"proof,omitempty"`
		Status       ralph.TaskStatus `json:"status"`
		Subtasks     []any            `json:"subtasks"`
	}{
		id, t.Title, t.Description, "", strings.Join(t.Acceptance, "\n"), priorityWord(t.Priority),
		append([]any{}, text.Mapped(t.DependsOn, numberOrText)...), t.Proof, t.Status, []any{},
	}
	p, err := appendValue(src.list(), list, added)
	if err != nil {
		return source{}, fmt.Errorf("add task: %w", err)
	}
	return source{path: src.path, files: map[string][]byte{src.path: splice(src.list(), []patch{p})}}, nil
}

// numberOrText returns an id as Task Master writes it: "7.2" is text, 7 is a number.
func numberOrText(id string) any {
	if n, err := strconv.Atoi(id); err == nil {
		return n
	}
	return id
}

// priorityWord returns the word for a priority: 1 is high.
func priorityWord(priority *int) string {
	switch {
	case priority == nil || *priority == 2:
		return "medium"
	case *priority < 2:
		return "high"
	}
	return "low"
}
