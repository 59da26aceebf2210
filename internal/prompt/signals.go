package prompt

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

const decides = "Ralph then runs the checks itself and decides; a claim that fails them is refused."

// signals explains the tags without writing one that would count: the form is in a code span, with
// words in place of the type.
func signals(in ralph.PromptInput) (words string, truncated bool) {
	if in.ByCase {
		return caseSignals(in), false
	}
	var b strings.Builder
	b.WriteString("# How to report\n\n" + tools(in) + " promise tag alone on a line, in the form " +
		"`<promise>TYPE</promise>` or `<promise>TYPE:text</promise>`, where TYPE is one of:\n\n")
	claims, truncated := text.Cut(claims(in), adviceCap)
	b.WriteString(claims)
	b.WriteString("- BLOCKED, with the reason as text: you cannot continue without a person (a missing credential, a " +
		"service that is down).\n")
	b.WriteString("- DECIDE, with the question as text: you need a person's call between real alternatives. Name the " +
		"options.\n")
	if in.NeedsNewTest {
		b.WriteString("- UNTESTABLE, with the reason as text: the work is done, and no test can show it. A person will " +
			"look at it.\n")
	}
	b.WriteString("\n" + verifierRule(in))
	nothing := "print no tag"
	if in.ByTools {
		nothing = "claim nothing"
	}
	b.WriteString("Report only what is true now. If work remains, " + nothing + " and simply end; a fresh iteration " +
		"continues.\n")
	switch {
	case in.Task != nil:
		b.WriteString(
			"When every task in the list is proven, Ralph ends the run; the list as a whole needs no claim.\n",
		)
	case allDone(in):
		b.WriteString("Every task is already proven and needs no claim: Ralph judges the run again after this " +
			"iteration.\n")
	}
	if in.Policy.KeepAnswer {
		b.WriteString("\n" + lastMessage + "\n")
	}
	b.WriteString("\n" + handOn)
	if in.Policy.Status == ralph.StatusRequired {
		b.WriteString("\n\n" + statusBlock(in))
	}
	return b.String(), truncated
}

// tools names the tools of an agent that has them, before the tags. It ends in the middle of a sentence
// about tags.
func tools(in ralph.PromptInput) string {
	if !in.ByTools {
		return "A report is a"
	}
	var b strings.Builder
	b.WriteString("Report with the tools of the MCP server `ralph`:\n\n")
	if !allDone(in) {
		fmt.Fprintf(&b, "- submit_case: %s is done, with reasons. Ralph answers what would refuse the claim now.%s\n",
			everything(in), untestable(in))
	}
	if in.Task != nil {
		b.WriteString("- task_done: one task of the list is done, if you have nothing to explain.\n")
	}
	b.WriteString("- blocked, decide: you need a person, to continue or to choose. End your work after the call.\n" +
		"- propose_learning: what every later iteration should know about this project.\n")
	if in.Policy.Status == ralph.StatusRequired {
		b.WriteString("- report_status: the status block below, before you end.\n")
	}
	b.WriteString("- next_task, run_checks: what to do now; how the checks that Ralph runs do on your files now.\n\n" +
		"If one of these tools is missing or fails, print a")
	return b.String()
}

// caseSignals is for an agent that claims with a tool.
func caseSignals(in ralph.PromptInput) string {
	what := everything(in)
	if allDone(in) {
		what = "what is missing"
	}
	return fmt.Sprintf("# How to report\n\nWhen %s is done, call submit_case. Ralph then runs the checks itself, "+
		"may ask a reviewer who sees the work but not you, and answers the\n"+
		"call: accepted, or what to fix. Only an accepted case ends your work; text does not."+untestable(in)+"\n\n"+
		"If you cannot continue without a person, print a promise tag alone on a line and end, in the form "+
		"`<promise>TYPE:text</promise>`, where TYPE is one of:\n\n"+
		"- BLOCKED, with the reason as text: something is missing that only a person can give (a credential, a service "+
		"that is down).\n- DECIDE, with the question as text: you need a person's call between real alternatives. Name "+
		"the options.\n\n", what) + verifierRule(in) + caseAnswer(in) + handOn
}

// verifierRule names the tools that the agent must call before a claim.
func verifierRule(in ralph.PromptInput) string {
	if len(in.Policy.VerifierTools) == 0 {
		return ""
	}
	names, _ := text.Cut(strings.Join(text.Mapped(in.Policy.VerifierTools, code), ", "), adviceCap)
	return "Before you claim, verify the result with one of these tools, after your last change: " + names +
		". A claim without a call\nthat succeeded is refused.\n\n"
}

func caseAnswer(in ralph.PromptInput) string {
	if !in.Policy.KeepAnswer {
		return ""
	}
	return "The summary of your case is your answer: people read it, and checks may. If the goal asks for one, put all " +
		"of it\nthere.\n\n"
}

func untestable(in ralph.PromptInput) string {
	if !in.NeedsNewTest {
		return ""
	}
	return " If no test can\nshow the work, say why in the field untestable; a person will look at it."
}

// everything describes what must be done before a claim.
func everything(in ralph.PromptInput) string {
	if in.Task != nil {
		return "everything that your task asks for"
	}
	return "everything in the goal"
}

// claimTag is the tag that claims completion, as in `COMPLETE`.
func claimTag(in ralph.PromptInput) string {
	switch {
	case in.Task != nil:
		return code(in.Task.ID + ":DONE")
	case len(in.Policy.CompletionTags) > 0:
		return code(in.Policy.CompletionTags[0])
	}
	return code("COMPLETE")
}

// claims describes the tags that claim completion of the task or of the goal.
func claims(in ralph.PromptInput) string {
	if in.Task != nil {
		return fmt.Sprintf(
			"- %s (the id of your task, a colon, the word DONE): your task is done, with everything that it asks for. %s\n",
			code(in.Task.ID+":DONE"),
			decides,
		)
	}
	if allDone(in) || len(in.Policy.CompletionTags) == 0 {
		return ""
	}
	tags := strings.Join(text.Mapped(in.Policy.CompletionTags, code), " or ")
	return fmt.Sprintf("- %s: everything in the goal is done. %s\n", tags, decides)
}

const lastMessage = "Your last message is your answer: people read it, and checks may. If the goal asks for one, " +
	"put all of it there,\nabove the tag."

const handOn = "If you learned something about this project that every later iteration should know (how to build " +
	"it, a trap), write it on one line that begins with\nthe word LEARNING in capitals and a colon."

func statusBlock(in ralph.PromptInput) string {
	whole := ""
	if in.Task != nil || allDone(in) {
		whole = " STATUS is COMPLETE and EXIT_SIGNAL\nis true only when no task of the whole list is left."
	}
	return fmt.Sprintf(
		`End every iteration with a status block in exactly this form, with one value chosen for each field. Without a `+
			`valid one no claim is accepted.%s

---RALPH_STATUS---
STATUS: [IN_PROGRESS | COMPLETE | BLOCKED]
TASKS_COMPLETED_THIS_LOOP: [number]
FILES_MODIFIED: [number]
TESTS_STATUS: [PASSING | FAILING | NOT_RUN]
WORK_TYPE: [IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING]
EXIT_SIGNAL: [false | true]
RECOMMENDATION: [one line, see below]
---END_RALPH_STATUS---

%s`,
		whole, statusWording(in.Policy),
	)
}

// statusWording says how to word RECOMMENDATION, and which phrases the status gate counts. They are
// in code spans, so that an agent that repeats a line says none of them.
func statusWording(p ralph.Policy) string {
	phrases, complete := p.StatusPhrases, "completion phrases and a summary"
	if promise.AreDefaultPhrases(phrases) {
		phrases = promise.DefaultPhrases()
		complete = "`All tasks complete, " + promise.BlockPhrase + ", [summary]`"
	}
	var b strings.Builder
	b.WriteString("Word RECOMMENDATION by STATUS:\n\n" +
		"- IN_PROGRESS: `Next: [the next step]`\n" +
		"- COMPLETE: " + complete + "\n" +
		"- BLOCKED: `Blocked: [what blocks you]`\n\n" +
		"COMPLETE is a claim only with EXIT_SIGNAL true and TESTS_STATUS PASSING.")
	if p.StatusMin > 0 {
		names, _ := text.Cut(strings.Join(text.Mapped(phrases, code), ", "), adviceCap)
		fmt.Fprintf(&b, " It is accepted only if your text of this\nand the four iterations before, or the RECOMMENDATION "+
			"of a COMPLETE block, says at least %s\nwithout a negation or a condition: %s.",
			text.Count(p.StatusMin, "completion phrase"), names)
	}
	return b.String()
}
