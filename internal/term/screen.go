package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// ResultLine is the last line of a run: its outcome in one sentence. Scripts may match its
// beginning.
func ResultLine(s *fold.State) string {
	stopped := s.Stopped
	name := ralph.NameOf(stopped.Reason)
	line := fmt.Sprintf("%s %s: %s", name, progressText(s), Clean(detail(s)))
	if stopped.Status == ralph.StatusExhausted && !s.Started.Demo {
		line += "; to continue: " + NextCommand(s)
	}
	if s.Started.Demo {
		return "DEMO: " + line
	}
	return line
}

// progressText says how far the run came.
func progressText(s *fold.State) string {
	n, of := s.History.Counted, s.Policy.MaxIterations
	if s.History.Started == 0 {
		return "before iteration 1"
	}
	switch s.Stopped.ExitCode {
	case 0, 1, 10, 11:
		if of > 0 {
			return fmt.Sprintf("after %d of %s", n, Count(of, "iteration"))
		}
		return "after " + Count(n, "iteration")
	}
	if cut := len(s.Iterations) == 0 || s.Phase != fold.PhaseNone; cut || !s.Iterations[len(s.Iterations)-1].Counted {
		n++
	}
	if of > 0 {
		return fmt.Sprintf("at iteration %d of %d", n, of)
	}
	return fmt.Sprintf("at iteration %d", n)
}

func detail(s *fold.State) string {
	stopped := s.Stopped
	switch stopped.Reason {
	case ralph.Blocked:
		return cmp.Or(stopped.Detail, "the agent gave no reason")
	case ralph.NeedsDecision:
		return cmp.Or(stopped.Detail, "the agent asked no question")
	case ralph.AllChecksPassed:
		return proofLine(s)
	case ralph.Unverified:
		return "unverified: " + stopped.Detail
	}
	return stopped.Detail
}

// stopText returns the detail of the stop for a reader who has not seen the name of the exit code
// yet.
func stopText(s *fold.State) string {
	switch s.Stopped.Reason {
	case ralph.Blocked:
		if s.History.Moment.Blocked != "" {
			return "a hook blocked it: " + detail(s)
		}
		if s.Verdict.BlockedByBreaker() {
			return detail(s)
		}
		return "the agent is blocked: " + detail(s)
	case ralph.NeedsDecision:
		return "the agent asks for a decision: " + detail(s)
	case ralph.Unconfirmed:
		if n := len(s.Iterations); n > 0 && len(s.Iterations[n-1].CheckResults) == 0 {
			return "the work is claimed, but a person must decide: " + detail(s)
		}
		return "the work is claimed and the checks pass, but a person must decide: " + detail(s)
	}
	return detail(s)
}

func proofLine(s *fold.State) string {
	n := 0
	if k := len(s.Iterations); k > 0 {
		n = len(s.Iterations[k-1].CheckResults)
	}
	switch s.Stopped.Proof {
	case ralph.ProvenAccepted:
		return Clean(showingText(s))
	case ralph.ProvenUnbroken:
		return Count(n, "check") + " passed before and after (proof: unbroken)"
	case ralph.ProvenNone:
		return Count(n, "passing check") + ", but nothing shows the work"
	}
	return "the claim is proven by " + Count(n, "passing check")
}

// showingText says why the goal counts as shown.
func showingText(s *fold.State) string {
	if shown := s.Verdict.Shown; len(shown) > 0 {
		return judge.DescribeShowing(shown[0])
	}
	return "nothing shows it"
}

// completedProof says how far exit 0 proves the work, beginning with the word of the result.
func completedProof(s *fold.State) string {
	word := s.Stopped.Proof
	what := showingText(s)
	if len(s.History.Tasks) > 0 {
		what = taskProofs(s)
	}
	if word == ralph.ProvenWorkspace {
		what += " (checks ran in the workspace itself)"
	}
	return string(word) + ": " + Clean(what)
}

func weakenedTests(s *fold.State) bool {
	tests := s.History.Now.BaseTests
	return tests != nil && len(tests.Files) > 0 && !tests.OldPassed
}

// taskProofs counts how the tasks of the list were proven.
func taskProofs(s *fold.State) string {
	count := map[ralph.ProofWord]int{}
	for _, t := range s.History.Tasks {
		if t.Status == ralph.TaskDone {
			count[t.Proven]++
		}
	}
	var parts []string
	for _, kind := range []struct {
		word ralph.ProofWord
		text string
	}{
		{ralph.ProvenShown, "shown by checks, tests or the evaluator"},
		{ralph.ProvenWorkspace, "shown in the workspace itself"},
		{ralph.ProvenAccepted, "accepted by a person"},
		{ralph.ProvenUnbroken, "unbroken, as asked for"},
		{ralph.ProvenReported, "reported by the agent's own tools"},
		{ralph.ProvenNone, "not shown"},
		{"", "done before this run"},
	} {
		if n := count[kind.word]; n > 0 {
			parts = append(parts, Count(n, "task")+" "+kind.text)
		}
	}
	return strings.Join(parts, ", ")
}

// Screen is the summary that a person sees at the end: why the run stopped, what changed, what was
// proven, what was spent, and how to continue. It wraps at width columns; 0 means no wrapping.
func Screen(s *fold.State, style Style, width int) string {
	b := &screen{style: style, width: width}
	b.text.WriteString("\n")
	if s.Started.Demo {
		const demo = "DEMO: a scripted agent on a sample project; no model was called, nothing spent."
		b.text.WriteString(style.Yellow(demo) + "\n")
	}
	b.row("Stopped because", Clean(stopText(s)))
	b.refusal(s)
	b.answer(s)
	if s.Stopped.Changed != "" {
		b.row("What changed", Clean(s.Stopped.Changed))
	}
	b.row("What was proven", proofText(s))
	if s.Tests != nil {
		b.row("Tests first", Clean(s.Tests.String()))
	}
	if len(s.History.Tasks) > 0 {
		b.row("Tasks", Tasks(s))
	}
	for _, asked := range fold.OpenQuestions(s) {
		if asked.Task != "" {
			b.row("Question", Clean(asked.Task+" asks: "+asked.Text))
		}
	}
	b.row("Spent", spent(s))
	if n := len(s.Steering); n > 0 {
		b.row("Steering", Count(n, "item")+" still in "+Clean(s.Steering[n-1].File))
	}
	if canUndo(s) {
		b.row("See it, undo it", fmt.Sprintf("ralph diff %s; ralph restore %s 0", s.Run, s.Run))
	}
	for _, kept := range s.Stashed {
		b.row("Stashed", fmt.Sprintf("work on %s: ralph diff %s --task %s", kept.Task, s.Run, kept.Task))
	}
	b.proof(s)
	b.worktree(s)
	b.denied(s)
	if lacksClaim(s) && s.Stopped.Status != ralph.StatusCompleted {
		b.row("Claim missing", noClaim(s)+"; use "+acceptChecksAlone(s)+" to accept passing checks alone (in a new run)")
	}
	b.hints(s)
	b.untestable(s)
	if s.Stopped.Hint != "" {
		b.row("What to do", Clean(s.Stopped.Hint))
	}
	if next := NextCommand(s); next != "" {
		b.row("To continue", next+OtherWays(s))
	}
	b.row("Details", explain(s))
	b.text.WriteString("\n")
	return b.text.String()
}

// refusal shows why the last claim was refused, if that is not why the run stopped.
func (b *screen) refusal(s *fold.State) {
	refusals := s.Verdict.Refusals()
	if len(refusals) == 0 || s.Stopped.Status == ralph.StatusCompleted || s.Stopped.Reason == ralph.Unconfirmed {
		return
	}
	more := ""
	if n := len(refusals) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	b.row("Refused because", refusals[0].Code+": "+Clean(refusals[0].Detail)+more)
}

// answer shows the answer of a completed run, or its beginning.
func (b *screen) answer(s *fold.State) {
	if s.Stopped.Status != ralph.StatusCompleted || s.History.Now.Agent.Answer == "" {
		return
	}
	const most = 4000 // characters
	answer, cut := text.KeepHead(s.History.Now.Agent.Answer, most)
	lines := strings.Split(answer, "\n")
	if cut {
		lines = append(lines, "all of it: ralph status "+s.Run+" --jq .answer")
	}
	for i, line := range lines {
		name := ""
		if i == 0 {
			name = "Answer"
		}
		b.row(name, Clean(line))
	}
}

// hints repeats what may keep the last checks of an incomplete run from passing. A resume keeps the settings.
func (b *screen) hints(s *fold.State) {
	if s.Stopped.Status == ralph.StatusCompleted {
		return
	}
	var shown []string
	for _, check := range LastChecks(s) {
		for _, hint := range check.Hints {
			if slices.Contains(shown, hint) {
				continue
			}
			shown = append(shown, hint)
			if strings.Contains(hint, "--set") {
				hint += inSession(s, " (start a new run with it; ralph resume keeps the settings)")
			}
			b.row("Hint", Clean(hint))
		}
	}
}

// untestable shows why the agent says that no test can show what a person must decide.
func (b *screen) untestable(s *fold.State) {
	for _, id := range judge.Acceptable(s.Policy, s.History, s.Verdict) {
		if why, said := s.Untestable[id]; said && s.Stopped.Status != ralph.StatusCompleted {
			b.row("The agent says", "no test can show "+cmp.Or(id, "it")+reasonOf(Clean(why)))
		}
	}
}

// screen is made of rows, each with a label and a text.
type screen struct {
	style Style
	width int // of the terminal, 0 if there is none
	text  strings.Builder
}

// row writes a label and a text. If the screen has a width, it wraps the text after the label.
func (b *screen) row(name, words string) {
	const indent = 17
	lines := []string{words}
	if b.width > 2*indent {
		lines = text.Wrap(words, b.width-indent)
	}
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(&b.text, "%s %s\n", b.style.Dim(fmt.Sprintf("%-*s", indent-1, name)), line)
	}
}

// lacksClaim reports whether the checks of the last iteration passed and only the agent's claim is missing.
func lacksClaim(s *fold.State) bool {
	n := len(s.Iterations)
	return s.Last.GreenNoClaim && n > 0 && len(s.Iterations[n-1].CheckResults) > 0
}

// acceptChecksAlone returns the flags with which this run would have ended with 0 without a claim.
func acceptChecksAlone(s *fold.State) string {
	if judge.NeedsNewTest(s.Policy, s.History, s.History.Now.Task) {
		return "--set gate.claim=optional --proof unbroken"
	}
	return "--set gate.claim=optional"
}

// noClaim says that the checks pass and only the agent's claim is missing.
func noClaim(s *fold.State) string {
	tag := "COMPLETE"
	if tags := s.Policy.CompletionTags; len(tags) > 0 {
		tag = tags[0]
	}
	if task := s.History.Now.Task; task != "" {
		tag = task + ":DONE"
	}
	if len(s.Last.Mentions) > 0 {
		return "checks pass, but the agent printed its tag inside a sentence; a tag counts only alone on its line"
	}
	if why := s.Last.WhyNoClaim; why != "" {
		return "checks pass, but the agent's status block is not a claim: " + why
	}
	return fmt.Sprintf("checks pass, but the agent did not print <promise>%s</promise>", tag)
}

// denied shows what the last agent of an incomplete run was not allowed to do. Allowing it takes a
// new run, because a resume keeps the permissions.
func (b *screen) denied(s *fold.State) {
	if len(s.Iterations) == 0 || s.Stopped.Status == ralph.StatusCompleted {
		return
	}
	last := s.Iterations[len(s.Iterations)-1]
	if len(last.Denials) > 0 {
		b.row("Denied", Clean(strings.Join(last.Denials, "; ")))
	}
	for _, allow := range last.Allow {
		b.row("To allow it", "a new run: ralph run … "+Clean(allow))
	}
}

// Tasks counts the tasks and names the open ones.
func Tasks(s *fold.State) string {
	const shown = 5
	count := s.TaskCount()
	text := fmt.Sprintf("%d done, %d open in %s", count.Done, count.Open, Clean(s.Started.TaskFile))
	var open, unconfirmed, optional, human []string
	for _, t := range s.History.Tasks {
		switch {
		case t.Status == ralph.TaskUnconfirmed:
			unconfirmed = append(unconfirmed, t.ID)
		case t.Open():
			open = append(open, t.ID)
		case t.Status == ralph.TaskDone:
		case t.Human:
			human = append(human, t.ID)
		default:
			optional = append(optional, t.ID)
		}
	}
	list := func(ids []string) string {
		if len(ids) > shown {
			ids = append(ids[:shown], "…")
		}
		return strings.Join(ids, ", ")
	}
	text += reasonOf(list(open))
	if len(unconfirmed) > 0 {
		text += "; unconfirmed: " + list(unconfirmed)
	}
	if len(optional) > 0 {
		text += "; optional, not done: " + list(optional)
	}
	if len(human) > 0 {
		text += "; for a person: " + list(human)
	}
	return text
}

func explain(s *fold.State) string {
	if s.Started.Demo { // the user is not in the sample project's folder
		return "ralph -C " + s.Started.Workspace + " explain"
	}
	return "ralph explain " + s.Run
}

func proofText(s *fold.State) string {
	by := s.Stopped.VerifiedBy
	switch {
	case s.Stopped.Status == ralph.StatusCompleted && s.Stopped.Proof != "":
		return completedProof(s)
	case s.Stopped.Reason == ralph.Unconfirmed && taskProofs(s) != "":
		if weakenedTests(s) {
			return "not everything: " + taskProofs(s) + "; the original tests fail, only the changed ones pass"
		}
		return "not everything: " + taskProofs(s)
	case s.Stopped.Reason == ralph.Unconfirmed && weakenedTests(s):
		return "nothing: the original tests fail, only the changed ones pass"
	case slices.Contains(by, ralph.VerifiedEvaluator):
		return "an evaluator accepted the work; no check ran"
	case slices.Contains(by, ralph.VerifiedChecks):
		but := ""
		if s.Stopped.Status != ralph.StatusCompleted {
			but = "not the goal; "
		}
		return but + "failed before this run, passes now: " + Clean(strings.Join(fixedChecks(s), "; ")) + failingChecks(s)
	case slices.Contains(by, ralph.VerifiedUnchanged) && failingChecks(s) != "":
		return "nothing" + failingChecks(s)
	case s.Stopped.Status != ralph.StatusCompleted && judge.GoalShownBy(s.History, s.Verdict) != "":
		return "not the goal; but " + Clean(judge.GoalShownBy(s.History, s.Verdict))
	case slices.Contains(by, ralph.VerifiedUnchanged) && len(s.History.Baseline) == 0:
		return "the checks pass; no baseline was run, so this shows that nothing is broken, not that the goal is met"
	case slices.Contains(by, ralph.VerifiedUnchanged) && fixedAnyCheck(s):
		return "the checks failed before and pass now, " +
			"but a planted failing test did not make them fail: it is unknown what they prove"
	case slices.Contains(by, ralph.VerifiedUnchanged):
		return "the checks passed before and still pass: this shows that nothing broke, not that the goal is met"
	}
	return "nothing"
}

// failingChecks names the checks that fail or cannot run at the end.
func failingChecks(s *fold.State) string {
	var red, broken []string
	for _, c := range LastChecks(s) {
		switch {
		case c.Failed():
			red = append(red, c.Name)
		case c.Broken:
			broken = append(broken, c.Name)
		}
	}
	words := ""
	if len(red) > 0 {
		words = "; failing: " + Clean(strings.Join(red, "; "))
	}
	if len(broken) > 0 {
		words += "; cannot run: " + Clean(strings.Join(broken, "; "))
	}
	return words
}

// LastChecks returns the checks of the last iteration, or of the baseline if there was none.
func LastChecks(s *fold.State) []ralph.CheckResult {
	if n := len(s.Iterations); n > 0 {
		return s.Iterations[n-1].CheckResults
	}
	return s.History.Baseline
}

// fixedChecks names the checks that pass in the last iteration and failed at the base.
func fixedChecks(s *fold.State) []string {
	var names []string
	for _, c := range s.Iterations[len(s.Iterations)-1].CheckResults {
		before := slices.IndexFunc(s.History.Baseline, func(b ralph.CheckResult) bool {
			return b.Name == c.Name && b.Task == c.Task
		})
		if c.Passed && before >= 0 && s.History.Baseline[before].Failed() {
			names = append(names, c.Name)
		}
	}
	return names
}

func spent(s *fold.State) string {
	parts := []string{Count(len(s.Iterations), "iteration") + uncounted(s), Seconds(s.Elapsed)}
	r := s.Result()
	if r.TotalCost != nil {
		parts = append(parts, AtLeast(Money(*r.TotalCost, r.CostEstimated), r.CostPartial))
	}
	if t := s.History.Tokens.Total(); t > 0 {
		parts = append(parts, AtLeast(fmt.Sprintf("%d tokens", t), r.TokensPartial))
	}
	if s.Started.Demo {
		parts = append(parts, "all of it simulated")
	}
	return strings.Join(parts, ", ")
}

// uncounted says how many iterations do not count toward the limit, such as those that ended with
// a usage limit, a failing model or an interrupt.
func uncounted(s *fold.State) string {
	switch n := len(s.Iterations) - s.History.Counted; {
	case n <= 0:
		return ""
	case s.History.Counted == 0:
		return " (not counted toward the limit)"
	default:
		return fmt.Sprintf(" (%d of them not counted toward the limit)", n)
	}
}
