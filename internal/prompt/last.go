package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// failedShown is how many failed checks are shown with their output; more are counted.
const failedShown = 10

func diagnose(in ralph.PromptInput) (words string, truncated bool) {
	if in.Diagnose == "" {
		return "", false
	}
	return fmt.Sprintf(`# Diagnosis only

The last iterations made no progress: %s. Do not edit files in this iteration. Find out what keeps failing and `+
		`why: reproduce it, read the
code and the output, and name the root cause and what would have to change. If a person is needed, report BLOCKED `+
		`or DECIDE.`, inline(
		in.Diagnose,
	)), false
}

func failedHidden(c ralph.CheckResult) bool { return c.Hidden && c.Failed() }

func failures(in ralph.PromptInput) (words string, truncated bool) {
	var failed, broken []ralph.CheckResult
	for _, c := range in.Last.Failed {
		switch {
		case c.Hidden:
		case c.Broken:
			broken = append(broken, c)
		default:
			failed = append(failed, c)
		}
	}
	words, truncated = results("# Checks that failed last time", failed, in.Last.Number)
	unknown, short := results("# Checks that cannot run, so that nothing is known about the work", broken, in.Last.Number)
	return strings.Trim(words+"\n\n"+unknown, "\n"), truncated || short
}

// ChecksNow tells an agent how checks do on the files as they are while it works.
func ChecksNow(checks []ralph.CheckResult) string {
	var passed []string
	var failed []ralph.CheckResult
	for _, c := range checks {
		if c.Passed {
			passed = append(passed, code(c.FullName()))
		} else {
			failed = append(failed, c)
		}
	}
	var a account
	a.list("Checks that pass now:", passed)
	if words, _ := results("# Checks that do not pass now", failed, 1); words != "" {
		a.say("%s", words)
	}
	return strings.Join(a.paragraphs, "\n\n")
}

// results shows what checks printed. Number 0 is the baseline.
func results(heading string, checks []ralph.CheckResult, number int) (words string, truncated bool) {
	if len(checks) == 0 {
		return "", false
	}
	when := ""
	if number == 0 {
		when = ", before any agent started"
	}
	var b strings.Builder
	b.WriteString(heading)
	for i, c := range checks {
		if i == failedShown {
			fmt.Fprintf(&b, "\n\nSo did %d more checks.", len(checks)-i)
			truncated = true
			break
		}
		fmt.Fprintf(&b, "\n\n## %s (%s%s)", code(c.FullName()), c.HowFailed(), when)
		output, short := text.Cut(strings.TrimRight(clean(c.Output), "\n "), checkCap)
		truncated = truncated || short
		if output != "" {
			b.WriteString("\n\n" + quote(output))
		}
	}
	return b.String(), truncated
}

// account gathers the paragraphs of a part, each of which may be cut.
type account struct {
	paragraphs []string
	truncated  bool
}

func (a *account) say(format string, args ...any) {
	a.paragraphs = append(a.paragraphs, fmt.Sprintf(format, args...))
}

// list adds a sentence and, quoted below it, a list of items.
func (a *account) list(sentence string, items []string) {
	short, truncated := text.Cut(bullets(items), adviceCap)
	if short == "" {
		return
	}
	a.say("%s\n\n%s", sentence, quote(short))
	a.truncated = a.truncated || truncated
}

// under returns the paragraphs below a heading, or nothing if there are none.
func (a *account) under(heading string) (words string, truncated bool) {
	if len(a.paragraphs) == 0 {
		return "", false
	}
	return heading + "\n\n" + strings.Join(a.paragraphs, "\n\n"), a.truncated
}

// evidence adds what was restored or must be, that a hidden check failed, and what evaluators
// reject.
func (a *account) evidence(in ralph.PromptInput, failed, rejected string) {
	a.list("The task list was restored, because you may only tick off your task and add new ones:", in.Last.ListProblems)
	a.list("Protected files were changed. Checks see them as they were when the run began, and no claim is accepted "+
		"until you restore them and remove the added files:", in.Last.Tampered)
	a.list("Checks do not see these files, which were added where files are protected:", in.Last.Unseen)
	if slices.ContainsFunc(in.Last.Failed, failedHidden) {
		says := "the goal"
		if in.Task != nil {
			says = "your task"
		}
		a.say("A check that you cannot see %s. It tests only what %s says, so look there for what is missing.",
			failed, says)
	}
	a.list(rejected, rejections(in))
}

func refusals(in ralph.PromptInput) (words string, truncated bool) {
	var a account
	last := in.Last
	if last.Error != "" {
		a.say("The last iteration ended with a problem: %s.", inline(last.Error))
	}
	if last.Cut != "" {
		a.say("The last iteration was %s. What it did is in the files; continue where it stopped, in smaller steps.",
			inline(last.Cut))
	}
	a.list("Proven done in the last iteration:", last.Proven)
	sentence := "The last claim of completion was refused:"
	if allDone(in) {
		sentence = "The run cannot be completed:"
	}
	a.list(sentence, refused(last.Refusals))
	a.list("The claim for a task was refused:", text.Mapped(last.TaskRefusals, func(r ralph.TaskRefusal) string {
		return fmt.Sprintf("%s: %s: %s", inline(r.Task), r.Code, r.Detail)
	}))
	a.list("What the verifiers that you ran yourself showed last time, the newest call of each:",
		text.Mapped(last.Evidence, describeEvidence))
	a.evidence(in, "failed as well", "An evaluator, which sees the work but not you, rejected it:")
	switch {
	case last.WhyNoClaim != "" && !in.ByCase:
		a.say("The status block was not a claim: %s. A claim needs STATUS COMPLETE, EXIT_SIGNAL true and TESTS_STATUS "+
			"PASSING. Run the tests, and report what they show.", last.WhyNoClaim)
	case !last.GreenNoClaim || allDone(in):
	case in.ByCase, in.ByTools:
		a.say("The checks pass, but no case was submitted. If %s is done, submit one; if not, continue.", everything(in))
	default:
		a.say("The checks pass, but the last iteration did not print the tag %s. If %s is done, print it; if not, continue.",
			claimTag(in), everything(in))
	}
	if last.StatusProblem != "" {
		a.say("The status block was not accepted: %s.", inline(last.StatusProblem))
	}
	for i, m := range last.Mismatches {
		if i == failedShown {
			a.truncated = true
			break
		}
		a.say("The last report differs from what Ralph saw: %s.", inline(m))
	}
	if len(last.Mentions) > 0 {
		a.say("A tag was inside a sentence, so it did not count as a report: print the tag alone on its line.")
	}
	return a.under("# What happened last time")
}

// evidenceShown is how many characters of a verifier's output the prompt repeats.
const evidenceShown = 500

func describeEvidence(e ralph.ToolEvidence) string {
	state := map[ralph.EvidenceStatus]string{ralph.EvidencePass: "passed", ralph.EvidenceFail: "failed"}[e.Status]
	if e.Stale {
		state += ", but files changed afterwards"
	}
	output, _ := text.KeepTail(strings.TrimSpace(e.Output), evidenceShown)
	return strings.TrimSpace(e.Verifier + ": " + state + "\n" + output)
}

// CaseRefused answers a refused case: what failed, what is refused, and what a reviewer wants
// fixed. It has the limits of a prompt's parts. over means that the agent may not submit another
// case.
func CaseRefused(in ralph.PromptInput, over bool) string {
	var a account
	if over {
		a.say("The case is refused, and this was the last one: end here.")
	} else {
		a.say("The case is refused. Fix the problems below and submit again; all your changes are still there.")
	}
	why := refused(in.Last.Refusals)
	for _, r := range in.Last.TaskRefusals {
		why = append(why, r.Code+": "+r.Detail)
	}
	a.list("Why:", why)
	a.evidence(in, "failed", "The reviewer, who sees the work but not you, rejects it:")
	if failed, _ := failures(in); failed != "" {
		a.say("%s", strings.Replace(failed, "# Checks that failed last time", "# Checks that failed", 1))
	}
	return strings.Join(a.paragraphs, "\n\n")
}

func refused(refusals []ralph.Refusal) []string {
	return text.Mapped(refusals, func(r ralph.Refusal) string { return r.Code + ": " + r.Detail })
}

// rejections describes each rejection, with its evidence and the next step.
func rejections(in ralph.PromptInput) []string {
	var told []string
	for _, r := range in.Last.Rejections {
		words := string(r.Category)
		if r.Task != "" {
			words = inline(r.Task) + ": " + words
		}
		for _, known := range in.Ledger {
			if times := known.Counts[r.Category]; known.Task == r.Task && times > 1 {
				words += fmt.Sprintf(" (%d times by now)", times)
			}
		}
		words += ": " + r.Concern
		if r.Cached {
			words += "\nthe reviewer was not asked again: the files have not changed since this rejection, and a case is " +
				"judged by its files, not by its words"
		}
		if len(r.Evidence) > 0 {
			words += "\nseen at: " + strings.Join(r.Evidence, ", ")
		}
		if r.NextStep != "" {
			words += "\nnext step: " + r.NextStep
		}
		told = append(told, words)
	}
	return told
}

func recommendation(in ralph.PromptInput) (words string, truncated bool) {
	return section("# Recommended by the last iteration", in.Last.Recommendation, text.Cut, adviceCap)
}
