package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Work says what an iteration is for, as its prompt does: the task, or without one the goal.
func Work(in ralph.PromptInput) string {
	words, _ := task(in)
	if words == "" {
		words, _ = goal(in)
	}
	return words
}

// steering comes first. A long list is cut at the end: the rest gets its turn once the beginning is
// done.
func steering(in ralph.PromptInput) (words string, truncated bool) {
	var items []string
	for _, item := range in.Steering {
		if s := strings.TrimSpace(clean(item.Text)); s != "" {
			number := strconv.Itoa(len(items)+1) + ". "
			items = append(items, number+strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", len(number))))
		}
	}
	if len(items) == 0 {
		return "", false
	}
	list, truncated := text.KeepHead(strings.Join(items, "\n"), steeringCap)
	struck := ""
	if file := in.Steering[len(in.Steering)-1].File; file != "" {
		struck = fmt.Sprintf(
			"\nThe items are in %s: remove each one from that file when it is done, and change nothing else there.",
			code(file),
		)
	}
	return fmt.Sprintf(`# First of all

The user wrote this for you. It is an instruction, and it comes before everything else in this prompt. Do the `+
		`items in order; only then continue
with the rest.%s

%s`, struck, quote(list)), truncated
}

// goal is the user's own text, unchanged unless it is too long.
func goal(in ralph.PromptInput) (words string, truncated bool) {
	if strings.TrimSpace(in.Goal) == "" {
		return "", false
	}
	heading := "# Goal"
	if in.SpecFile != "" {
		heading = fmt.Sprintf("# Goal (the spec, from %s)", inline(in.SpecFile))
	}
	words, truncated = shorten(in.Goal, in.GoalFile)
	return heading + "\n\n" + words, truncated
}

const nothingOpen = `# Your task

Every task in the list is proven done, but the run is not complete yet. "What happened last time" below says what ` +
	`is missing. Fix that; start
nothing new.`

func task(in ralph.PromptInput) (words string, truncated bool) {
	t := in.Task
	switch {
	case t == nil && allDone(in):
		return nothingOpen, false
	case t == nil:
		return "", false
	}
	var b strings.Builder
	b.WriteString("# Your task\n\nDo this one task in this iteration, and no other:\n\n")
	head := inline(t.ID) + ": " + inline(t.Title)
	if t.Category != "" {
		head += " (" + inline(t.Category) + ")"
	}
	description, cutDescription := text.Cut(strings.TrimSpace(clean(t.Description)), descriptionCap)
	if description != "" {
		head += "\n\n" + description
	}
	b.WriteString(quote(head))
	if t.SpecFile != "" {
		fmt.Fprintf(&b, "\n\nThere is more about it in %s: read that first.", code(t.SpecFile))
	}
	criteria, cutCriteria := text.Cut(bullets(t.Acceptance), acceptanceCap)
	if criteria != "" {
		b.WriteString("\n\nIt is done when all of this is true:\n\n" + quote(criteria))
	}
	if slices.ContainsFunc(in.Tasks, func(known ralph.TaskState) bool { return known.Regressed && isOwn(in, known) }) {
		b.WriteString("\n\nThis task was proven done before, but its checks fail now. Find out what broke it and fix " +
			"that; do not weaken its tests.")
	}
	if (cutDescription || cutCriteria) && in.ListFile != "" {
		fmt.Fprintf(&b, "\n\nThe task is too long for this prompt. Read all of it in %s.", code(in.ListFile))
	}
	if in.Try > 1 {
		fmt.Fprintf(&b, "\n\nThis is attempt %d at this task. Look at what earlier attempts left in the workspace.", in.Try)
	}
	if in.RestoreFailure != "" {
		fmt.Fprintf(
			&b,
			"\n\nThe work of an earlier attempt was stashed and could not be restored, because %s. Start over.",
			inline(in.RestoreFailure),
		)
	}
	return b.String(), cutDescription || cutCriteria
}

func iteration(in ralph.PromptInput) (words string, truncated bool) {
	of := ""
	if in.Of > 0 {
		of = fmt.Sprintf(" of %d", in.Of)
	}
	piece := "do the most\nuseful next piece of work"
	if in.Task != nil || allDone(in) {
		piece = "do your\ntask and nothing else"
	}
	return fmt.Sprintf(`# This iteration

This is iteration %d%s. You start with a fresh context: what earlier iterations did is in the files. Look at the `+
		`workspace first, %s, and leave the tree in a state that the next iteration can build on. No one can answer `+
		`questions while you work.
Stop every background process that you start.`, in.Ordinal, of, piece), false
}

func commits(in ralph.PromptInput) (words string, truncated bool) {
	switch in.WhoCommits {
	case "agent":
		words = `You commit: as soon as the work of this iteration is done and its checks pass, commit all of it, with ` +
			`a conventional message (such as "fix: …"). Never
push, and leave remotes and other branches alone.`
	case "harness":
		words = `Ralph commits for you after you end. Leave your changes uncommitted; do not commit, push, stash ` +
			`or switch branches.`
	default:
		words = `No commits: leave your changes uncommitted in the tree. Do not commit or push unless the goal says so.`
	}
	return "# Commits\n\n" + words, false
}

const showWork = "The checks pass already, so passing again does not show your work. Add a test that fails without " +
	"your change and passes with it. Ralph runs it both ways."

func checks(in ralph.PromptInput) (words string, truncated bool) {
	var a account
	list := func(intro string, commands []string) {
		var spans []string
		for _, c := range commands {
			if c = strings.TrimSpace(clean(c)); c != "" {
				spans = append(spans, exactCode(c))
			}
		}
		a.list(intro, spans)
	}
	when := "After you end"
	if in.ByCase {
		when = "When you submit a case"
	}
	list(when+", Ralph runs these commands; all must exit 0:", in.Checks)
	if in.Task != nil {
		own := "For this task it also runs:"
		if len(in.Checks) == 0 {
			own = when + ", Ralph runs these commands for this task; all must exit 0:"
		}
		list(own, in.Task.Checks)
	}
	list("Another agent wrote these tests for this work. Make them pass, and do not change them: Ralph refuses claims\n"+
		"with other versions.", in.GivenTests)
	if in.NeedsNewTest {
		a.say(showWork)
	}
	return a.under("# Checks")
}
