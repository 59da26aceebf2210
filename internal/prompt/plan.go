package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

const (
	mayTick = "You may tick off your own task there, which is a claim like the tag. "
	mayAdd  = "You may add tasks that you found, but\nwithout commands or `proof: unbroken`. " +
		"Do not delete, reword or weaken existing tasks: Ralph restores them."
)

// allDone reports whether every task is proven although the run is not complete.
func allDone(in ralph.PromptInput) bool {
	return len(in.Tasks) > 0 && !slices.ContainsFunc(in.Tasks, ralph.TaskState.Open)
}

// isOwn reports whether t is the task of this iteration.
func isOwn(in ralph.PromptInput, t ralph.TaskState) bool { return in.Task != nil && in.Task.ID == t.ID }

// plan returns an overview of the list. A long list is shown around the agent's own task: done
// tasks are only counted, then those farthest away.
func plan(in ralph.PromptInput) (words string, truncated bool) {
	if len(in.Tasks) == 0 && in.ListFile == "" {
		return "", false
	}
	paragraphs := []string{"# Plan"}
	if in.ListFile != "" {
		rules := mayAdd
		if in.Task != nil {
			rules = mayTick + mayAdd
		}
		paragraphs = append(paragraphs, fmt.Sprintf("The list is in %s. %s", code(in.ListFile), rules))
	}
	if len(in.Tasks) > 0 {
		done, arrow := 0, ""
		for _, t := range in.Tasks {
			if t.Status == ralph.TaskDone {
				done++
			}
			if isOwn(in, t) {
				arrow = " The arrow points at yours."
			}
		}
		words, truncated = overview(in)
		paragraphs = append(paragraphs, fmt.Sprintf("%d of %d tasks are done.%s", done, len(in.Tasks), arrow), quote(words))
	}
	return strings.Join(paragraphs, "\n\n"), truncated
}

// row is a line of the overview, or a group of tasks that are only counted.
type row struct {
	text    string
	counted int
	done    bool
	own     bool
}

func (r row) String() string {
	switch {
	case r.counted == 0:
		return r.text
	case r.done:
		return fmt.Sprintf("   [… %d done …]", r.counted)
	default:
		return fmt.Sprintf("   [… %d more …]", r.counted)
	}
}

func overview(in ralph.PromptInput) (words string, truncated bool) {
	rows := make([]row, len(in.Tasks))
	for i, t := range in.Tasks {
		own := isOwn(in, t)
		rows[i] = row{text: planLine(t, own), done: t.Status == ralph.TaskDone && !own, own: own}
	}
	if words = joined(rows); fits(words) {
		return words, false
	}
	rows = foldDone(rows)
	if words = joined(rows); !fits(words) {
		words = joined(around(rows))
	}
	return words, true
}

// fits reports whether a text and the line break after it are within the limit.
func fits(words string) bool { return utf8.RuneCountInString(words) < planCap }

func planLine(t ralph.TaskState, own bool) string {
	arrow, box, notes := "   ", "[ ]", ""
	if own {
		arrow = "-> "
	}
	switch t.Status {
	case ralph.TaskDone:
		box = "[x]"
	case ralph.TaskFailed:
		box, notes = "[!]", " (failed)"
	}
	if t.Regressed {
		notes += " (was done, fails now)"
	}
	if t.Question != "" {
		notes += " (waits for a person's answer, not for you)"
	}
	if t.Optional {
		notes += " (optional)"
	}
	if t.Human {
		notes += " (for a person, not for you)"
	}
	return fmt.Sprintf("%s%s %s: %s%s", arrow, box, inline(t.ID), inline(t.Title), notes)
}

// foldDone combines consecutive done tasks into one row.
func foldDone(rows []row) []row {
	var folded []row
	for _, r := range rows {
		last := len(folded) - 1
		switch {
		case !r.done:
			folded = append(folded, r)
		case last >= 0 && folded[last].counted > 0:
			folded[last].counted++
		default:
			folded = append(folded, row{counted: 1, done: true})
		}
	}
	return folded
}

// around keeps the rows nearest to the own task, or to the beginning, as space allows, and counts
// the others.
func around(rows []row) []row {
	own := max(0, slices.IndexFunc(rows, func(r row) bool { return r.own }))
	from, to := own, own+1
	room := planCap - rows[own].length() - 2*row{counted: len(rows)}.length()
	for from > 0 || to < len(rows) {
		before := from > 0 && (to == len(rows) || own-from <= to-own)
		next := to
		if before {
			next = from - 1
		}
		if room -= rows[next].length(); room < 0 {
			break
		}
		if before {
			from--
		} else {
			to++
		}
	}
	var kept []row
	if n := tasksIn(rows[:from]); n > 0 {
		kept = append(kept, row{counted: n})
	}
	kept = append(kept, rows[from:to]...)
	if n := tasksIn(rows[to:]); n > 0 {
		kept = append(kept, row{counted: n})
	}
	return kept
}

func tasksIn(rows []row) int {
	n := 0
	for _, r := range rows {
		n += max(1, r.counted)
	}
	return n
}

func (r row) length() int { return utf8.RuneCountInString(r.String()) + 1 }

func joined(rows []row) string {
	return strings.Join(text.Mapped(rows, row.String), "\n")
}
