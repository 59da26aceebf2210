package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

func (f jsonFormat) edit(src source, states map[string]ralph.TaskStatus) (source, error) {
	list, err := f.listOf(src)
	if err != nil {
		return source{}, err
	}
	open := maps.Clone(states)
	var patches []patch
	for _, n := range list.elements {
		id := n.get("id")
		if id == nil {
			continue
		}
		wanted, named := open[id.value.text]
		if !named {
			continue
		}
		delete(open, id.value.text)
		if p, changes := f.setState(src.list(), n, wanted); changes {
			patches = append(patches, p)
		}
	}
	if len(open) > 0 {
		return source{}, fmt.Errorf("edit %s: there is no task %s", src.path, slices.Sorted(maps.Keys(open))[0])
	}
	if len(patches) == 0 {
		return source{path: src.path}, nil
	}
	return source{path: src.path, files: map[string][]byte{src.path: splice(src.list(), patches)}}, nil
}

// listOf returns the node with the tasks of a list that was valid before.
func (f jsonFormat) listOf(src source) (*node, error) {
	r, list := f.open(src)
	if list == nil {
		return nil, fmt.Errorf("edit list: %s", r.problems[0])
	}
	return list, nil
}

// setState returns the patch that sets a task's state; false if nothing changes.
func (f jsonFormat) setState(data []byte, n *node, wanted ralph.TaskStatus) (patch, bool) {
	now := ralph.TaskPending
	m := n.get(f.state)
	if m != nil {
		now = (&jsonReader{}).status(m.value, f.boolean)
	}
	text := `"` + string(wanted) + `"`
	if f.boolean {
		text = fmt.Sprint(wanted == ralph.TaskDone)
		wanted, now = onlyDone(wanted), onlyDone(now)
	}
	switch {
	case wanted == now:
		return patch{}, false
	case m != nil:
		return patch{m.value.start, m.value.end, text}, true
	}
	return f.newState(data, n, text), true
}

// onlyDone reduces a state to what a format with only true and false can express.
func onlyDone(s ralph.TaskStatus) ralph.TaskStatus {
	if s == ralph.TaskDone {
		return s
	}
	return ralph.TaskPending
}

// newState adds the state's key after the task's last key, formatted like its neighbors.
func (f jsonFormat) newState(data []byte, n *node, text string) patch {
	last := n.members[len(n.members)-1]
	before := n.start + 1
	if len(n.members) > 1 {
		end := n.members[len(n.members)-2].value.end
		before = end + bytes.IndexByte(data[end:], ',') + 1
	}
	blanks, colon := string(data[before:last.start]), string(data[last.end:last.value.start])
	return patch{last.value.end, last.value.end, "," + blanks + `"` + f.state + `"` + colon + text}
}

func (f jsonFormat) add(src source, t ralph.Task) (source, error) {
	list, err := f.listOf(src)
	if err != nil {
		return source{}, err
	}
	t.ID = cmp.Or(t.ID, freeID(list))
	value, err := f.write(t)
	if err != nil {
		return source{}, fmt.Errorf("add task: %w", err)
	}
	p, err := appendValue(src.list(), list, value)
	if err != nil {
		return source{}, fmt.Errorf("add task: %w", err)
	}
	return source{path: src.path, files: map[string][]byte{src.path: splice(src.list(), []patch{p})}}, nil
}

// freeID returns an unused id, for lists whose ids follow no style.
func freeID(list *node) string {
	taken := map[string]bool{}
	for _, n := range list.elements {
		if m := n.get("id"); m != nil {
			taken[m.value.text] = true
		}
	}
	n := 1
	for taken[fmt.Sprintf("TASK-%d", n)] {
		n++
	}
	return fmt.Sprintf("TASK-%d", n)
}

// appendValue appends an element to a list, formatted like the last one.
func appendValue(data []byte, list *node, value any) (patch, error) {
	if len(list.elements) == 0 {
		outer := indentAt(data, list.start)
		text, err := marshal(value, outer+"  ", "  ")
		breaks := lineBreak(data)
		return patch{list.start, list.end, "[" + breaks + outer + "  " + asIn(data, text) + breaks + outer + "]"}, err
	}
	last := list.elements[len(list.elements)-1]
	before := list.start + 1
	if n := len(list.elements); n > 1 {
		previous := list.elements[n-2].end
		before = bytes.IndexByte(data[previous:], ',') + previous + 1
	}
	outer, unit := indentAt(data, last.start), ""
	if len(last.members) > 0 && bytes.IndexByte(data[last.start:last.members[0].start], '\n') >= 0 {
		unit = strings.TrimPrefix(indentAt(data, last.members[0].start), outer)
	}
	text, err := marshal(value, outer, unit)
	return patch{last.end, last.end, "," + string(data[before:last.start]) + asIn(data, text)}, err
}

// marshal writes a value as readable JSON: on one line if unit is "", otherwise indented.
func marshal(value any, prefix, unit string) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // a criterion with < in it stays readable
	if unit != "" {
		encoder.SetIndent(prefix, unit)
	}
	err := encoder.Encode(value)
	return strings.TrimRight(text.String(), "\n"), err
}

// indentAt returns the indentation of the line that contains an offset.
func indentAt(data []byte, offset int) string {
	start := bytes.LastIndexByte(data[:offset], '\n') + 1
	end := start
	for end < offset && (data[end] == ' ' || data[end] == '\t') {
		end++
	}
	return string(data[start:end])
}

func lineBreak(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// asIn converts text to the line breaks of a file.
func asIn(data []byte, text string) string { return strings.ReplaceAll(text, "\n", lineBreak(data)) }
