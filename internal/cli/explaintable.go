package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/report"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
)

// printTables shows the runs that prove checks. The details of hidden checks stay hidden: an agent may read this.
func printTables(out io.Writer, checks []ralph.CheckResult) {
	for _, c := range checks {
		if c.Proof == nil || len(c.Proof.Table) == 0 {
			continue
		}
		fmt.Fprintf(out, "  runs of %s:\n", term.Clean(c.FullName()))
		width := 0
		for _, run := range c.Proof.Table {
			width = max(width, len(report.RunText(run)))
		}
		for _, run := range c.Proof.Table {
			fmt.Fprintf(out, "    %-*s  %s\n", width, report.RunText(run), strings.Join(runWords(run), ", "))
		}
		for _, word := range c.Proof.Environment {
			fmt.Fprintf(out, "    ✗ %s\n", term.Clean(word))
		}
		if len(c.Proof.Flaky) > 0 {
			fmt.Fprintf(out, "    flaky: %s\n", term.Clean(text.List(c.Proof.Flaky)))
		}
		if c.Proof.BasePassed {
			fmt.Fprintln(out, "    "+report.BasePassedText)
		}
		if c.Proof.Quick {
			fmt.Fprintln(out, "    quick: the environment was not compared, and no literals were changed")
		}
	}
}

// runWords describes one run of a table.
func runWords(run ralph.ProofRun) []string {
	words := []string{fmt.Sprintf("exit %d", run.Exit)}
	if run.Exit < 0 {
		words[0] = "stopped"
	}
	named := run.Passed + run.Failed + run.Skipped
	if named == 0 && run.Tests > 0 {
		words = append(words, text.Count(run.Tests, "test"))
	}
	for _, part := range []struct {
		count int
		word  string
	}{{run.Passed, "passed"}, {run.Failed, "failed"}, {run.Skipped, "skipped"}} {
		if part.count > 0 {
			words = append(words, fmt.Sprintf("%d %s", part.count, part.word))
		}
	}
	if run.Planted > 0 {
		kind := "planted test"
		if run.Column == ralph.ColumnLiterals {
			kind = "changed test"
		}
		words = append(words, fmt.Sprintf("%d of %s failed", run.Fired, text.Count(run.Planted, kind)))
	}
	return words
}
