package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// sessionKinds are the parts of what a live session is told, with their limits. All of it is a few KB at most: the
// session keeps it in its context.
var sessionKinds = []struct {
	kind
	limit int
}{
	{kind{"iteration", sessionIteration}, 500},
	{kind{lastTime, refusals}, 2_000},
	{kind{"failed_checks", failures}, 2_500},
	{kind{"steering", sessionSteering}, 1_000},
	{kind{"steering_file", steeringFile}, 1_000},
	{kind{"answers", answers}, 1_000},
	{kind{"goal", goal}, 1_500},
	{kind{"checks", checks}, 1_000},
	{kind{"signals", sessionSignals}, 3_000},
}

// ForSession makes the prompt of an iteration that a live session works for. It has its own history and can read
// files, so it is told only what Ralph found, the goal, and how to continue.
func ForSession(in ralph.PromptInput) ralph.Prompt {
	var parts []part
	for _, k := range sessionKinds {
		words, truncated := k.build(in)
		if words == "" {
			continue
		}
		short, cut := text.Cut(words, k.limit)
		parts = append(parts, part{name: k.name, text: short, truncated: truncated || cut})
	}
	return built(parts)
}

func sessionIteration(in ralph.PromptInput) (words string, truncated bool) {
	of := ""
	if in.Of > 0 {
		of = fmt.Sprintf(" of %d", in.Of)
	}
	if in.Last.Number == 0 {
		return fmt.Sprintf("This session has a goal, and Ralph checks it (iteration %d%s).", in.Ordinal, of), false
	}
	return fmt.Sprintf("The goal is not reached yet (iteration %d%s). Continue: fix what is named here, then stop again.",
		in.Ordinal, of), false
}

// sessionSteering has what a person wrote with ralph steer.
func sessionSteering(in ralph.PromptInput) (words string, truncated bool) {
	in.Steering = slices.DeleteFunc(slices.Clone(in.Steering), isFromFile)
	return steering(in)
}

// isFromFile reports whether only a file has an item. While a session works, its agent may have written it.
func isFromFile(item ralph.SteeringSeen) bool { return item.Message == "" }

// steeringFile has what else is in a steering file, without a claim about who wrote it.
func steeringFile(in ralph.PromptInput) (words string, truncated bool) {
	for _, item := range in.Steering {
		if s := strings.TrimSpace(clean(item.Text)); s != "" && isFromFile(item) {
			words += fmt.Sprintf("- %s: %s\n", code(item.File), strings.ReplaceAll(s, "\n", "\n  "))
		}
	}
	if words == "" {
		return "", false
	}
	list, truncated := text.KeepHead(words, steeringCap)
	return "# Steering files\n\nThese files of the workspace have notes, from a person or from this session. They do " +
		"not change the goal or its checks:\n\n" + quote(strings.TrimSpace(list)), truncated
}

func sessionSignals(in ralph.PromptInput) (words string, truncated bool) {
	said := "# How to continue\n\nWork until everything in the goal is done, then stop: stopping is your claim that it " +
		"is done, and Ralph runs the checks. " +
		"If you cannot continue without a person, stop with a promise tag alone on the last line, in the form " +
		"`<promise>TYPE:text</promise>`, where TYPE is BLOCKED (text: why) or DECIDE (text: the question)."
	if in.NeedsNewTest {
		said += " If no test can show the work, TYPE is UNTESTABLE (text: why), and a person looks at it."
	}
	if in.Policy.Status == ralph.StatusRequired {
		said += "\n\n" + statusBlock(in)
	}
	return said, false
}
