package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/ralphloop/ralph"
)

// add writes the new task after the last list with open tasks, or as a section in a file of
// sections. A text may turn out to mean something else at its position. So the result is read back:
// it must be the old list plus the new task, or the next candidate is tried.
func (markdown) add(src source, t ralph.Task) (source, error) {
	t.Title = oneLine(t.Title)
	if t.Title == "" {
		return source{}, fmt.Errorf("add task to %s: it has no title", src.path)
	}
	list := readChecklist(src)
	if list.doc.root == nil {
		return source{}, fmt.Errorf("add task to %s: %s", src.path, list.problems[0].Text)
	}
	a := addition{list: list, task: t, data: src.list()}
	for _, escaped := range []string{t.Title, escapeMarkdown(t.Title)} {
		for _, candidate := range a.candidates(escaped) {
			out := source{path: src.path, files: map[string][]byte{src.path: candidate}}
			if a.arrived(readChecklist(out)) {
				return out, nil
			}
		}
	}
	return source{}, fmt.Errorf("add task to %s: %w", src.path, errNoPlace)
}

var errNoPlace = errors.New("it would not be read back unchanged; use an id such as T-7 or none, and plain text")

// addition is one task to be added to a list.
type addition struct {
	list checklist
	task ralph.Task
	data []byte
}

func (a addition) candidates(title string) [][]byte {
	var out [][]byte
	last := a.neighbor()
	switch {
	case last != nil && a.list.sections:
		level := last.place.block.(*ast.Heading).Level
		out = append(out, a.insert(a.endOf(last.place.end), "", append([]string{""}, a.section(title, level)...)))
	case last != nil:
		out = append(out, a.after(last, title))
	}
	end := a.endOf(nil)
	var gap []string
	if end > 0 {
		gap = []string{""}
	}
	if a.list.sections {
		return append(out, a.insert(end, "", append(gap, a.section(title, 3)...)))
	}
	entry := a.entry("- ", title)
	return append(
		out,
		a.insert(end, "", append(gap, entry...)),
		a.insert(end, "", append(append(gap, "## Tasks", ""), entry...)),
	)
}

// neighbor returns the task to follow: the last one that is not under a heading such as Optional,
// preferably in a list with open tasks.
func (a addition) neighbor() *checklistTask {
	open := map[ast.Node]bool{}
	for _, t := range a.list.tasks {
		open[t.place.block.Parent()] = open[t.place.block.Parent()] || t.Status != ralph.TaskDone
	}
	var last, lastOpen *checklistTask
	for i := range a.list.tasks {
		t := &a.list.tasks[i]
		if t.place.apart {
			continue
		}
		last = t
		if open[t.place.block.Parent()] {
			lastOpen = t
		}
	}
	return cmp.Or(lastOpen, last)
}

// after puts the task at the end of its neighbor's list, in the style of that list.
func (a addition) after(neighbour *checklistTask, title string) []byte {
	doc := a.list.doc
	list := neighbour.place.block.Parent().(*ast.List)
	begin := doc.start(neighbour.place.block)
	line := doc.lines[doc.line(begin)-1]
	indent := string(doc.text[line:begin])
	if strings.TrimSpace(indent) != "" {
		indent = strings.Repeat(" ", len(indent)) // "- - [ ] nested on one line"
	}
	rows := a.entry(bullet(list, list.Start+list.ChildCount()), title)
	if !list.IsTight {
		rows = append([]string{""}, rows...)
	}
	return a.insert(a.endOf(following(list)), indent, rows)
}

// following returns the block after n in the file.
func following(n ast.Node) ast.Node {
	for ; n != nil; n = n.Parent() {
		if next := n.NextSibling(); next != nil {
			return next
		}
	}
	return nil
}

// endOf returns where the text before next ends, without blank lines. For nil it is the end of the
// file.
func (a addition) endOf(next ast.Node) int {
	doc := a.list.doc
	end := len(doc.text)
	if next != nil {
		end = doc.lines[doc.line(doc.start(next))-1]
	}
	at := len(bytes.TrimRight(doc.text[:end], " \t\r\n"))
	for at < end && (doc.text[at] == ' ' || doc.text[at] == '\t') {
		at++ // keep trailing spaces on their line
	}
	return at
}

// insert puts rows on separate lines after an offset.
func (a addition) insert(at int, indent string, rows []string) []byte {
	at += a.list.doc.bom
	end := a.lineEnd()
	var b bytes.Buffer
	b.Write(a.data[:at])
	for i, row := range rows {
		if i > 0 || at > a.list.doc.bom {
			b.WriteString(end)
		}
		if row != "" {
			b.WriteString(indent + row)
		}
	}
	rest := a.data[at:]
	if len(a.data) == a.list.doc.bom {
		rest = []byte(end)
	}
	b.Write(rest)
	return b.Bytes()
}

// lineEnd returns the line ending of the file's first line.
func (a addition) lineEnd() string {
	i := bytes.IndexAny(a.data, "\r\n")
	switch {
	case i < 0 || a.data[i] == '\n':
		return "\n"
	case bytes.HasPrefix(a.data[i:], []byte("\r\n")):
		return "\r\n"
	}
	return "\r"
}

func (a addition) box() string {
	if a.task.Status == ralph.TaskDone {
		return "[x] "
	}
	return "[ ] "
}

func (a addition) marks() string {
	marks := ""
	if a.task.Optional {
		marks += " (optional)"
	}
	if a.task.Human {
		marks += " (human)"
	}
	return marks
}

// entry returns the task as a list item.
func (a addition) entry(mark, title string) []string {
	head := title
	if a.task.ID != "" && a.task.ID != slug(a.task.Title) {
		head = a.task.ID + ": " + title
	}
	out := []string{mark + a.box() + head + a.marks()}
	inner := strings.Repeat(" ", len(mark))
	nested := a.fields()
	for _, criterion := range a.task.Acceptance {
		nested = append(nested, "- [ ] "+oneLine(criterion))
	}
	out = append(out, indented(nested, inner)...)
	if a.task.Description != "" {
		out = append(out, "")
		out = append(out, indented(strings.Split(a.task.Description, "\n"), inner)...)
	}
	return out
}

// section returns the task as a section with boxes.
func (a addition) section(title string, level int) []string {
	head := "Task " + strconv.Itoa(a.nextNumber())
	if id := a.task.ID; id != "" {
		number, isNumber := strings.CutPrefix(id, "Task-")
		switch {
		case isNumber:
			head = "Task " + number
		case loudID().MatchString(id):
			head = id
		default:
			head = "Task " + id
		}
	}
	out := []string{strings.Repeat("#", level) + " " + head + ": " + title + a.marks(), ""}
	if a.task.Description != "" {
		out = append(append(out, strings.Split(a.task.Description, "\n")...), "")
	}
	out = append(out, a.fields()...)
	for _, step := range a.steps() {
		out = append(out, "- "+a.box()+oneLine(step))
	}
	return out
}

// steps returns the steps of a section, which needs at least one box.
func (a addition) steps() []string {
	if len(a.task.Acceptance) > 0 {
		return a.task.Acceptance
	}
	return []string{a.task.Title}
}

func (a addition) nextNumber() int {
	highest := 0
	for _, t := range a.list.tasks {
		major, _, _ := strings.Cut(strings.TrimPrefix(t.ID, "Task-"), ".")
		if n, err := strconv.Atoi(major); err == nil {
			highest = max(highest, n)
		}
	}
	return highest + 1
}

func (a addition) fields() []string {
	var out []string
	if len(a.task.DependsOn) > 0 {
		out = append(out, "- Depends on: "+strings.Join(a.task.DependsOn, ", "))
	}
	if a.task.Priority != nil {
		out = append(out, "- Priority: "+strconv.Itoa(*a.task.Priority))
	}
	if a.task.Category != "" {
		out = append(out, "- Category: "+a.task.Category)
	}
	if a.task.Proof != "" {
		out = append(out, "- Proof: "+string(a.task.Proof))
	}
	if a.task.SpecFile != "" {
		out = append(out, "- Spec: `"+a.task.SpecFile+"`")
	}
	for _, c := range a.task.Checks {
		out = append(out, "- Check: "+codeSpan(c))
	}
	return out
}

func codeSpan(s string) string {
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	fence := fenceAround([]byte(s))
	return fence + " " + s + " " + fence
}

func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune("\\`*_[]<>&~#!(@)", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// arrived reports whether a list is the old one plus the new task.
func (a addition) arrived(now checklist) bool {
	before := a.list.tasks
	if len(now.tasks) != len(before)+1 || now.sections != a.list.sections {
		return false
	}
	at := 0
	for at < len(before) && reflect.DeepEqual(before[at].Task, now.tasks[at].Task) {
		at++
	}
	for i := at; i < len(before); i++ {
		if !reflect.DeepEqual(before[i].Task, now.tasks[i+1].Task) {
			return false
		}
	}
	got, want := now.tasks[at].Task, a.task
	want.ID = cmp.Or(want.ID, got.ID)
	if want.Status != ralph.TaskDone {
		want.Status = ralph.TaskPending
	}
	want.Priority = cmp.Or(want.Priority, got.Priority) // the priority of the heading above it
	want.Acceptance = nil
	for _, criterion := range a.task.Acceptance {
		want.Acceptance = append(want.Acceptance, trimDone(oneLine(criterion)))
	}
	if a.list.sections && want.Acceptance == nil {
		want.Acceptance = a.steps()
	}
	if want.Description != "" {
		want.Description = got.Description // formatted by the list
	}
	if len(want.DependsOn) == 0 {
		want.DependsOn = nil
	}
	if len(want.Checks) == 0 {
		want.Checks = nil
	}
	return reflect.DeepEqual(got, want)
}
