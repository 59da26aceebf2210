// Package prompt turns what is known of a run into the text that one fresh agent gets.
//
// The prompt is the only thing that connects iterations besides the files in the workspace. It is made of parts in a fixed order, empty ones left out; each
// has a cap, a mark where it was cut, and a line in the run's log. So the prompt of the thousandth iteration is no longer than that of the tenth.
//
//	steering        what the user wants first
//	prompt_file     the user's own prompt file
//	goal, task      what the run is for, and the one task of this iteration
//	iteration       which iteration of how many
//	commits         who commits
//	signals         how to report
//	checks          what will be run
//	plan            the task list, the own task marked
//	diff            what changed since the run began
//	diagnose        that this iteration is for diagnosis only
//	failed_checks   what the checks printed
//	refusals        what happened last time: claims refused, tasks proven, what was put back or has to be, what evaluators reject
//	recommendation  of the last iteration
//	progress        the end of the run's diary
//	learnings       what earlier iterations found worth remembering
//	answers         what the user answered
//
// # Words of others
//
// Only the goal and the prompt file, which are the user's, stand in the prompt as they are. Everything else that comes from outside (titles, output, patches,
// what agents wrote) stands on quoted lines or is made one harmless line. It cannot pose as one of our headings, and a line of it that an agent repeats
// as it stands is no report. Our own text holds no tag that would count, no status block and no learning.
//
// # The prompt file
//
// A prompt file is sent whole, behind a line with the project's root, and our parts follow it. One that holds a placeholder of ours is itself the prompt:
//
//	{{steering}} {{goal}} {{task}} {{iteration}} {{commits}} {{signals}} {{checks}} {{plan}} {{diff}} {{diagnose}} {{failed_checks}} {{last_time}}
//	{{recommendation}} {{progress}} {{learnings}} {{answers}}       a part, heading included, nothing if it is empty
//	{{task_id}} {{task_title}} {{i}} {{n}} {{project_root}}         a small value; {{n}} is "unlimited" without a cap
//
// A part is filled in where it is first named; values are never searched for placeholders. A part that is not named is left out, but for those without which
// an agent works in vain: steering comes first; goal and task (unless its id or title is named), signals, diagnose, failed_checks, last_time and answers
// follow the file in their order.
//
// A placeholder is written without blanks: ${{ x }}, {{ x }}, {{.X}} and {{{x}}} are somebody else's and stay. So does a name that we do not know, which
// Unknown reports.
package prompt

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Caps of what is put into a part, in characters. Our own words around it come on top.
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

	inline bool   // it follows the part before it at once, in a filled prompt file
	lead   string // blanks between the two
}

// kind makes one part. What it has nothing to say about is empty.
type kind struct {
	name  string // of its placeholder
	build func(ralph.PromptInput) (words string, truncated bool)
}

// lastTime is what a prompt file calls the part that the log calls refusals.
const lastTime = "last_time"

// kinds are our parts, in their order.
var kinds = []kind{
	{"steering", steering}, {"goal", goal}, {"task", task}, {"iteration", iteration}, {"commits", commits},
	{"signals", signals},
	{"checks", checks}, {"plan", plan}, {"diff", diff}, {"diagnose", diagnose}, {"failed_checks", failures},
	{lastTime, refusals},
	{"recommendation", recommendation}, {"progress", progress}, {"learnings", learnings}, {"answers", answers},
}

// Build makes a prompt of its parts, empty ones left out.
func Build(in ralph.PromptInput) ralph.Prompt {
	parts := arrange(in)
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

// arrange gives the parts in their order. A prompt file with placeholders decides it, and is itself listed once for each stretch of it.
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

// join makes one text of the parts.
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
