package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// taskDetails reads the content under a task: its steps, fields and description.
type taskDetails struct {
	doc  *markdownDoc
	task *ralph.Task
	line int // of the task

	description []string // blocks
	steps       []step
	role        role // of the heading above, within a section
	roleLevel   int
	pending     field  // a label whose list follows
	nested      []step // nested boxes found while rendering
	problems    []Problem
}

// step is a box under a task.
type step struct {
	checkbox
	human bool
	item  ast.Node
}

// field is a property of a task that has its own field in ralph.Task.
type field int

const (
	noField field = iota
	dependsField
	priorityField
	checkField
	specField
	categoryField
	proofField
	descriptionField
	criteriaField
	humanField
	optionalField
)

var fields = map[string]field{
	"depends on":    dependsField,
	"depends":       dependsField,
	"dependencies":  dependsField,
	"dependency":    dependsField,
	"blocked by":    dependsField,
	"priority":      priorityField,
	"check":         checkField,
	"checks":        checkField,
	"spec":          specField,
	"spec file":     specField,
	"specification": specField,
	"category":      categoryField,
	"proof":         proofField,
	"description":   descriptionField,
}

var fieldOfRole = map[roleKind]field{criteriaRole: criteriaField, humanRole: humanField, optionalRole: optionalField}

// fieldIn reads a row such as "Depends on: T-1" or "**Acceptance criteria**". Without a value the
// following list contains the values.
func fieldIn(row string) (f field, value string, ok bool) {
	name, value, colon := strings.Cut(row, ":")
	if !colon || len(name) > 40 {
		if name, ok = labelIn(row); !ok {
			return noField, "", false
		}
		value = ""
	}
	bare := strings.TrimLeft(name, "*_")
	if opened := name[:len(name)-len(bare)]; opened != "" {
		value = strings.TrimLeft(value, "*_")
		bare = strings.TrimRight(bare, "*_")
		value = strings.TrimSuffix(value, opened)
	}
	key := strings.Join(nameWords(bare), " ")
	if f = fields[key]; f == noField {
		f = fieldOfRole[roles[key]]
	}
	return f, strings.TrimSpace(value), f != noField
}

// labelIn returns the name in a row that serves as a heading: it ends with a colon or is entirely
// bold.
func labelIn(row string) (string, bool) {
	if len(row) > 80 {
		return "", false
	}
	bare := strings.Trim(row, "*_")
	bold := len(row)-len(bare) >= 4 && (strings.HasPrefix(row, "**") || strings.HasPrefix(row, "__")) &&
		!strings.Contains(bare, "**")
	name, colon := strings.CutSuffix(strings.TrimRight(bare, "*_ "), ":")
	return name, bold || colon
}

// blocks reads a block and all its following siblings.
func (d *taskDetails) blocks(n ast.Node) {
	for ; n != nil; n = n.NextSibling() {
		d.block(n)
	}
}

func (d *taskDetails) block(n ast.Node) {
	pending := d.pending
	d.pending = noField
	switch n := n.(type) {
	case *ast.Heading:
		d.heading(n)
	case *ast.Paragraph, *ast.TextBlock:
		d.paragraph(d.doc.rows(n))
	case *ast.List:
		if pending == noField {
			pending = fieldOfRole[d.role.kind]
		}
		d.list(n, pending)
	default:
		if pending == checkField && n.Kind() == ast.KindFencedCodeBlock {
			d.task.Checks = append(
				d.task.Checks,
				slices.DeleteFunc(d.code(n), func(s string) bool { return strings.TrimSpace(s) == "" })...)
			return
		}
		d.describe(d.render(n, ""))
	}
	d.nestedSteps(noField)
}

// heading reads a heading within a section: "#### Manual testing" says what the boxes under it are.
func (d *taskDetails) heading(h *ast.Heading) {
	rows := d.doc.rows(h)
	if box, ok := d.doc.boxed(h); ok {
		rows = afterBox(rows, box)
		d.steps = append(d.steps, step{checkbox: box})
	}
	text := plainText(d.doc, rows)
	r := roleNamed(text)
	if r.kind != noRole || h.Level <= d.roleLevel {
		d.role, d.roleLevel = r, h.Level
	}
	if fieldOfRole[r.kind] == noField {
		d.describe([]string{strings.Repeat("#", h.Level) + " " + text})
	}
}

// paragraph extracts the fields of a paragraph and keeps the rest as description.
func (d *taskDetails) paragraph(rows []string) {
	var prose []string
	for i, row := range rows {
		f, value, ok := fieldIn(row)
		switch {
		case !ok:
			prose = append(prose, row)
		case value == "" && i == len(rows)-1:
			d.pending = f
		default:
			d.set(f, value)
		}
	}
	d.describe(prose)
}

func (d *taskDetails) describe(rows []string) {
	text := strings.TrimRight(strings.Trim(strings.Join(rows, "\n"), "\n"), " \t\n")
	if text != "" {
		d.description = append(d.description, text)
	}
}

// list reads the list under a task. Under a label its items are values; otherwise an item may be a
// field.
func (d *taskDetails) list(list *ast.List, under field) {
	var prose []string
	number := list.Start - 1
	for li := list.FirstChild(); li != nil; li = li.NextSibling() {
		number++
		first := li.FirstChild()
		if first == nil {
			continue
		}
		if box, ok := d.doc.boxed(first); ok {
			d.step(step{checkbox: box, item: li}, under)
			continue
		}
		if under != noField && holdsText(first) {
			d.set(under, d.entry(li, d.doc.rows(first)))
			continue
		}
		if holdsText(first) && d.fieldItem(li) {
			continue
		}
		prose = append(prose, d.renderItem(li, bullet(list, number), "")...)
	}
	d.describe(prose)
}

// fieldItem reads a list item that is a field, or a label above a list of values.
func (d *taskDetails) fieldItem(li ast.Node) bool {
	rows := d.doc.rows(li.FirstChild())
	f, value, ok := fieldIn(rows[0])
	if !ok {
		return false
	}
	if value != "" {
		d.set(f, d.entry(li, append([]string{value}, rows[1:]...)))
		return true
	}
	d.paragraph(rows)
	d.blocks(li.FirstChild().NextSibling())
	d.pending = noField
	return true
}

// step reads a box within a task: a criterion, unless it is for a person or optional. The same
// applies to boxes nested in it.
func (d *taskDetails) step(s step, under field) {
	rows := afterBox(d.doc.rows(s.item.FirstChild()), s.checkbox)
	t := readTitle(d.doc, rows)
	s.human = t.human || under == humanField
	s.optional = s.optional || t.optional || under == optionalField
	d.steps = append(d.steps, s)
	kind := criteriaField
	switch {
	case s.human:
		kind = humanField
	case s.optional:
		kind = optionalField
	}
	outer := d.nested
	d.nested = nil
	d.set(kind, d.entry(s.item, rows))
	d.nestedSteps(kind)
	d.nested = outer
}

func (d *taskDetails) nestedSteps(under field) {
	found := d.nested
	d.nested = nil
	for _, s := range found {
		d.step(s, under)
	}
}

// entry returns an item's text with its nested content. Nested boxes become separate steps.
func (d *taskDetails) entry(li ast.Node, rows []string) string {
	out := []string{oneLine(strings.Join(rows, " "))}
	for n := li.FirstChild().NextSibling(); n != nil; n = n.NextSibling() {
		out = append(out, d.render(n, "  ")...)
	}
	return strings.Join(out, "\n")
}

func (d *taskDetails) set(f field, value string) {
	if value == "" {
		return
	}
	switch f {
	case dependsField:
		d.task.DependsOn = append(d.task.DependsOn, plainText(d.doc, []string{value})) // split when every id is known
	case priorityField:
		word := plainText(d.doc, []string{value})
		n, ok := priorityIn(word)
		if !ok {
			d.problems = append(d.problems, Problem{Line: d.line, Warning: true,
				Text: fmt.Sprintf("priority %q is not a number; choose a number, or one of: high, medium, low", word)})
			return
		}
		d.task.Priority = &n
	case checkField:
		commands := commandsIn(d.doc, value)
		if commands == nil { // usually prose
			d.problems = append(d.problems, Problem{
				Line:    d.line,
				Warning: true,
				Text: fmt.Sprintf(
					"%q is not a command; write commands in backticks",
					plainText(d.doc, []string{"Check: " + value}),
				),
			})
			d.describe([]string{"Check: " + value})
		}
		d.task.Checks = append(d.task.Checks, commands...)
	case specField:
		d.task.SpecFile = pathIn(d.doc, value)
	case proofField:
		d.setProof(value)
	case categoryField:
		d.task.Category = plainText(d.doc, []string{value})
	case descriptionField:
		d.describe([]string{value})
	case criteriaField:
		text, more, _ := strings.Cut(value, "\n")
		d.task.Acceptance = append(d.task.Acceptance, strings.TrimSuffix(trimDone(text)+"\n"+more, "\n"))
	case humanField:
		d.describe([]string{"For a person: " + value})
	case optionalField:
		d.describe([]string{"Optional: " + value})
	}
}

// setProof reads what the task's claim must prove. Several words are prose about a proof.
func (d *taskDetails) setProof(value string) {
	text := plainText(d.doc, []string{value})
	word := strings.ToLower(text)
	if knownProof(word) {
		d.task.Proof = ralph.ProofRule(word)
		return
	}
	d.problems = append(d.problems, Problem{Line: d.line, Text: badProof(text), Warning: strings.Contains(word, " ")})
	d.describe([]string{"Proof: " + value})
}

// commandsIn returns the commands in a value, each in backticks.
func commandsIn(doc *markdownDoc, value string) []string {
	var out []string
	if overflows([]string{value}) {
		return nil // half a command is a different command
	}
	for _, r := range runs(doc, []string{value}) {
		if r.code {
			out = append(out, strings.TrimSpace(r.text))
		}
	}
	return out
}

// pathIn returns the file that a value names: the target of a link, or its text.
func pathIn(doc *markdownDoc, value string) string {
	if _, rest, ok := strings.Cut(value, "]("); ok && strings.HasPrefix(value, "[") {
		if target, _, ok := strings.Cut(rest, ")"); ok {
			return strings.TrimSpace(target)
		}
	}
	return plainText(doc, []string{value})
}

// required returns the boxes that must be ticked for a section to be done. Steps for a person and
// optional steps count only if there are no others.
func (d *taskDetails) required() []checkbox {
	needed := slices.DeleteFunc(slices.Clone(d.steps), func(s step) bool { return s.human || s.optional })
	if len(needed) == 0 {
		needed = d.steps
	}
	return text.Mapped(needed, func(s step) checkbox { return s.checkbox })
}

// only reports whether there are steps and all of them satisfy is.
func (d *taskDetails) only(is func(step) bool) bool {
	return len(d.steps) > 0 && !slices.ContainsFunc(d.steps, func(s step) bool { return !is(s) })
}
