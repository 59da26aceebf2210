package evaluate

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// How much of each part the reviewer is shown, in characters.
const (
	nameLimit     = 300
	goalLimit     = 60_000
	criteriaLimit = 20_000
	diffLimit     = 60_000
	outputLimit   = 2_000
	outputsLimit  = 20_000 // of all checks together
	resultsLimit  = 100_000
	caseLimit     = 20_000
	maxChecks     = 50
	maxFiles      = 100
	maxVerdicts   = 5
)

//go:embed prompt.md
var promptText string

// part is a section of the prompt that is included if there is content for it.
type part struct{ name, text string }

// parts splits prompt.md: a line that begins with %% names the part that follows.
var parts = sync.OnceValue(func() []part {
	var all []part
	for line := range strings.Lines(promptText) {
		if name, ok := strings.CutPrefix(line, "%% "); ok {
			all = append(all, part{name: strings.TrimSpace(name)})
			continue
		}
		all[len(all)-1].text += line
	}
	return all
})

// buildPrompt writes the prompt. The same input gives the same text except for the two random
// words.
func buildPrompt(in ralph.EvaluationInput, s secret, before priorAnswers) string {
	fills := evidence(in, s)
	fills["who"] = []string{"boundary", s.boundary}
	fills["how"] = []string{"categories", categories()}
	fills["answer"] = []string{"nonce", s.nonce}
	if len(before.problems) > 0 {
		fills["again"] = []string{"data", s.quote("again", joinProblems(before.problems))}
	}
	if before.rejection != nil {
		fills["final"] = []string{"data", s.quote("concern", cmp.Or(before.rejection.Concern, "(it cannot be read)"))}
	}
	var b strings.Builder
	for _, p := range parts() {
		if fill, ok := fills[p.name]; ok {
			b.WriteString(fillTemplate(p.text, fill))
		}
	}
	return b.String()
}

// fillTemplate replaces placeholders with their values, all at once, so that placeholders inside a
// value are left alone.
func fillTemplate(text string, pairs []string) string {
	places := slices.Clone(pairs)
	for i := 0; i < len(places); i += 2 {
		places[i] = "{{" + places[i] + "}}"
	}
	return strings.NewReplacer(places...).Replace(text)
}

// evidence fills the parts that depend on the work.
func evidence(in ralph.EvaluationInput, s secret) map[string][]string {
	fills := map[string][]string{}
	data := func(part, content string, limit int, more ...string) bool {
		if strings.TrimSpace(content) == "" {
			return false
		}
		short, cut := text.Cut(sanitize(content), limit)
		fills[part] = append([]string{"data", s.quote(part, short)}, more...)
		return cut
	}
	if cut := data("task", goal(in), goalLimit); cut && in.GoalFile != "" {
		fills["taskcut"] = []string{"file", promise.OneLine(in.GoalFile, nameLimit)}
	}
	data("criteria", list(in.Criteria), criteriaLimit)
	if cut := data("diff", in.Diff, diffLimit); cut || in.DiffCut {
		fills["diffcut"] = nil
	}
	if strings.TrimSpace(in.Diff) == "" {
		delete(fills, "diffcut")
		fills["nodiff"] = nil
	}
	data("checks", checks(in.Checks), resultsLimit)
	if len(in.Checks) == 0 {
		fills["nochecks"] = nil
	}
	if len(in.Undone) > 0 {
		data("undone", list(oneLiners(text.Mapped(in.Undone, ralph.UndoneTask.String), maxFiles)), resultsLimit)
	}
	if t := in.TestChanges; t != nil && len(t.Aware) > 0 {
		data("aware", list(oneLiners(t.Aware, maxFiles)), resultsLimit)
	}
	if t := in.TestChanges; t != nil && len(t.Files) > 0 {
		old := "The original versions fail on this work; only the changed versions pass."
		switch {
		case t.OldPassed:
			old = "The original versions also pass on this work."
		case t.OldBroken():
			old = "The checks cannot run with the original versions; only the changed versions pass."
		}
		data("tests", testChanges(*t), resultsLimit, "old", old)
	}
	data("case", in.Case, caseLimit)
	data("ledger", ledger(in.Ledger), caseLimit)
	if again := recurring(in.Recurring); again != "" {
		fills["recurring"] = []string{"categories", again}
	}
	return fills
}

// quote puts text between two lines that cannot occur in it.
func (s secret) quote(name, text string) string {
	return fmt.Sprintf(
		"----- %s begins: %s -----\n%s\n----- %s ends: %s -----", s.boundary, name, strings.Trim(text, "\n"),
		s.boundary, name,
	)
}

func goal(in ralph.EvaluationInput) string {
	var lines []string
	switch {
	case in.Task != "" && in.Title != "":
		lines = append(lines, promise.OneLine(in.Task+": "+in.Title, nameLimit), "")
	case in.Task+in.Title != "":
		lines = append(lines, promise.OneLine(in.Task+in.Title, nameLimit), "")
	}
	return strings.Join(append(lines, in.Goal), "\n")
}

// list writes one item per line, each with a dash.
func list(items []string) string {
	var b strings.Builder
	for _, item := range items {
		if item = strings.TrimSpace(sanitize(item)); item != "" {
			b.WriteString("- " + strings.ReplaceAll(item, "\n", "\n  ") + "\n")
		}
	}
	return b.String()
}

// checkName returns a check's name. The command of a hidden check must not be shown, because the
// reviewer's answer reaches the worker.
func checkName(c ralph.CheckResult) string {
	if c.Hidden {
		return "a hidden check"
	}
	return promise.OneLine(c.Name, nameLimit)
}

// checks describes the result of each check and the end of its output.
func checks(results []ralph.CheckResult) string {
	var b strings.Builder
	room := outputsLimit
	for i, c := range results {
		if i == maxChecks {
			fmt.Fprintf(&b, "[… %d more checks …]\n", len(results)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", checkName(c), strings.Join(checkFacts(c), ", "))
		output := strings.Trim(sanitize(c.Output), "\n")
		if c.Hidden || strings.TrimSpace(output) == "" {
			continue
		}
		short, _ := text.Cut(output, min(outputLimit, max(room, 1)))
		room -= len(short)
		b.WriteString("  the end of its output:\n    " + strings.ReplaceAll(short, "\n", "\n    ") + "\n")
	}
	return b.String()
}

// checkFacts lists what is known about one result, most important first.
func checkFacts(c ralph.CheckResult) []string {
	facts := []string{"failed"}
	switch {
	case c.Passed:
		facts[0] = "passed"
	case c.Broken:
		facts[0] = "could not run"
	}
	say := func(when bool, format string, args ...any) {
		if when {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	say(true, "exit status %d", c.ExitCode)
	say(c.TimedOut, "timed out")
	say(c.Duration > 0, "took %s", time.Duration(c.Duration).Round(time.Millisecond))
	say(c.Isolation == "inplace", "run in the workspace itself")
	say(c.Isolation != "" && c.Isolation != "inplace", "run in isolation (%s)", c.Isolation)
	say(c.NeedsAccess != "", "less isolated than usual, because it also failed in isolation before the work")
	say(c.Attribution != "", "compared with before the work: %s", c.Attribution)
	say(c.Flaked, "failed and passed on the same files, in %d attempts", c.Attempts)
	if p := c.Proof; p != nil {
		say(p.Canary == ralph.CanaryRed, "a planted failing test made it fail")
		say(p.Canary == ralph.CanaryGreen, "it passed despite a planted failing test")
		say(p.Canary == ralph.CanaryMute || p.Canary == ralph.CanaryNone, "unknown whether it can fail")
		say(p.Tests > 0, "%d tests ran", p.Tests)
		say(
			p.Lost > 0 && !c.Hidden, "%d tests that ran before did not run: %s", p.Lost,
			promise.OneLine(strings.Join(p.Missing, ", "), nameLimit),
		)
	}
	return facts
}

func testChanges(t ralph.BaseTestsRun) string {
	names := oneLiners(t.Files, maxFiles)
	text := "Changed:\n" + list(names)
	if more := len(t.Files) - len(names); more > 0 {
		text += fmt.Sprintf("[… %d more files …]\n", more)
	}
	if len(t.Old) > 0 {
		text += "With the original tests:\n" + checks(t.Old)
	}
	return text
}

// oneLiners returns the first few texts, each as one line.
func oneLiners(texts []string, most int) []string {
	var all []string
	for _, text := range texts[:min(len(texts), most)] {
		all = append(all, promise.OneLine(text, nameLimit))
	}
	return all
}

// ledger lists the last verdicts. Calls without a verdict, and unusable answers, say nothing about
// the work.
func ledger(all []ralph.Evaluation) string {
	told := slices.DeleteFunc(slices.Clone(all), func(e ralph.Evaluation) bool {
		return e.End != ralph.EndOK && e.End != "" || e.NoVerdict()
	})
	var lines []string
	for _, e := range told[max(len(told)-maxVerdicts, 0):] {
		line := "accepted" + pointers(e.Evidence)
		if !e.Accepted {
			line = fmt.Sprintf(
				"rejected%s: %s%s\nNext step: %s", asCategory(e.Category), promise.OneLine(e.Concern, concernLimit),
				pointers(e.Evidence), promise.OneLine(e.NextStep, nextStepLimit),
			)
		}
		lines = append(lines, line)
	}
	return list(lines)
}

// asCategory leaves out a category that a reviewer cannot choose.
func asCategory(r ralph.Rejection) string {
	if r == ralph.RejectedInvalid {
		return ""
	}
	return " as " + string(r)
}

func pointers(evidence []string) string {
	if len(evidence) == 0 {
		return ""
	}
	return " (" + promise.OneLine(strings.Join(evidence[:min(len(evidence), maxPointers)], ", "), nameLimit) + ")"
}

// recurring names the categories that occurred more than once, the most frequent first.
func recurring(counts map[ralph.Rejection]int) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(r ralph.Rejection) bool {
		return counts[r] < 2 || !slices.Contains(ralph.Rejections(), r)
	})
	slices.SortStableFunc(names, func(a, b ralph.Rejection) int { return counts[b] - counts[a] })
	said := make([]string, 0, len(names))
	for _, r := range names {
		said = append(said, fmt.Sprintf("%s (%d times)", r, counts[r]))
	}
	return strings.Join(said, ", ")
}

// meanings explains each category.
var meanings = map[ralph.Rejection]string{
	ralph.RejectedScope:    "the work does more than was asked, or changes what it should not touch.",
	ralph.RejectedGap:      "a criterion, or a part of what was asked, is not met.",
	ralph.RejectedWeakTest: "a test was weakened, deleted or skipped, or a new one would pass regardless of the code.",
	ralph.RejectedWrong: "the checks pass, but the behavior is wrong, for example answers that are " +
		"hard-coded for the tests.",
	ralph.RejectedHalf: "stubs, placeholders, dead ends, or a part that is announced but missing.",
	ralph.RejectedSpec: "the work breaks a rule that the task or the repository sets.",
}

func categories() string {
	var lines []string
	for _, r := range ralph.Rejections() {
		lines = append(lines, fmt.Sprintf("- %s: %s", r, meanings[r]))
	}
	return strings.Join(lines, "\n")
}

// sanitize repairs the encoding of a text and removes control characters. Invisible marks, such as
// those that change the writing direction, are shown as code points, because they can make code
// look like something else.
func sanitize(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte('\n')
		case unicode.IsControl(r):
		case unicode.Is(unicode.Cf, r):
			fmt.Fprintf(&b, "<%U>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
