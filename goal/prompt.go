package goal

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

const (
	commandName = "goal"
	// commandTemplate is what the agent reads instead of the slash command.
	commandTemplate = `Goal: {{args}}

Work in this cycle: Plan -> Act -> Verify -> Reflect -> Retry.
1. Plan: decide what must be true when the goal is reached, and which verifier shows it.
2. Act: do the work.
3. Verify: run the strongest verifier that applies, such as the tests. Inspect a user interface in a browser.
4. Reflect: read what the verifier reported, and find the cause of a failure.
5. Retry: fix the cause and verify again.

Write <promise>DONE</promise> on a line of its own only after the verifier passed and you changed nothing since.`

	// ruleStart is how a system message shows that it has the rule already.
	ruleStart = "Ralph Loop completion rule:"
	// continuationStart is how a continuation prompt begins.
	continuationStart = "Ralph Loop: continuation "

	maxNote  = 1200 // characters of an answer in the summary
	markRoom = 48   // for the mark between two parts of a text that was cut
)

// withRule appends the rule of completion, unless the system message has it.
func (m *Middleware) withRule(system string) string {
	if strings.Contains(system, ruleStart) {
		return system
	}
	rule := ruleStart + " end your final answer with <promise>DONE</promise> on a line of its own if the goal is reached"
	if !m.AllowUnverified {
		rule += ", and only after the verifier passed (" + m.whatVerifies() + ") and nothing changed since"
	}
	rule += ". The tag alone proves nothing. If you cannot continue without a person, write " +
		"<promise>BLOCKED: the reason</promise> instead."
	if system == "" {
		return rule
	}
	return system + "\n\n" + rule
}

// whatVerifies names the verifiers for the agent.
func (m *Middleware) whatVerifies() string {
	names := text.Mapped(m.rules.Commands, func(command string) string { return "`" + command + "`" })
	if len(names) == 0 {
		names = text.Mapped(m.rules.Tools, func(tool string) string { return "the tool " + tool })
	}
	return strings.Join(names, ", ")
}

// continuation returns the prompt of the current iteration, with the images and files of the objective.
func (s *State) continuation() Message {
	return Message{Role: User, Parts: s.OriginalHumanContent.withText(s.Continuation)}
}

// prompt returns the continuation prompt, which replaces the history.
func (m *Middleware) prompt(s *State, why judge.GoalVerdict) string {
	sections := []string{
		fmt.Sprintf(continuationStart+"%d of %d (run %s)", s.Iteration, m.MaxIterations, s.RunID),
		fmt.Sprintf("# Why you continue\n%s: %s.", why.Reason, why.Detail),
		"# Objective\n" + s.OriginalTaskText,
		"# What happened so far\n" + s.RuntimeSummary,
		"# Last evidence\n" + s.lastEvidence(),
		"# What to do now\n" + m.nextStep(why.Reason),
	}
	if m.VerifierInstructions != "" {
		sections = append(sections, "# How to verify\n"+m.VerifierInstructions)
	}
	return strings.Join(sections, "\n\n")
}

// nextStep says what the agent is expected to do.
func (m *Middleware) nextStep(why judge.GoalReason) string {
	step := "Continue the work, and verify it."
	switch why {
	case judge.GoalMissing:
		step = "Run the verifier: " + m.whatVerifies() + ". Run a command exactly as it is written here."
	case judge.GoalFailed:
		step = "Find the cause of the failure and fix it. Then verify again."
	case judge.GoalStale:
		step = "Verify again: the evidence is from before the last change."
	case judge.GoalContradiction:
		step = "Find out which of your two statements is true."
	}
	return step + " Plan -> Act -> Verify -> Reflect -> Retry. The files are as you left them; the earlier " +
		"conversation is gone.\nWrite <promise>DONE</promise> on a line of its own only when the goal is reached and " +
		"verified. If you cannot continue without a person, write <promise>BLOCKED: the reason</promise>."
}

// lastEvidence describes the newest evidence. The output is indented, so that it cannot pass for a section.
func (s *State) lastEvidence() string {
	e := s.LastVerifier
	if e == nil {
		return "None."
	}
	what := e.ToolName
	if e.Command != "" {
		what += " `" + text.OneLine(e.Command) + "`"
	}
	head := fmt.Sprintf("%s: %s, observed %s", what, e.Status, e.ObservedAt.UTC().Format(time.RFC3339))
	if strings.TrimSpace(e.Content) == "" {
		return head + ", no output"
	}
	return head + "\n    " + strings.ReplaceAll(strings.TrimRight(e.Content, "\n"), "\n", "\n    ")
}

// summary adds an answer to the runtime summary.
func (m *Middleware) summary(s *State, answer string, why judge.GoalVerdict) string {
	note := compact(withoutMarker(answer), min(maxNote, m.MaxRuntimeSummaryChars))
	entry := fmt.Sprintf("Your answer %d, refused for %s:\n%s", s.Iteration+1, why.Reason, note)
	return m.compact(strings.TrimSpace(s.RuntimeSummary + "\n\n" + entry))
}

// compact limits a text that goes into a prompt.
func (m *Middleware) compact(s string) string { return compact(s, m.MaxRuntimeSummaryChars) }

// compact shortens a text to at most limit characters: 35 % from its start, 65 % from its end.
func compact(s string, limit int) string {
	if short, isCut := text.Cut(s, limit); !isCut {
		return short
	}
	short, _ := text.Cut(s, limit-markRoom)
	return short
}

// notice tells the reader of the last answer why the goal is not completed.
func (m *Middleware) notice(s *State, why judge.GoalVerdict) string {
	head := fmt.Sprintf("Ralph Loop stopped: %s.", why.Detail)
	if why.Status == judge.GoalExhausted {
		head = fmt.Sprintf("Ralph Loop stopped after %s, which is the limit. The goal is not proven: %s.",
			text.Count(m.MaxIterations, "continuation"), why.Detail)
	}
	return head + "\nLast evidence: " + s.lastEvidence()
}

// Tags, with the emphasis around them, and how one begins.
var (
	tagText   = regexp.MustCompile("(?is)[*_`]*<promise>.*?</promise>[*_`]*")
	tagOpener = regexp.MustCompile("(?i)[*_`]*<promise>")
	tagBound  = regexp.MustCompile("(?i)<(/?)promise>")
)

// read returns what the agent says in an answer. The marker may be in any case.
func read(answer string) promise.Report {
	return promise.Parse(tagBound.ReplaceAllString(answer, "<${1}promise>"), promise.Options{})
}

// withoutMarker removes every tag that claims completion, also one that the removal of another puts together.
func withoutMarker(answer string) string {
	for {
		shorter := tagText.ReplaceAllStringFunc(answer, func(found string) string {
			openers := tagOpener.FindAllStringIndex(found, -1)
			begin := openers[len(openers)-1][0] // a tag begins at the last opener
			if read(found[begin:]).CompleteTag != "" {
				return found[:begin]
			}
			return found
		})
		if shorter == answer {
			return strings.TrimSpace(answer)
		}
		answer = shorter
	}
}
