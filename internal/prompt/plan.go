package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	mayTick = "You may tick off your own task there, in its place, which is a claim like the tag. "
	mayAdd  = "You may add tasks that you found, without commands of\ntheir own. Do not delete, reword or weaken what is there: it would be put back."
)

// plan is the overview of the list. A long one is shown around the own task: what is done is only counted, then what is farthest away.
func plan(in Input) Part {
	if len(in.Plan) == 0 && in.ListFile == "" {
		return Part{}
	}
	paragraphs := []string{"# Plan"}
	if in.ListFile != "" {
		rules := mayAdd
		if in.Task != nil {
			rules = mayTick + mayAdd
		}
		paragraphs = append(paragraphs, fmt.Sprintf("The list is in %s. %s", code(in.ListFile), rules))
	}
	if len(in.Plan) == 0 {
		return Part{Name: "plan", Text: strings.Join(paragraphs, "\n\n")}
	}
	done := 0
	for _, l := range in.Plan {
		if l.Status == "done" {
			done++
		}
	}
	summary := fmt.Sprintf("%d of %d tasks are done.", done, len(in.Plan))
	if slices.ContainsFunc(in.Plan, func(l PlanLine) bool { return l.Own }) {
		summary += " The arrow points at yours."
	}
	text, truncated := overview(in.Plan)
	paragraphs = append(paragraphs, summary, quote(text))
	return Part{Name: "plan", Text: strings.Join(paragraphs, "\n\n"), Truncated: truncated}
}

// row is a line of the overview, or a run of tasks that is only counted.
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

func overview(lines []PlanLine) (text string, truncated bool) {
	rows := make([]row, len(lines))
	for i, l := range lines {
		rows[i] = row{text: planLine(l), done: l.Status == "done" && !l.Own, own: l.Own}
	}
	if length(rows) <= planCap {
		return joined(rows), false
	}
	rows = foldDone(rows)
	if length(rows) > planCap {
		rows = around(rows)
	}
	return joined(rows), true
}

func planLine(l PlanLine) string {
	arrow, box := "   ", "[ ]"
	if l.Own {
		arrow = "-> "
	}
	switch l.Status {
	case "done":
		box = "[x]"
	case "failed":
		box = "[!]"
	}
	line := fmt.Sprintf("%s%s %s: %s", arrow, box, inline(l.ID), inline(l.Title))
	for _, note := range []struct {
		holds bool
		text  string
	}{{l.Status == "failed", "failed"}, {l.Regressed, "was done, does not hold any more"}, {l.Optional, "optional"}, {l.Human, "for a person, not for you"}} {
		if note.holds {
			line += " (" + note.text + ")"
		}
	}
	return line
}

// foldDone makes one row of every run of done tasks.
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

// around keeps the rows nearest to the own task, or to the beginning, as far as there is room, and counts the others.
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

func length(rows []row) int {
	n := 0
	for _, r := range rows {
		n += r.length()
	}
	return n
}

func joined(rows []row) string {
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.String()
	}
	return strings.Join(texts, "\n")
}
