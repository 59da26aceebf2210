// Package prompt turns plain facts about a run into the text that one fresh agent gets.
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
	"crypto/sha256"
	"encoding/hex"
	"strings"
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

// Part is one part as it went into the prompt.
type Part struct {
	Name      string
	Text      string
	Truncated bool

	inline bool   // it follows the part before it at once, in a filled prompt file
	lead   string // blanks between the two
}

// Hash identifies the part's text.
func (p Part) Hash() string { return Hash(p.Text) }

// Hash is a short fingerprint of a text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Build gives the parts of a prompt in their order, empty ones left out. A prompt file with placeholders decides the order, and is itself listed once for each
// stretch of it.
func Build(in Input) []Part {
	ours := in.parts()
	file := splitTemplate(strings.ToValidUTF8(in.Template, "\uFFFD"))
	if !file.anyKnown() {
		return withFile(ours, in)
	}
	return fill(file, ours, in)
}

// parts are ours, in their order.
func (in Input) parts() []Part {
	all := []Part{
		steering(in), goal(in), task(in), iteration(in), commits(in), signals(in), checks(in), plan(in), diff(in), diagnose(in), failures(in), refusals(in),
		recommendation(in), progress(in), learnings(in), answers(in),
	}
	var present []Part
	for _, p := range all {
		if strings.TrimSpace(p.Text) != "" {
			present = append(present, p)
		}
	}
	return present
}

// Join makes one text of the parts.
func Join(parts []Part) string {
	var b strings.Builder
	for i, p := range parts {
		text := p.Text
		if i+1 == len(parts) || !parts[i+1].inline {
			text = strings.TrimRight(text, "\n")
		}
		switch {
		case p.inline:
			b.WriteString(p.lead)
		case i > 0:
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	b.WriteByte('\n')
	return b.String()
}
