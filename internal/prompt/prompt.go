// Package prompt turns the state of a run into the text that one fresh agent gets.
//
// Besides the files in the workspace, the prompt is the only connection between iterations. It
// consists of parts in a fixed order; empty ones are left out. Each part has a limit, a mark where
// it was cut, and a line in the run's log. So the prompt of the thousandth iteration is no longer
// than that of the tenth.
//
//	steering        what the user wants first
//	prompt_file     the user's own prompt file
//	goal, task      the goal of the run, and the one task of this iteration
//	iteration       which iteration of how many
//	commits         who commits
//	signals         how to report
//	checks          what will be run
//	plan            the task list, with the own task marked
//	diff            what changed since the run began
//	diagnose        that this iteration is for diagnosis only
//	failed_checks   what the checks printed
//	refusals        what happened last time: refused claims, proven tasks, files that were
//	                restored or must be, what evaluators reject
//	recommendation  of the last iteration
//	progress        the end of the run's diary
//	learnings       what earlier iterations found worth remembering
//	answers         what the user answered
//
// # Text from outside
//
// Only the goal and the prompt file, which are the user's, are in the prompt unchanged. All other
// text from outside (titles, output, patches, what agents wrote) is on quoted lines or reduced to
// one harmless line. It cannot pose as one of our headings, and an agent that repeats such a line
// unchanged reports nothing. Our own text contains no tag that would count, no status block and no
// learning.
//
// # The prompt file
//
// A prompt file is sent whole, after a line with the project's root, and our parts follow it. If it
// contains one of our placeholders, the file itself is the prompt:
//
//	{{steering}} {{goal}} {{task}} {{iteration}} {{commits}} {{signals}} {{checks}} {{plan}}
//	{{diff}} {{diagnose}} {{failed_checks}} {{last_time}} {{recommendation}} {{progress}}
//	{{learnings}} {{answers}}
//	    a part with its heading, nothing if it is empty
//	{{task_id}} {{task_title}} {{i}} {{n}} {{project_root}}
//	    a small value; {{n}} is "unlimited" without a limit
//
// A part is inserted where it is first named; values are never searched for placeholders. A part
// that is not named is left out, except those without which an agent works in vain: steering comes
// first; goal and task (unless the task's id or title is named), signals, diagnose, failed_checks,
// last_time and answers follow the file in this order.
//
// A placeholder is written without spaces: ${{ x }}, {{ x }}, {{.X}} and {{{x}}} belong to other
// languages and stay. So does an unknown name, which Unknown reports.
package prompt

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Limits of the content of a part, in characters. Our own text around it comes on top.
const (
	goalCap        = 60_000
	descriptionCap = 20_000
	acceptanceCap  = 10_000
	steeringCap    = 8_000
	planCap        = 6_000
	diffCap        = 5_000
	adviceCap      = 4_000
	progressCap    = 4_000
	learningsCap   = 4_000
	answersCap     = 6_000
	checkCap       = 2_000
	rootCap        = 4_096
)

// part is one part as it goes into the prompt.
type part struct {
	name, text string
	truncated  bool

	inline bool   // it directly follows the part before it, in a filled prompt file
	lead   string // white space between the two
}

// kind builds one part, which may be empty.
type kind struct {
	name  string // of its placeholder
	build func(ralph.PromptInput) (words string, truncated bool)
}

// lastTime is the name in a prompt file of the part that the log calls refusals.
const lastTime = "last_time"

// kinds lists our parts in order.
var kinds = []kind{
	{"steering", steering}, {"goal", goal}, {"task", task}, {"iteration", iteration}, {"commits", commits},
	{"signals", signals},
	{"checks", checks}, {"plan", plan}, {"diff", diff}, {"diagnose", diagnose}, {"failed_checks", failures},
	{lastTime, refusals},
	{"recommendation", recommendation}, {"progress", progress}, {"learnings", learnings}, {"answers", answers},
}

// Build makes a prompt from its parts, leaving out empty ones.
func Build(in ralph.PromptInput) ralph.Prompt {
	return built(arrange(in))
}

// built makes a prompt from its parts, and lists them.
func built(parts []part) ralph.Prompt {
	built := ralph.Prompt{Text: join(parts)}
	for _, p := range parts {
		if p.name == lastTime {
			p.name = "refusals"
		}
		built.Parts = append(built.Parts, ralph.PromptPart{
			Name:      p.name,
			Bytes:     len(p.text),
			Truncated: p.truncated,
			Hash:      text.Digest(p.text),
		})
	}
	return built
}

// arrange returns the parts in order. A prompt file with placeholders determines the order, and
// each stretch of it is listed separately.
func arrange(in ralph.PromptInput) []part {
	var ours []part
	for _, k := range kinds {
		if words, truncated := k.build(in); words != "" {
			ours = append(ours, part{name: k.name, text: words, truncated: truncated})
		}
	}
	file := splitTemplate(strings.ToValidUTF8(in.Template, "\uFFFD"))
	if len(file) == 1 {
		return withFile(ours, in)
	}
	return fill(file, ours, in)
}

// join joins the parts into one text.
func join(parts []part) string {
	var b strings.Builder
	for i, p := range parts {
		words := p.text
		if i+1 == len(parts) || !parts[i+1].inline {
			words = strings.TrimRight(words, "\n")
		}
		switch {
		case p.inline:
			b.WriteString(p.lead)
		case i > 0:
			b.WriteString("\n\n")
		}
		b.WriteString(words)
	}
	b.WriteByte('\n')
	return b.String()
}
