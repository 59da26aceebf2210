// Package prompt turns plain facts about a run into the text that one fresh agent gets.
//
// The prompt is the only thing that connects iterations besides the files in the workspace. It is made of parts in a fixed order; each has a
// cap, a mark where it was cut, and a line in the run's log. The text holds no tag that would count as a claim if an agent echoed it.
package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Caps of the parts, in characters.
const (
	goalCap   = 60_000
	checkCap  = 2_000
	adviceCap = 4_000
)

// Input is everything a prompt may say.
type Input struct {
	Ordinal int // iteration i
	Of      int // of N, 0 for no cap

	Template string // the user's own prompt file, sent whole before our parts
	Goal     string // the goal or the text of the spec
	SpecFile string // where the goal was read, if from a file

	Tags           []string // what completes
	StatusRequired bool
	Checks         []string
	Diagnose       string // why this iteration is for diagnosis only

	LastError      string
	Failed         []Failure
	Refusals       []Refusal
	GreenNoClaim   bool
	Recommendation string
	StatusProblem  string
	Mismatches     []string
	Mentions       []string
}

// Failure is a check that did not pass last time.
type Failure struct{ Name, How, Output string }

// Refusal is a gate that was shut last time.
type Refusal struct{ Code, Detail string }

// Part is one part as it went into the prompt.
type Part struct {
	Name      string
	Text      string
	Truncated bool
}

// Hash identifies the part's text.
func (p Part) Hash() string { return Hash(p.Text) }

// Hash is a short fingerprint of a text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Build gives the parts of a prompt in their fixed order, empty ones left out.
func Build(in Input) []Part {
	var parts []Part
	add := func(name, text string, limit int) {
		if strings.TrimSpace(text) == "" {
			return
		}
		cut, truncated := Cut(text, limit)
		parts = append(parts, Part{name, cut, truncated})
	}
	add("prompt_file", in.Template, goalCap)
	add("goal", goal(in), goalCap)
	add("iteration", iteration(in), adviceCap)
	add("signals", signals(in), adviceCap)
	add("checks", checks(in.Checks), adviceCap)
	add("diagnose", diagnose(in.Diagnose), adviceCap)
	if part, any := failures(in.Failed); any {
		parts = append(parts, part)
	}
	add("refusals", refusals(in), adviceCap)
	add("recommendation", recommendation(in.Recommendation), adviceCap)
	return parts
}

// Join makes one text of the parts.
func Join(parts []Part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = strings.TrimRight(p.Text, "\n")
	}
	return strings.Join(texts, "\n\n") + "\n"
}

func goal(in Input) string {
	if in.SpecFile != "" {
		return fmt.Sprintf("# Goal (the spec, from %s)\n\n%s", in.SpecFile, in.Goal)
	}
	if in.Goal == "" {
		return ""
	}
	return "# Goal\n\n" + in.Goal
}

func iteration(in Input) string {
	of := ""
	if in.Of > 0 {
		of = fmt.Sprintf(" of %d", in.Of)
	}
	return fmt.Sprintf(`# This iteration

This is iteration %d%s. You start with a fresh context: what earlier iterations did is in the files. Look at the workspace first, do the most
useful next piece of work, and leave the tree in a state that the next iteration can build on. Nobody can answer questions while you work.
Stop every background process that you start.`, in.Ordinal, of)
}

// signals explains the tags without writing one that would count: the format stands in a code span, with words in place of the type.
func signals(in Input) string {
	var b strings.Builder
	b.WriteString("# How to report\n\nA report is a promise tag alone on a line, in the form `<promise>TYPE</promise>` or `<promise>TYPE:text</promise>`, where TYPE is one of:\n\n")
	for _, tag := range in.Tags {
		fmt.Fprintf(&b, "- %s: everything in the goal is done. The harness then runs the checks itself and decides; a claim that fails them is refused.\n", tag)
	}
	b.WriteString("- BLOCKED, with the reason as text: you cannot go on without a person (a missing credential, a service that is down).\n")
	b.WriteString("- DECIDE, with the question as text: you need a person's call between real alternatives.\n\n")
	b.WriteString("Report only what is true now. If work remains, print no tag and simply end; a fresh iteration goes on.")
	if in.StatusRequired {
		b.WriteString("\n\n" + statusBlock)
	}
	return b.String()
}

const statusBlock = `End every iteration with a status block in exactly this form, with one value chosen for each field. Without a valid one no claim is accepted:

---RALPH_STATUS---
STATUS: [IN_PROGRESS | COMPLETE | BLOCKED]
TASKS_COMPLETED_THIS_LOOP: [number]
FILES_MODIFIED: [number]
TESTS_STATUS: [PASSING | FAILING | NOT_RUN]
WORK_TYPE: [IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING]
EXIT_SIGNAL: [false | true]
RECOMMENDATION: [one line: the next step, or what was completed]
---END_RALPH_STATUS---`

func checks(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return "# Checks\n\nAfter you end, the harness runs these commands; all must exit 0:\n\n- `" + strings.Join(commands, "`\n- `") + "`"
}

func diagnose(why string) string {
	if why == "" {
		return ""
	}
	return fmt.Sprintf(`# Diagnosis only

The last iterations did not get anywhere: %s. Do not edit files in this iteration. Find out what keeps failing and why: reproduce it, read the
code and the output, and name the root cause and what would have to change. If a person is needed, report BLOCKED or DECIDE.`, why)
}

// failures is a part of its own kind: each output has a cap, the whole has none.
func failures(failed []Failure) (part Part, any bool) {
	var b strings.Builder
	b.WriteString("# Checks that failed last time")
	part.Name = "failed_checks"
	for _, f := range failed {
		output, cut := Cut(strings.TrimRight(f.Output, "\n"), checkCap)
		part.Truncated = part.Truncated || cut
		fmt.Fprintf(&b, "\n\n## `%s` (%s)\n\n%s", f.Name, f.How, quote(output))
	}
	part.Text = b.String()
	return part, len(failed) > 0
}

// quote indents output so that nothing in it can be taken for one of our headings.
func quote(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

func refusals(in Input) string {
	var lines []string
	if in.LastError != "" {
		lines = append(lines, "The last iteration did not end well: "+in.LastError+".")
	}
	if len(in.Refusals) > 0 {
		lines = append(lines, "The last claim of completion was refused:")
		for _, r := range in.Refusals {
			lines = append(lines, fmt.Sprintf("- %s: %s", r.Code, r.Detail))
		}
	}
	if in.GreenNoClaim {
		lines = append(lines, "The checks are green, but no claim was made. If everything in the goal is done, report it; if not, go on.")
	}
	if in.StatusProblem != "" {
		lines = append(lines, "The status block was not accepted: "+in.StatusProblem+".")
	}
	for _, m := range in.Mismatches {
		lines = append(lines, "What was reported differs from what was seen: "+m+".")
	}
	if len(in.Mentions) > 0 {
		lines = append(lines, "A tag stood in a sentence that talks about it, so it was not taken as a report: print the tag alone on its line.")
	}
	if len(lines) == 0 {
		return ""
	}
	return "# What happened last time\n\n" + strings.Join(lines, "\n")
}

func recommendation(text string) string {
	if text == "" {
		return ""
	}
	return "# Recommended by the last iteration\n\n" + quote(text)
}

// Cut shortens text to limit characters: 35 % from its head, 65 % from its tail, with a mark between.
func Cut(text string, limit int) (string, bool) {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text, false
	}
	runes := []rune(text)
	head := limit * 35 / 100
	tail := limit - head
	return fmt.Sprintf("%s\n[… %d characters cut …]\n%s", string(runes[:head]), len(runes)-head-tail, string(runes[len(runes)-tail:])), true
}
