package interview

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
)

//go:embed write_plan.md
var writePlanPage string

// The limits of a plan. Texts are measured in characters.
const (
	planLimit     = 2 << 20 // bytes of the call
	tasksLimit    = 200
	idLimit       = 64
	titleLimit    = 200
	longLimit     = 8_000 // a description, the overview
	shortLimit    = 2_000 // a criterion, a check, a note
	criteriaLimit = 40
	checksLimit   = 20
	notesLimit    = 50
)

type planInput struct {
	Overview      string      `json:"overview" doc:"The goal and how to reach it, in a few sentences, for people."`
	Tasks         []taskInput `json:"tasks" doc:"The tasks, in working order."`
	OpenQuestions []string    `json:"open_questions,omitempty" doc:"What a person should still decide, and what you assumed."` //nolint:lll // a struct tag cannot be split
	Blockers      []string    `json:"blockers,omitempty" doc:"What keeps tasks from being done until a person acts."`
	ScopeNotes    []string    `json:"scope_notes,omitempty" doc:"What was left out on purpose, and what you decided yourself."` //nolint:lll // a struct tag cannot be split
}

type taskInput struct {
	ID          string   `json:"id" doc:"Such as T-001."`
	Title       string   `json:"title" doc:"One line: what is true when it is done."`
	Description string   `json:"description,omitempty" doc:"What to do, where, and what is known about it. The agent sees nothing else of this conversation."` //nolint:lll // a struct tag cannot be split
	Acceptance  []string `json:"acceptance" doc:"Checkable statements, at least one unless human is set."`
	DependsOn   []string `json:"depends_on,omitempty" doc:"Ids of tasks that must be done before."`
	Priority    *int     `json:"priority,omitempty" doc:"The lowest number comes first; default: list order."`
	Checks      []string `json:"checks,omitempty" doc:"Shell commands that fail now and pass when the task is done."`
	Category    string   `json:"category,omitempty" doc:"One word, such as setup, feature, test, docs."`
	Optional    bool     `json:"optional,omitempty" doc:"The work is complete without it."`
	Human       bool     `json:"human,omitempty" doc:"Only a person can do it."`
	Proof       string   `json:"proof,omitempty" enum:"unbroken" doc:"Only for a task that no check can show, such as a refactoring or documentation: checks that pass before and after are enough."` //nolint:lll // a struct tag cannot be split
}

// decodePlan reads the input of write_plan. The error is one sentence about one problem, for the
// model.
func decodePlan(input json.RawMessage) (Plan, error) {
	if len(input) > planLimit {
		return Plan{}, fmt.Errorf("the input has more than %d bytes; write shorter texts", planLimit)
	}
	var in planInput
	if err := tools.Decode(input, &in); err != nil {
		return Plan{}, err
	}
	if len(in.Tasks) == 0 || len(in.Tasks) > tasksLimit {
		return Plan{}, fmt.Errorf("field tasks must have 1 to %d tasks, not %d", tasksLimit, len(in.Tasks))
	}
	var r planReader
	p := Plan{
		Overview:      r.text("overview", in.Overview, longLimit),
		OpenQuestions: r.texts("open_questions", in.OpenQuestions, notesLimit),
		Blockers:      r.texts("blockers", in.Blockers, notesLimit),
		ScopeNotes:    r.texts("scope_notes", in.ScopeNotes, notesLimit),
	}
	if p.Overview == "" {
		r.fault("field overview is empty")
	}
	for i, t := range in.Tasks {
		p.Tasks = append(p.Tasks, r.task(fmt.Sprintf("tasks[%d]", i), t))
	}
	if r.err != nil {
		return Plan{}, r.err
	}
	return p, nil
}

// planReader makes texts plain and checks their limits. It keeps the first error.
type planReader struct{ err error }

func (r *planReader) fault(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *planReader) task(at string, in taskInput) ralph.Task {
	t := ralph.Task{
		ID:          strings.TrimSpace(in.ID), // the lint checks its form
		Title:       plainLine(r.text(at+".title", in.Title, titleLimit)),
		Description: r.text(at+".description", in.Description, longLimit),
		Acceptance:  r.texts(at+".acceptance", in.Acceptance, criteriaLimit),
		DependsOn:   r.ids(at+".depends_on", in.DependsOn),
		Priority:    in.Priority,
		Checks:      r.commands(at+".checks", in.Checks),
		Category:    plainLine(r.text(at+".category", in.Category, idLimit)),
		Optional:    in.Optional,
		Human:       in.Human,
		Proof:       ralph.ProofRule(in.Proof),
		Status:      ralph.TaskPending,
	}
	r.bounded(at+".id", in.ID, idLimit)
	switch {
	case t.Title == "":
		r.fault("field %s.title is empty", at)
	case len(t.Acceptance) == 0 && !t.Human:
		r.fault("field %s.acceptance is empty: say how to tell that task %s is done", at, brief(t.ID))
	case t.Priority != nil && (*t.Priority < 0 || *t.Priority > 1_000_000):
		r.fault("field %s.priority must be from 0 to 1000000", at)
	}
	return t
}

func (r *planReader) bounded(at, text string, limit int) {
	if n := utf8.RuneCountInString(text); n > limit {
		r.fault("field %s has %d characters; the limit is %d", at, n, limit)
	}
}

func (r *planReader) text(at, text string, limit int) string {
	r.bounded(at, text, limit)
	return plainText(text)
}

func (r *planReader) texts(at string, texts []string, limit int) []string {
	return r.each(at, texts, limit, func(place, text string) string {
		text = r.text(place, text, shortLimit)
		if text == "" {
			r.fault("field %s is empty", place)
		}
		return text
	})
}

func (r *planReader) ids(at string, ids []string) []string {
	return r.each(at, ids, tasksLimit, func(place, id string) string {
		r.bounded(place, id, idLimit)
		return strings.TrimSpace(id)
	})
}

// commands are never changed: what runs must be what was written, and what was written must be
// visible.
func (r *planReader) commands(at string, commands []string) []string {
	return r.each(at, commands, checksLimit, func(place, command string) string {
		r.bounded(place, command, shortLimit)
		switch {
		case strings.TrimSpace(command) == "":
			r.fault("field %s is empty", place)
		case strings.ContainsFunc(command, isHidden) || strings.ContainsRune(command, utf8.RuneError):
			r.fault("field %s contains an invisible character; write the command in plain text", place)
		}
		return strings.TrimSpace(command)
	})
}

// each reads the items of a list and checks their number.
func (r *planReader) each(at string, items []string, limit int, read func(place, item string) string) []string {
	if len(items) > limit {
		r.fault("field %s has %d items; the limit is %d", at, len(items), limit)
	}
	var all []string
	for i, item := range items {
		all = append(all, read(fmt.Sprintf("%s[%d]", at, i), item))
	}
	return all
}
