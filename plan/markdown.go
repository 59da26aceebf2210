package plan

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// markdown reads checklists: IMPLEMENTATION_PLAN.md, fix_plan.md, plans with "### Task N" sections.
//
// In a plain checklist every list item with a box is a task, and boxes nested in it are its
// criteria:
//
//	## High priority
//	- [ ] T-3: Store sessions (optional)
//	  - Depends on: T-1, T-2
//	  - Check: `go test ./store`
//	  - [ ] survives a kill
//
// Other fields are Priority, Spec, Category, Proof and Acceptance; everything else is the
// description. A task without an id gets one made from its title. Headings such as Optional, Manual testing or
// High priority apply to all items under them, and boxes under Success criteria or Notes are not
// tasks.
//
// In a file with Task sections each section is one task, done when every box in it is ticked, and
// boxes elsewhere are ignored.
//
// A Markdown parser finds the structure, so boxes in code, comments and quotations do not count.
// Only the bytes between the brackets of boxes are ever edited.
type markdown struct{}

func (markdown) name() string { return "markdown" }

func (markdown) detects(name string, data []byte) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return true
	}
	list := readChecklist(source{path: name, files: map[string][]byte{name: data}})
	return len(list.tasks) > 0
}

func (markdown) parse(src source) ([]item, []Problem) {
	list := readChecklist(src)
	return text.Mapped(list.tasks, func(t checklistTask) item { return t.item }), list.problems
}

func (markdown) edit(src source, states map[string]ralph.TaskStatus) (source, error) {
	list := readChecklist(src)
	known := map[string]bool{}
	var flips []checkbox
	for _, t := range list.tasks {
		known[t.ID] = true
		status, asked := states[t.ID]
		if !asked || (status == ralph.TaskDone) == (t.Status == ralph.TaskDone) {
			continue // keep steps that an agent ticked
		}
		for _, b := range t.boxes {
			if b.ticked != (status == ralph.TaskDone) {
				flips = append(flips, b)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(states)) {
		if !known[id] {
			return source{}, fmt.Errorf("edit %s: no task %q", src.path, id)
		}
	}
	out := source{path: src.path, files: map[string][]byte{}}
	if len(flips) == 0 {
		return out, nil
	}
	data := bytes.Clone(src.list())
	for _, b := range flips {
		mark := byte('x')
		if b.ticked {
			mark = ' '
		}
		data[list.doc.bom+b.mark] = mark
	}
	out.files[src.path] = data
	return out, nil
}

// checklist is a Markdown file read as a task list.
type checklist struct {
	doc      *markdownDoc
	tasks    []checklistTask
	sections bool // its tasks are Task sections
	problems []Problem
}

// checklistTask is a task with the boxes that contain its state: its own box, or those of its
// section. Without a box it cannot be marked.
type checklistTask struct {
	item
	givenID bool // from the file, not made from the title
	boxes   []checkbox
	place   place
}

func readChecklist(src source) checklist {
	doc, unread := openMarkdown(src.list())
	if unread != nil {
		unread.File = src.path
		return checklist{doc: doc, problems: []Problem{*unread}}
	}
	r := &checklistReader{checklist: checklist{doc: doc}}
	sections := r.findSections()
	r.sections = len(sections) > 0
	for _, s := range sections {
		r.sectionTask(s)
	}
	if !r.sections {
		r.readItems()
	}
	if len(r.tasks) == 0 {
		text := "no checkbox item found; write `- [ ] title`"
		if r.passedOver > 0 {
			text += fmt.Sprintf(" (the box on line %d is under a heading for notes or criteria)", r.passedOver)
		}
		r.problem(Problem{Line: 1, Text: text})
	}
	r.nameTasks()
	r.findFalseBoxes()
	for i := range r.problems {
		r.problems[i].File = src.path
	}
	sortProblems(r.problems)
	return r.checklist
}
