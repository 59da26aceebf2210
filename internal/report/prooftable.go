package report

import (
	"fmt"
	"strconv"

	"github.com/ralphloop/ralph"
)

var columnTexts = map[ralph.ProofColumn]string{
	ralph.ColumnThen:     "the base, before any agent worked",
	ralph.ColumnToday:    "the base, at the time of the claim",
	ralph.ColumnClaimed:  "the claimed tree",
	ralph.ColumnCanary:   "the claimed product, with planted tests",
	ralph.ColumnLiterals: "the claimed tree, with wrong expected values",
}

// BasePassedText says why the base did not run again.
const BasePassedText = "the base did not run again: it passed before, and nothing differs from that"

// RunText says on which tree a run of a check was.
func RunText(run ralph.ProofRun) string {
	switch {
	case run.Repeats:
		return columnTexts[run.Column] + ", again"
	case run.Reused != "":
		return columnTexts[run.Column] + ", from run " + run.Reused
	}
	return columnTexts[run.Column]
}

// proofTables shows the runs that prove the checks of the last verdict.
func (r Report) proofTables(p *page) {
	titled := false
	for _, c := range r.Evidence {
		if c.Proof == nil || len(c.Proof.Table) == 0 {
			continue
		}
		if !titled {
			p.title("Runs compared")
			p.table("check", "run", "exit", "passed", "failed", "skipped", "planted or changed tests that failed")
			titled = true
		}
		for _, run := range c.Proof.Table {
			p.row(c.named(), prose(RunText(run)), exitText(run), number(run.Passed), number(run.Failed),
				number(run.Skipped), planted(run))
		}
	}
	for _, c := range r.Evidence {
		if c.Proof == nil {
			continue
		}
		if len(c.Proof.Environment) > 0 {
			p.line("\n%s: **the environment changed**: %s.", c.named(), proses(c.Proof.Environment))
		}
		if len(c.Proof.Needs) > 0 {
			p.line("\n%s: tests of the base need added test files: %s.", c.named(), codes(c.Proof.Needs))
		}
		if len(c.Proof.Flaky) > 0 {
			p.line("\n%s: flaky: %s.", c.named(), codes(c.Proof.Flaky))
		}
		if c.Proof.BasePassed {
			p.line("\n%s: %s.", c.named(), BasePassedText)
		}
		if c.Proof.Quick {
			p.line("\n%s: a quick proof: the environment was not compared, and no literals were changed.", c.named())
		}
	}
}

func exitText(run ralph.ProofRun) string {
	if run.Exit < 0 {
		return "stopped"
	}
	return strconv.Itoa(run.Exit)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func planted(run ralph.ProofRun) string {
	if run.Planted == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", run.Fired, run.Planted)
}
