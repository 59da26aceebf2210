package prompt

import (
	"fmt"
	"strconv"
	"strings"
)

// steering comes first. Of a long list the beginning is kept: the rest has its turn once that is done.
func steering(in Input) Part {
	var items []string
	for _, s := range in.Steering {
		if s = strings.TrimSpace(clean(s)); s != "" {
			number := strconv.Itoa(len(items)+1) + ". "
			items = append(items, number+strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", len(number))))
		}
	}
	if len(items) == 0 {
		return Part{}
	}
	list, truncated := keepHead(strings.Join(items, "\n"), steeringCap)
	struck := ""
	if in.SteeringFile != "" {
		struck = fmt.Sprintf("\nItems that stand in %s: remove each from that file as soon as it is done, and nothing else.", code(in.SteeringFile))
	}
	return Part{Name: "steering", Truncated: truncated, Text: fmt.Sprintf(`# First of all

The user wrote this for you. It is an instruction, and it comes before everything else in this prompt. Do the items in their order; only then go
on with the rest.%s

%s`, struck, quote(list))}
}

// goal is the user's own text and stands as it is.
func goal(in Input) Part {
	text, truncated := Cut(strings.ToValidUTF8(in.Goal, "\uFFFD"), goalCap)
	switch {
	case strings.TrimSpace(in.Goal) == "":
		return Part{}
	case in.SpecFile != "":
		text = fmt.Sprintf("# Goal (the spec, from %s)\n\n%s", inline(in.SpecFile), text)
	default:
		text = "# Goal\n\n" + text
	}
	return Part{Name: "goal", Text: text, Truncated: truncated}
}

const allDone = `# Your task

Every task of the list is proven done, but the run is not complete yet. What happened last time, below, says what is missing. Put that right; start
nothing new.`

func task(in Input) Part {
	t := in.Task
	if t == nil {
		if in.TasksAllDone {
			return Part{Name: "task", Text: allDone}
		}
		return Part{}
	}
	p := Part{Name: "task"}
	var b strings.Builder
	b.WriteString("# Your task\n\nDo this one task in this iteration, and no other:\n\n")
	head := inline(t.ID) + ": " + inline(t.Title)
	if t.Category != "" {
		head += " (" + inline(t.Category) + ")"
	}
	description, cutDescription := Cut(strings.TrimSpace(clean(t.Description)), descriptionCap)
	if description != "" {
		head += "\n\n" + description
	}
	b.WriteString(quote(head))
	if t.SpecFile != "" {
		fmt.Fprintf(&b, "\n\nMore about it stands in %s: read that first.", code(t.SpecFile))
	}
	criteria, cutCriteria := Cut(bullets(t.Acceptance), acceptanceCap)
	if criteria != "" {
		b.WriteString("\n\nIt is done when all of this holds:\n\n" + quote(criteria))
	}
	if t.Regressed {
		b.WriteString("\n\nThis task was proven done before, and now it does not hold any more. Find out what broke it and put that right; leave its tests as strict as they are.")
	}
	if t.Try > 1 {
		fmt.Fprintf(&b, "\n\nThis is try %d of this task. Look at what the tries before it left in the workspace.", t.Try)
	}
	if t.NotBack != "" {
		fmt.Fprintf(&b, "\n\nWhat an earlier try of this task left was set aside and is not in the workspace, because %s. Begin anew.", inline(t.NotBack))
	}
	p.Text, p.Truncated = b.String(), cutDescription || cutCriteria
	return p
}

func iteration(in Input) Part {
	of := ""
	if in.Of > 0 {
		of = fmt.Sprintf(" of %d", in.Of)
	}
	piece := "do the most\nuseful next piece of work"
	if in.Task != nil || in.TasksAllDone {
		piece = "do your\ntask and nothing beside it"
	}
	return Part{Name: "iteration", Text: fmt.Sprintf(`# This iteration

This is iteration %d%s. You start with a fresh context: what earlier iterations did is in the files. Look at the workspace first, %s, and leave the tree in a state that the next iteration can build on. Nobody can answer questions while you work.
Stop every background process that you start.`, in.Ordinal, of, piece)}
}

func commits(in Input) Part {
	text := ""
	switch in.Commits {
	case CommitsAgent:
		text = `You commit: as soon as the work of this iteration is done and its checks pass, commit all of it, with a conventional message (such as "fix: …"). Never
push, and leave remotes and other branches alone.`
	case CommitsHarness:
		text = `The harness commits for you, once you have ended. Leave your changes uncommitted; do not commit, push, stash or switch branches.`
	default:
		text = `Nobody commits: leave your changes uncommitted in the tree. Do not commit or push unless the goal says so.`
	}
	return Part{Name: "commits", Text: "# Commits\n\n" + text}
}

func checks(in Input) Part {
	p := Part{Name: "checks"}
	var paragraphs []string
	list := func(intro string, commands []string) {
		spans := make([]string, 0, len(commands))
		for _, c := range commands {
			if c = strings.TrimSpace(clean(c)); c != "" {
				spans = append(spans, exactCode(c))
			}
		}
		if len(spans) == 0 {
			return
		}
		text, truncated := Cut(bullets(spans), adviceCap)
		p.Truncated = p.Truncated || truncated
		paragraphs = append(paragraphs, intro, quote(text))
	}
	when := "After you end"
	if in.ByCase {
		when = "When you submit a case"
	}
	list(when+", the harness runs these commands; all must exit 0:", in.Checks)
	if in.Task != nil {
		list("For this task it also runs:", in.Task.Checks)
	}
	if len(paragraphs) == 0 {
		return Part{}
	}
	p.Text = "# Checks\n\n" + strings.Join(paragraphs, "\n\n")
	return p
}
