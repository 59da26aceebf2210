package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
)

// proofLines describes evidence about a claim other than its checks.
func (l *Lines) proofLines(e ralph.Event) []string {
	switch data := e.Data.(type) {
	case ralph.FilesTampered:
		return l.tampered(data)
	case ralph.Proof:
		return l.canary(data)
	case ralph.BaseTestsRun:
		return l.baseTests(data)
	case ralph.WorkSeen:
		return workSeen(data)
	case ralph.TestsWritten:
		return l.testsWritten(data)
	case ralph.Evaluation:
		return l.evaluation(data)
	case ralph.CaseSubmitted:
		lines := []string{fmt.Sprintf("  case %d: %s", data.Round, Shorten(Clean(data.Summary), 100))}
		if data.Untestable != "" {
			lines = append(lines, "    no test can show it: "+Shorten(Clean(data.Untestable), 100))
		}
		return lines
	case ralph.CaseAnswered:
		return []string{l.answered(data)}
	}
	return nil
}

// columnReason says why a check runs again to prove a claim.
func columnReason(column ralph.ProofColumn) string {
	switch column {
	case ralph.ColumnToday:
		return " on the base, to see whether the environment changed and planted tests fail"
	case ralph.ColumnClaimed:
		return " on the claimed tree"
	case ralph.ColumnCanary:
		return " with planted tests, to see whether exactly these fail"
	case ralph.ColumnLiterals:
		return " with wrong expected values, to see whether exactly these tests fail"
	}
	return ""
}

// testsWritten says which tests were written before any work, and whether they are used.
func (l *Lines) testsWritten(data ralph.TestsWritten) []string {
	if data.Used {
		return []string{"  ✓ tests first: " + Clean(data.String())}
	}
	why := cmp.Or(data.Problem, data.Error)
	return []string{"  " + l.Style.Yellow("✗ tests of "+Clean(data.Agent)+" not used") + ": " + Clean(why)}
}

// workSeen names new tests that show the work. What is missing is in the refusal that follows.
func workSeen(w ralph.WorkSeen) []string {
	var lines []string
	for _, run := range w.NewTests {
		if run.Passed {
			continue
		}
		what := ": " + names(run.Failing)
		if len(run.Failing) == 0 {
			what = ""
		}
		lines = append(lines, fmt.Sprintf("  ✓ %s fails without the work and with the new tests%s", Clean(run.Name), what))
	}
	return lines
}

// answered describes the outcome of a case. Cases are judged while the agent of the iteration is
// still running.
func (l *Lines) answered(data ralph.CaseAnswered) string {
	if data.Accepted {
		return fmt.Sprintf("  ✓ case %d accepted", data.Round)
	}
	codes := text.Mapped(data.Refusals, func(r ralph.Refusal) string { return r.Code })
	codes = append(codes, text.Mapped(data.Tasks, func(r ralph.TaskRefusal) string { return r.Code })...)
	return "  " + l.Style.Yellow(fmt.Sprintf("✗ case %d refused", data.Round)) + ": " + Clean(strings.Join(codes, ", "))
}

// baseTests says what the original tests showed, unless the warning or the refusal that follows says it.
func (l *Lines) baseTests(data ralph.BaseTestsRun) []string {
	said := l.State.Policy.TestChange != ralph.TestsEvaluate
	var lines []string
	switch {
	case !data.OldPassed && said:
	case data.OldBroken():
		changed := l.Style.Yellow("tests changed")
		lines = []string{"  " + changed + ": checks cannot run with the original tests: " + names(data.Files)}
	case !data.OldPassed:
		changed := l.Style.Yellow("tests changed")
		lines = []string{"  " + changed + ": original tests fail, edited ones pass: " + names(data.Files)}
	case len(data.Files) > 0:
		lines = []string{"  tests changed; the original ones pass as well: " + names(data.Files)}
	}
	if said {
		return lines
	}
	for _, asks := range data.Aware {
		lines = append(lines, "  "+l.Style.Yellow("product code asks whether it is being tested")+": "+Clean(asks))
	}
	return lines
}

func (l *Lines) tampered(data ralph.FilesTampered) []string {
	var lines []string
	tampered := "  " + l.Style.Red("tampered")
	if data.What != ralph.TamperedFiles {
		lines = []string{tampered + ": the agent changed " + Clean(data.File) + "; Ralph restored it:"}
	} else if len(data.Details) > 0 {
		lines = []string{tampered + ": the agent changed protected files; checks see the originals:"}
	}
	for _, detail := range data.Details {
		lines = append(lines, "    "+Clean(detail))
	}
	if len(data.Unseen) > 0 {
		lines = append(lines, "  checks do not see added files: "+names(data.Unseen))
	}
	return lines
}

func (l *Lines) canary(p ralph.Proof) []string {
	name := Clean(p.Name)
	switch {
	case p.Canary == ralph.CanaryGreen:
		return []string{"  " + l.Style.Red("✗ "+name+" proves nothing") + ": " + Clean(p.Detail)}
	case len(p.Environment) > 0:
		return []string{"  " + l.Style.Red("✗ "+name+" runs in a changed environment") + ": " + names(p.Environment)}
	case len(p.Needs) > 0 && p.Lost == 0:
		changed := l.Style.Yellow("tests changed")
		return []string{"  " + changed + ": " + name + " fails without added test files: " + names(p.Needs)}
	case p.Lost > 0:
		missing := Clean(strings.TrimSpace(p.Detail + " " + strings.Join(p.Missing, ", ")))
		return []string{"  " + l.Style.Red("✗ "+name+" misses tests") + ": " + missing}
	case p.Canary == ralph.CanaryRed && p.Tests > 0:
		return []string{fmt.Sprintf("  ✓ %s can fail: it failed with a planted test, %s ran", name, Count(p.Tests, "test"))}
	case p.Canary == ralph.CanaryRed:
		return []string{fmt.Sprintf("  ✓ %s can fail: it failed with %s", name, failedWith(p))}
	case p.Canary == ralph.CanaryNone:
		return nil // in small projects this is the usual case; ralph explain shows it
	}
	return []string{fmt.Sprintf("  - %s: unknown whether it can fail: %s", name, Clean(p.Detail))}
}

func (l *Lines) evaluation(e ralph.Evaluation) []string {
	lines := l.evaluated(e)
	if e.Problem != "" && !e.Cached {
		lines = append(lines, "    an answer was invalid: "+Shorten(Clean(e.Problem), 300))
	}
	return lines
}

// evaluated describes a verdict of an evaluator, or why there is none.
func (l *Lines) evaluated(e ralph.Evaluation) []string {
	what := ""
	if e.Task != "" {
		what = " " + Clean(e.Task)
	}
	switch {
	case e.End == ralph.EndInterrupted:
		return []string{"  " + l.Style.Yellow("the evaluation by "+Clean(e.Agent)+" was interrupted")}
	case e.End != ralph.EndOK:
		failed := l.Style.Yellow("the evaluator " + Clean(e.Agent) + " could not be asked")
		return []string{"  " + failed + reasonOf(Clean(e.Error))}
	case e.Cached && e.Accepted:
		return []string{fmt.Sprintf("  ✓ %s accepted%s before, on the same tree", Clean(e.Agent), what)}
	case e.Cached:
		rejected := l.Style.Red(fmt.Sprintf("✗ %s rejected%s before", Clean(e.Agent), what))
		return []string{fmt.Sprintf("  %s (%s); nothing changed since, so it is not asked again", rejected, e.Category)}
	case e.Accepted:
		return []string{fmt.Sprintf("  ✓ %s accepts%s%s", Clean(e.Agent), what, reasonOf(names(e.Evidence)))}
	}
	rejects := l.Style.Red(fmt.Sprintf("✗ %s rejects%s", Clean(e.Agent), what))
	lines := []string{fmt.Sprintf("  %s (%s): %s", rejects, e.Category, Shorten(Clean(e.Concern), 300))}
	if e.NextStep != "" {
		lines = append(lines, "    next: "+Shorten(Clean(e.NextStep), 300))
	}
	return lines
}

// names lists the first of many names.
func names(all []string) string { return Clean(text.List(all)) }

// fixedAnyCheck reports whether a check that passes at the end failed before any agent worked.
func fixedAnyCheck(s *fold.State) bool {
	return slices.ContainsFunc(LastChecks(s), func(c ralph.CheckResult) bool {
		return c.Passed && c.Attribution == ralph.CheckFixed
	})
}

// proof names flaky checks, and what the last verdict accepted with a warning.
func (b *screen) proof(s *fold.State) {
	var flaky []string
	for _, it := range s.Iterations {
		for _, c := range it.CheckResults {
			if c.Flaked && !slices.Contains(flaky, c.Name) {
				flaky = append(flaky, c.Name)
			}
		}
	}
	if len(flaky) > 0 {
		b.row("Flaky", names(flaky)+": passed and failed on the same tree")
	}
	for _, gate := range s.Verdict.Gates {
		if gate.State == ralph.GateWarned && s.Stopped.Status == ralph.StatusCompleted {
			b.row("But", Clean(gate.Detail))
		}
	}
}

// failedWith says what made a check fail.
func failedWith(p ralph.Proof) string {
	isLiteral := func(run ralph.ProofRun) bool { return run.Column == ralph.ColumnLiterals }
	isCanary := func(run ralph.ProofRun) bool { return run.Column == ralph.ColumnCanary }
	if slices.ContainsFunc(p.Table, isLiteral) && !slices.ContainsFunc(p.Table, isCanary) {
		return "a wrong expected value"
	}
	return "a planted test"
}
