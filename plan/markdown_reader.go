package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/ralphloop/ralph"
)

// checklistReader finds the tasks of a document.
type checklistReader struct {
	checklist
	passedOver int // line of the first box that is not a task because of its heading
}

func (r *checklistReader) problem(p Problem) { r.problems = append(r.problems, p) }

// place is the position of a task, used to add another one after it.
type place struct {
	block ast.Node // its list item, or the heading of its section
	end   ast.Node // the block that follows the section, nil at the end of the file or for a list item
	apart bool     // optional or for a person
}

// governed is what headings and labels say about the items under them.
type governed struct {
	optional bool
	human    bool
	apart    bool // criteria or notes: not tasks
	priority *int
}

func (g governed) under(r role) governed {
	g.optional = g.optional || r.kind == optionalRole
	g.human = g.human || r.kind == humanRole
	g.apart = g.apart || r.kind == criteriaRole || r.kind == proseRole
	if r.kind == priorityRole {
		g.priority = &r.priority
	}
	return g
}

// outline tracks the open headings of the document from top to bottom.
type outline struct{ open []openSection }

type openSection struct {
	level    int
	governed governed
	task     *taskSection // the task section that this is, or is part of
}

func (o *outline) top() openSection {
	if len(o.open) == 0 {
		return openSection{}
	}
	return o.open[len(o.open)-1]
}

func (o *outline) closeFor(h *ast.Heading) {
	for len(o.open) > 0 && o.top().level >= h.Level {
		o.open = o.open[:len(o.open)-1]
	}
}

// roleOfHeading ignores the document's title: a file called "Backlog" or "Notes" whose items were
// all optional would be done before it began.
func (r *checklistReader) roleOfHeading(h *ast.Heading) role {
	if h.Level == 1 && r.isTitle(h) {
		return role{}
	}
	return roleNamed(plainText(r.doc, r.doc.rows(h)))
}

func (r *checklistReader) isTitle(h *ast.Heading) bool {
	for before := h.PreviousSibling(); before != nil; before = before.PreviousSibling() {
		if before.Kind() != ast.KindHTMLBlock {
			return false
		}
	}
	for after := h.NextSibling(); after != nil; after = after.NextSibling() {
		if other, ok := after.(*ast.Heading); ok && other.Level == 1 {
			return false
		}
	}
	return true
}

func (r *checklistReader) readItems() {
	var headings outline
	var label role
	for n := r.doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			headings.closeFor(n)
			headings.open = append(
				headings.open,
				openSection{level: n.Level, governed: headings.top().governed.under(r.roleOfHeading(n))},
			)
			label = role{}
		case *ast.List:
			r.readList(n, headings.top().governed.under(label))
		default:
			label = r.labelOf(n)
		}
	}
}

// labelOf returns the role of a paragraph that serves as a heading: "**Optional**" or "Success
// criteria:".
func (r *checklistReader) labelOf(n ast.Node) role {
	if n.Kind() == ast.KindHeading || !holdsText(n) {
		return role{}
	}
	rows := r.doc.rows(n)
	if len(rows) != 1 {
		return role{}
	}
	if name, ok := labelIn(rows[0]); ok {
		return roleNamed(name)
	}
	return role{}
}

func (r *checklistReader) readList(list *ast.List, g governed) {
	for li := list.FirstChild(); li != nil; li = li.NextSibling() {
		first := li.FirstChild()
		if first == nil {
			continue
		}
		if box, ok := r.doc.boxed(first); ok {
			if g.apart {
				r.passedOver = cmp.Or(r.passedOver, r.doc.line(box.mark))
			} else {
				r.itemTask(li, box, g)
			}
			continue
		}
		label := r.labelOf(first)
		for n := first; n != nil; n = n.NextSibling() {
			if nested, ok := n.(*ast.List); ok {
				r.readList(nested, g.under(label))
			} else if n != first {
				label = r.labelOf(n)
			}
		}
	}
}

func (r *checklistReader) itemTask(li ast.Node, box checkbox, g governed) {
	first := li.FirstChild()
	heading, rest := splitTitle(afterBox(r.doc.rows(first), box))
	title := readTitle(r.doc, heading)
	t := checklistTask{boxes: []checkbox{box}, place: place{block: li}}
	t.line = r.doc.line(box.mark)
	t.Task = ralph.Task{
		Title:    title.text,
		Optional: g.optional || title.optional || box.optional,
		Human:    g.human || title.human,
		Proof:    title.proof(),
	}
	t.ID, t.Title = leadingID(heading, title.text)
	t.givenID = t.ID != ""
	d := taskDetails{doc: r.doc, task: &t.Task, line: t.line}
	if overflows(heading) {
		rest = slices.Concat(heading, rest)
	}
	d.paragraph(rest)
	d.blocks(first.NextSibling())
	r.finish(t, d, g)
}

// finish sets a task's state and adds it to the list.
func (r *checklistReader) finish(t checklistTask, d taskDetails, g governed) {
	t.Description = strings.Join(d.description, "\n\n")
	t.Priority = cmp.Or(t.Priority, g.priority)
	t.place.apart = g.optional || g.human
	t.Status = ralph.TaskPending
	if len(t.boxes) > 0 && !slices.ContainsFunc(t.boxes, func(b checkbox) bool { return !b.ticked }) {
		t.Status = ralph.TaskDone
	}
	r.problems = append(r.problems, d.problems...)
	r.tasks = append(r.tasks, t)
}

// taskSection is a "### Task N: title" heading and its content.
type taskSection struct {
	heading  *ast.Heading
	governed governed
	content  []ast.Node
	parts    int // Task sections within it
	end      ast.Node
}

// findSections returns the task sections, in the order of the file.
func (r *checklistReader) findSections() []*taskSection {
	var headings outline
	var all []*taskSection
	for n := r.doc.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			if s := headings.top().task; s != nil {
				s.content = append(s.content, n)
			}
			continue
		}
		for _, o := range headings.open {
			if o.level >= h.Level && o.task != nil && o.task.end == nil {
				o.task.end = h
			}
		}
		headings.closeFor(h)
		outer := headings.top()
		next := openSection{level: h.Level, governed: outer.governed, task: outer.task}
		id, _ := sectionNamed(r.doc, h)
		switch {
		case id != "": // also below "Overview" or "Validation": plans have their sections there, a level deeper
			next.task = &taskSection{heading: h, governed: outer.governed}
			all = append(all, next.task)
			if outer.task != nil {
				outer.task.parts++
			}
		case outer.task != nil:
			outer.task.content = append(outer.task.content, h)
		default:
			next.governed = outer.governed.under(r.roleOfHeading(h))
		}
		headings.open = append(headings.open, next)
	}
	return all
}

func (r *checklistReader) sectionTask(s *taskSection) {
	id, title := sectionNamed(r.doc, s.heading)
	t := checklistTask{givenID: true, place: place{block: s.heading, end: s.end}}
	t.line = r.doc.line(r.doc.start(s.heading))
	t.Task = ralph.Task{ID: id, Title: title.text, Proof: title.proof()}
	d := taskDetails{doc: r.doc, task: &t.Task, line: t.line}
	for _, n := range s.content {
		d.block(n)
	}
	t.boxes = d.required()
	if box, ok := r.doc.boxed(s.heading); ok {
		t.boxes = append(t.boxes, box)
	}
	if len(t.boxes) == 0 && s.parts > 0 {
		return // only a heading above other task sections
	}
	t.Optional = s.governed.optional || title.optional || d.only(func(s step) bool { return s.optional })
	t.Human = s.governed.human || title.human || d.only(func(s step) bool { return s.human })
	if len(t.boxes) == 0 {
		r.problem(Problem{Line: t.line, Task: t.ID, Warning: true,
			Text: fmt.Sprintf("section %s has no box, so its state cannot be saved; add `- [ ] step`", t.ID)})
	}
	r.finish(t, d, s.governed)
}
