package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/planner"
	"github.com/ralphloop/ralph/internal/term"
)

// planReport is the result of `ralph plan`.
type planReport struct {
	planner.Interview
	*planning
	File    string
	reason  ralph.StopReason // "" if there is a plan
	signal  ralph.Signal
	landing error // why the list could not be written
}

// planObject is what `ralph plan --json` prints. Unknown values are null.
type planObject struct {
	Status   string `json:"status"`
	ExitCode int    `json:"exit_code"`
	File     string `json:"file"` // "" if nothing was written
	planner.Plan
	Warnings   []string          `json:"warnings"`
	Questions  []planner.Asked   `json:"questions"`
	Unanswered *planner.Question `json:"unanswered"`
	planner.Spent
	Error      string     `json:"error"`
	Hint       string     `json:"hint"`
	RetryAfter ralph.Span `json:"retry_after"`
}

func (r planReport) object() planObject {
	o := planObject{
		Status:     string(r.Status),
		ExitCode:   r.code(),
		File:       r.File,
		Plan:       r.Plan,
		Warnings:   listed(r.warnings()),
		Questions:  listed(r.Asked),
		Unanswered: r.Question,
		Spent:      r.Spent,
		Error:      r.Error,
		Hint:       r.Hint,
		RetryAfter: r.RetryAfter,
	}
	o.Tasks, o.OpenQuestions = listed(o.Tasks), listed(o.OpenQuestions)
	o.Blockers, o.ScopeNotes = listed(o.Blockers), listed(o.ScopeNotes)
	if r.Question != nil && r.answers != nil {
		o.Error = r.whyUnanswered() + ": " + r.Question.Text
	}
	if r.landing != nil {
		o.Status, o.Error = "failed", r.landing.Error()
	}
	return o
}

func (r planReport) code() int {
	switch {
	case r.landing != nil:
		return exitCode(r.landing)
	case r.reason == "":
		return 0
	}
	return ralph.ExitCode(r.reason, r.signal)
}

// tell prints the result and returns the process status.
func (r planReport) tell() error {
	a := r.app
	if a.wantsJSON() {
		return cmp.Or(a.printOutcome(r.object()), r.status())
	}
	if !a.globals.quiet {
		fmt.Fprint(a.errLines(), r.screen())
	}
	if r.landing != nil {
		fmt.Fprint(a.streams.Out, r.Text) // the user paid for the list and can still save it
		return fmt.Errorf("%w; the list is printed on stdout instead", r.landing)
	}
	fmt.Fprintln(a.streams.Out, r.line())
	return r.status()
}

func (r planReport) status() error {
	if code := r.code(); code != 0 {
		return exitStatus(code)
	}
	return nil
}

// line returns the last line, the outcome in one sentence. Scripts may match its beginning.
func (r planReport) line() string {
	tasks := term.Count(len(r.Tasks), "task")
	switch {
	case r.reason == ralph.NeedsDecision && r.Question != nil:
		return "DECIDE: " + oneLine(r.Question.Text)
	case r.reason != "":
		return fmt.Sprintf("%s: %s", ralph.NameOf(r.reason), oneLine(r.Error))
	case r.planner.Existing() > 0:
		return fmt.Sprintf("wrote %s to %s, after %d existing ones", tasks, r.File, r.planner.Existing())
	}
	return fmt.Sprintf("wrote %s to %s", tasks, r.File)
}

func oneLine(text string) string { return strings.Join(strings.Fields(term.Clean(text)), " ") }

// screen returns the final summary for a person.
func (r planReport) screen() string {
	var b strings.Builder
	b.WriteString("\n")
	if r.reason == "" {
		r.writePlan(&b)
	} else {
		r.writeStop(&b)
	}
	row(&b, "Spent", r.spent())
	if r.reason == "" && r.landing == nil {
		r.writeNext(&b)
	}
	b.WriteString("\n")
	return b.String()
}

// row writes a label and its text.
func row(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "%-16s %s\n", name, indentedAfter(text, strings.Repeat(" ", 17)))
}

func rows(b *strings.Builder, name string, texts []string) {
	for _, text := range texts {
		row(b, name, text)
	}
}

func (r planReport) writePlan(b *strings.Builder) {
	if r.Overview != "" {
		fmt.Fprintf(b, "%s\n\n", indentedAfter(r.Overview, ""))
	}
	for _, t := range r.Tasks {
		fmt.Fprintf(b, "  %s  %s%s\n", t.ID, oneLine(t.Title), taskMarks(t))
		for _, check := range t.Checks {
			fmt.Fprintf(b, "      check: %s\n", indentedAfter(check, "             "))
		}
	}
	b.WriteString("\n")
	rows(b, "Open question", r.OpenQuestions)
	rows(b, "Blocker", r.Blockers)
	rows(b, "Scope", r.ScopeNotes)
	rows(b, "Warning", r.warnings())
}

// warnings returns the warnings about the plan that the model left as they are, and one for each
// unused answer of the answers file.
func (r planReport) warnings() []string {
	all := listed(r.Warnings)
	if r.answers == nil {
		return all
	}
	for _, key := range r.answers.Unused() {
		all = append(all, fmt.Sprintf("an answer in %s matched no question: %s", r.options.answers, key))
	}
	return all
}

func (r planReport) writeStop(b *strings.Builder) {
	if q := r.Question; q != nil {
		row(b, "Stopped because", "the planner has a question, and "+r.whyUnanswered()+"; nothing was written")
		row(b, "It asks", q.Text)
		for i, option := range q.Options {
			row(b, "", fmt.Sprintf("%d  %s", i+1, option))
		}
	} else {
		row(b, "Stopped because", r.Error)
	}
	for _, asked := range r.Asked {
		row(b, "Answered", asked.Text+"\n"+asked.Answer)
	}
	rows(b, "Warning", r.warnings())
	if r.reason == ralph.AuthError && r.Hint != "" {
		row(b, "What to do", r.Hint)
	} else if next := r.nextStep(); next != "" {
		row(b, "To continue", next)
	}
}

// whyUnanswered says why a question has no answer.
func (r planReport) whyUnanswered() string {
	if r.answers == nil {
		return "no one can answer here"
	}
	text := "no answer in " + r.options.answers + " matches it"
	switch unused := len(r.answers.Unused()); unused {
	case 0:
		return text
	case 1:
		return text + " (1 answer was not used)"
	default:
		return fmt.Sprintf("%s (%d answers were not used)", text, unused)
	}
}

// nextStep says how to continue after planning stopped.
func (r planReport) nextStep() string {
	switch r.reason {
	case ralph.NeedsDecision:
		return "run it again on a terminal, or with --answers FILE that contains these two lines:\n## " +
			oneLine(r.Question.Text) + "\nyour answer"
	case ralph.RateLimited:
		if r.RetryAfter > 0 {
			return "run it again in " + term.Clock(r.RetryAfter.Duration())
		}
		return "run it again later"
	case ralph.MaxCost:
		return "run it again with a higher --max-cost or --max-tokens, or a shorter brief"
	}
	return r.Hint
}

func (r planReport) spent() string {
	parts := []string{term.Count(r.Turns, "turn"), term.Seconds(r.Duration)}
	if r.Cost != nil {
		parts = append(parts, term.AtLeast(term.Money(*r.Cost, r.CostEstimated), r.CostPartial))
	}
	if r.Tokens != nil {
		parts = append(parts, term.AtLeast(fmt.Sprintf("%d tokens", r.Tokens.Total()), r.TokensPartial))
	}
	return strings.Join(parts, ", ")
}

func (r planReport) writeNext(b *strings.Builder) {
	which := ""
	if r.options.tasks != "" {
		which = " --tasks " + r.options.tasks
	}
	checks := 0
	for _, t := range r.Tasks {
		checks += len(t.Checks)
	}
	what := "work through the list"
	if checks > 0 {
		what += "; it asks you to trust the checks above first, because a model wrote them"
	}
	fmt.Fprintf(b, "\nNext\n  %-20s %s\n  %-20s %s\n", "ralph run"+which, what, "ralph tasks"+which, "show the list")
}
