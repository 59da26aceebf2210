package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Markdown writes the report for people. Every text that Ralph did not write itself is in a table
// cell.
func (r Report) Markdown(out io.Writer) error {
	p := &page{}
	for _, section := range []func(*page){
		r.head,
		r.evidence,
		r.proofTables,
		r.gates,
		r.tasks,
		r.claims,
		r.evaluations,
		r.interference,
		r.warnings,
		r.iterations,
		r.checks,
		r.receipt,
	} {
		section(p)
	}
	if _, err := io.WriteString(out, p.text.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// page is Markdown under construction.
type page struct{ text strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *page) title(text string) { p.line("\n## %s\n", text) }

// table starts a table; the next rows belong to it.
func (p *page) table(columns ...string) {
	p.row(columns...)
	p.line("|%s", strings.Repeat(" --- |", len(columns)))
}

// row writes cells that already are Markdown.
func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

func (r Report) head(p *page) {
	demo := ""
	if r.Demo {
		demo = "DEMO "
	}
	p.line("# %sRun %s: %s\n", demo, r.Run, r.statusText())
	if b := r.Receipt.Break; b != nil {
		p.line("**The log was changed** (event %d, byte %d). This report shows what it says now.\n", b.Seq, b.Offset)
	}
	p.table("", "")
	fact := func(name, value string) {
		if value != "" {
			p.row(name, value)
		}
	}
	fact("outcome", prose(r.Outcome.Detail))
	fact("verified", r.verified())
	fact("goal", prose(r.Goal))
	fact("spec", code(r.SpecFile))
	fact("tasks", code(r.TaskFile))
	fact("workspace", code(r.Workspace))
	fact("agent", prose(strings.TrimSpace(r.Agent+" "+r.Model)))
	fact("sandbox", prose(r.Sandbox))
	fact("evaluator", prose(r.Evaluator))
	fact("tests first", prose(r.TestsBy))
	fact("profile", prose(r.Profile))
	fact("protected", codes(r.Protects))
	fact("changed", prose(r.Outcome.Changed))
	fact("iterations", strconv.Itoa(len(r.Iterations)))
	fact("time", seconds(r.Spent.Duration))
	fact("tokens", r.Spent.tokens())
	fact("cost", r.Spent.money())
	fact("started", stamp(r.StartedAt))
	fact("last event", stamp(r.UpdatedAt))
	for _, s := range r.Sessions {
		fact("run by", s.text())
	}
}

func (r Report) statusText() string {
	if !r.Outcome.Ended {
		return fmt.Sprintf("not ended (%s)", prose(string(r.Outcome.Status)))
	}
	return fmt.Sprintf("%s (%s, exit code %d)", r.Outcome.Name, prose(string(r.Outcome.Reason)), r.Outcome.ExitCode)
}

func (r Report) verified() string {
	switch {
	case r.Outcome.Verified:
		return "yes, by " + prose(strings.Join(r.Outcome.VerifiedBy, ", "))
	case slices.Contains(r.Outcome.VerifiedBy, ralph.VerifiedEvaluator):
		return "no: an evaluator accepted it, but no check ran"
	case slices.Contains(r.Outcome.VerifiedBy, ralph.VerifiedTools):
		return "no: only tools that the agent called itself succeeded, and no check ran"
	case r.Outcome.Ended && r.Outcome.ExitCode == 0:
		return "**no: nothing was checked**"
	}
	return "no"
}

func (s Session) text() string {
	text := fmt.Sprintf("%d. ralph %s, pid %d, from %s", s.Number, prose(s.Ralph), s.PID, stamp(s.At))
	if s.Torn > 0 {
		text += fmt.Sprintf(", after an incomplete line of %d bytes", s.Torn)
	}
	return text
}

// evidence shows the checks that the last verdict is based on.
func (r Report) evidence(p *page) {
	p.title("Evidence")
	if len(r.Evidence) == 0 {
		p.line("No check ran in the last iteration.")
		return
	}
	when := "while no agent was running"
	if r.InSession {
		when = "after the session's agent had stopped, while the session was open"
	}
	p.line("The checks of iteration %d. Ralph ran them %s.\n", r.Evidence[0].Iteration, when)
	p.table("check", "result", "compared to the baseline", "can it fail", "isolation", "tree", "output sha256")
	for _, c := range r.Evidence {
		p.row(
			c.named(),
			c.result(),
			prose(string(c.Attribution)),
			c.canFail(),
			c.isolation(),
			joined(code(shortTree(c.Tree)), c.after()),
			code(short(c.OutputHash)),
		)
	}
}

var gateWords = map[ralph.GateState]string{
	ralph.GateOpen: "passes", ralph.GateWarned: "passes, with a warning", ralph.GateShut: "**refuses**",
}

func (r Report) gates(p *page) {
	p.title("Gates")
	switch {
	case len(r.Gates) == 0 && slices.ContainsFunc(r.Claims, func(c Claim) bool { return c.Case > 0 }):
		p.line("No verdict checked the gates. See Claimed / seen for the agent's cases.")
		return
	case len(r.Gates) == 0:
		p.line("No verdict checked the gates: the agent claimed nothing.")
		return
	}
	p.line("From the verdict on iteration %d.\n", r.GatesOf)
	p.table("gate", "state", "why")
	for _, g := range r.Gates {
		state := cmp.Or(gateWords[g.State], prose(string(g.State)))
		why := prose(g.Detail)
		if g.Refusal != "" {
			why = code(g.Refusal) + " " + why
		}
		p.row(prose(g.Name), state, why)
	}
}

func (r Report) tasks(p *page) {
	if len(r.Tasks) == 0 {
		return
	}
	p.title("Tasks")
	p.table("task", "status", "tries", "spent", "own checks", "refused")
	for _, t := range r.Tasks {
		status := prose(t.Status.Word())
		if t.Proven {
			status = fmt.Sprintf("%s, proven in iteration %d", status, t.ProvenIn)
		}
		own := text.Mapped(t.Checks, func(c Check) string { return c.name() + " " + c.result() })
		p.row(
			code(t.ID)+" "+prose(t.Title),
			status,
			strconv.Itoa(t.Tries),
			t.Spent.text(),
			strings.Join(own, ", "),
			codes(t.Refusals),
		)
	}
}

func (r Report) claims(p *page) {
	p.title("Claimed / seen")
	if len(r.Claims) == 0 {
		p.line("The agent claimed nothing.")
		return
	}
	p.table("iteration", "claimed", "seen", "holds")
	for _, c := range r.Claims {
		holds := string(c.Holds)
		if c.Holds == HoldsNo {
			holds = "**no**"
		}
		what := prose(c.Claimed)
		if c.Case > 0 {
			what = fmt.Sprintf("case %d: %s", c.Case, what)
		}
		p.row(strconv.Itoa(c.Iteration), what, prose(c.Seen), holds)
	}
}

func (r Report) evaluations(p *page) {
	if len(r.Evaluations) == 0 {
		return
	}
	p.title("Evaluations")
	p.table("iteration", "task", "by", "verdict", "evidence", "spent", "when")
	for _, e := range r.Evaluations {
		verdict, why := "accepted", prose(e.Concern)
		switch {
		case !e.Asked:
			verdict = "could not be asked"
		case !e.Accepted:
			verdict = "**rejected** (" + code(string(e.Category)) + ")"
		}
		if e.Cached {
			verdict += ", as before"
		}
		if e.NextStep != "" {
			why = strings.TrimSpace(why + " Next: " + prose(e.NextStep))
		}
		if e.Problem != "" {
			why = strings.TrimSpace(why + " An answer was invalid: " + prose(e.Problem))
		}
		p.row(
			strconv.Itoa(e.Iteration),
			code(e.Task),
			prose(strings.TrimSpace(e.Agent+" "+e.Model)),
			strings.TrimSuffix(verdict+": "+why, ": "),
			codes(e.Evidence),
			e.Spent.bill(),
			stamp(e.At),
		)
	}
}

// interference shows what the agent did to tests, to protected files and to the task list.
func (r Report) interference(p *page) {
	if len(r.Tests)+len(r.Tampering) == 0 {
		return
	}
	p.title("Tampering and changed tests")
	p.table("iteration", "what", "files", "what it means")
	for _, t := range r.Tampering {
		means := "checks saw the original protected files"
		if t.Restored {
			means = "Ralph restored it"
		}
		if len(t.Unseen) > 0 {
			means += "; checks did not see " + codes(t.Unseen)
		}
		p.row(strconv.Itoa(t.Iteration), prose(t.What), strings.Trim(code(t.File)+" "+proses(t.Details), " "), means)
	}
	for _, w := range r.Tests {
		means := "the original tests pass as well"
		switch {
		case w.OldPassed:
		case len(w.Failed) == 0:
			means = "**checks cannot run with the original tests**"
		default:
			means = "**original tests fail, edited ones pass**: " + codes(w.Failed)
		}
		if len(w.Files) > 0 {
			p.row(strconv.Itoa(w.Iteration), "tests changed", codes(w.Files), means)
		}
		if len(w.Aware) > 0 {
			p.row(strconv.Itoa(w.Iteration), "test-aware code", codes(w.Aware), "it asks whether it is being tested")
		}
	}
}

func (r Report) warnings(p *page) {
	if len(r.Warnings) == 0 {
		return
	}
	p.title("Warnings")
	p.table("iteration", "code", "warning")
	for _, w := range r.Warnings {
		p.row(strconv.Itoa(w.Iteration), code(w.Code), prose(w.Text))
	}
}

func (r Report) iterations(p *page) {
	p.title("Iterations")
	if len(r.Iterations) == 0 {
		p.line("None.")
		return
	}
	p.table("iteration", "task", "agent", "ended", "verdict", "spent", "tree")
	for _, it := range r.Iterations {
		ended := prose(string(it.End))
		if it.Error != "" {
			ended += ": " + prose(it.Error)
		}
		p.row(
			strconv.Itoa(it.Number)+r.process(it.Session),
			code(it.Task),
			prose(strings.TrimSpace(it.Agent+" "+it.Model)),
			ended,
			it.verdict(),
			it.Spent.text(),
			it.trees(),
		)
	}
}

// process names the process of a run that more than one worked on.
func (r Report) process(session int) string {
	if len(r.Sessions) < 2 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", session)
}

// trees shows how the iteration changed the tree, and its commit.
func (it Iteration) trees() string {
	tree := code(shortTree(it.TreeBefore))
	if it.TreeAfter != it.TreeBefore {
		tree += " → " + code(shortTree(it.TreeAfter))
	}
	if it.Commit != "" {
		tree += ", commit " + code(short(it.Commit))
	}
	return tree
}

var actionWords = map[ralph.Action]string{ralph.GoOn: "continue"}

func (it Iteration) verdict() string {
	words := []string{cmp.Or(actionWords[it.Action], prose(string(it.Action)))}
	if len(it.TasksDone) > 0 {
		words = append(words, "proven: "+codes(it.TasksDone))
	}
	if len(it.Refusals) > 0 {
		words = append(words, "refused: "+codes(it.Refusals))
	}
	if !it.Counted {
		words = append(words, "not counted")
	}
	return strings.Join(words, "; ")
}

// checks shows every check that ran.
func (r Report) checks(p *page) {
	if len(r.Checks) == 0 {
		return
	}
	p.title("Every check that ran")
	p.table("when", "iteration", "check", "result", "time", "tree", "output sha256")
	for _, c := range r.Checks {
		iteration := strconv.Itoa(c.Iteration)
		if c.Baseline {
			iteration += " (baseline)"
		}
		p.row(
			stamp(c.At),
			iteration+r.process(c.Session),
			c.named(),
			c.result(),
			seconds(c.Duration),
			joined(code(shortTree(c.Tree)), c.isolation()),
			code(c.OutputHash),
		)
	}
}

func (r Report) receipt(p *page) {
	rc := r.Receipt
	p.title("Receipt")
	p.table("", "")
	p.row("head", code(rc.Head))
	p.row("events", strconv.FormatInt(rc.Events, 10))
	p.row("chain", rc.chain())
	p.row("recorded head", rc.recorded())
	if rc.Torn > 0 {
		p.row("torn", fmt.Sprintf("%d bytes of an incomplete last line", rc.Torn))
	}
}

func (rc Receipt) chain() string {
	switch {
	case rc.Break != nil:
		return fmt.Sprintf("**broken** at event %d, byte %d: %s", rc.Break.Seq, rc.Break.Offset, prose(rc.Break.Why))
	case rc.Events > 0 && rc.Linked == 0:
		return "none: an old version wrote this log without links"
	case rc.Linked < rc.Events:
		return fmt.Sprintf("intact; %s from an old version without links", text.Count(int(rc.Events-rc.Linked), "event"))
	}
	return "intact"
}

func (rc Receipt) recorded() string {
	switch {
	case rc.Recorded == "":
		return "none: the run has not ended, or an old version ended it"
	case rc.At == 0:
		return code(rc.Recorded) + " **is not in the log**"
	case rc.At < rc.Events:
		return fmt.Sprintf("%s, after event %d: the run continued", code(rc.Recorded), rc.At)
	}
	return "the same"
}
