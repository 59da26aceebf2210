package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ralphloop/ralph"
)

// runBaseTests runs the tests of the base on the claimed tree if the agent changed unprotected
// tests. It also records product code that behaves differently under test.
func (r *checkRunner) runBaseTests(ctx context.Context) {
	if len(r.tree.changed.Tests)+len(r.tree.changed.TestAware) == 0 || !r.couldStillPass(ctx) ||
		len(r.state.History.Now.Checks) == 0 {
		return
	}
	baseTests := ralph.BaseTestsRun{
		Files:     append([]string{}, r.tree.changed.Tests...),
		Aware:     r.tree.changed.TestAware,
		OldPassed: true,
		Old:       []ralph.CheckResult{},
	}
	if len(r.tree.changed.Tests) > 0 && !r.runOldTests(ctx, &baseTests) {
		return
	}
	r.emit(ralph.EvTestsChanged, baseTests)
}

func (r *checkRunner) runOldTests(ctx context.Context, baseTests *ralph.BaseTestsRun) bool {
	session := r.session(ralph.ViewOldTests, checkFile("old"))
	session.strict = true // it passed on this tree with other tests
	defer session.close()
	for i, c := range r.suite.checksToRun(true) {
		if r.isFailing(c) { // with the tests of the base or without them
			continue
		}
		result, ok := session.check(ctx, i, c)
		if !ok {
			return false
		}
		baseTests.Old = append(baseTests.Old, result)
		baseTests.OldPassed = baseTests.OldPassed && result.Passed
	}
	return true
}

// confirmFlaked reruns checks that both failed and passed on the same tree in this run.
func (r *checkRunner) confirmFlaked(ctx context.Context) {
	r.rerunFlaked(ctx, r.session(ralph.ViewClaimed, "again"), r.suite.checksToRun(true))
	r.rerunFlaked(ctx, r.session(ralph.ViewHidden, "hidden-again"), r.suite.hiddenChecks())
}

func (r *checkRunner) rerunFlaked(ctx context.Context, session *session, checks []check) {
	doubtful := slices.DeleteFunc(checks, func(c check) bool {
		return !r.state.History.HasFlaked(ralph.CheckResult{Name: c.name, Task: c.task})
	})
	if len(doubtful) > 0 && r.couldStillPass(ctx) {
		session.strict = true
		session.runAll(ctx, doubtful)
	}
}

// prove tests whether the passing checks of a claim can fail.
func (r *checkRunner) prove(ctx context.Context) {
	if r.couldStillPass(ctx) {
		r.proveChecks(ctx, r.isFailing)
	}
}

// proveChecks fills the tables of the checks that do not fail now, and returns what it found.
func (r *checkRunner) proveChecks(ctx context.Context, isFailing func(check) bool) []ralph.Proof {
	if r.tree.examiner == nil || !r.policy.Canary {
		return nil
	}
	folder, err := r.checkFolder()
	if err != nil {
		r.storageFailed(err)
		return nil
	}
	var rows []proofRow
	for i, c := range slices.Concat(r.suite.checksToRun(true), r.suite.hiddenChecks()) {
		if r.suite.whyBarred(c) == "" && c.missing == "" && !isFailing(c) {
			rows = append(rows, proofRow{check: c, input: r.checkInput(c, folder, checkFile("proof").name(i))})
		}
	}
	var proofs []ralph.Proof
	for batch := range slices.Chunk(rows, max(1, r.policy.Parallel)) {
		r.proveRows(ctx, batch)
		for _, row := range batch {
			proof, ok := r.judgeRow(ctx, row)
			if !ok {
				return proofs
			}
			r.emit(ralph.EvCheckProof, proof)
			proofs = append(proofs, proof)
		}
	}
	return proofs
}

// proofRow is a check whose table is filled.
type proofRow struct {
	check check
	input ralph.CheckInput
	proof ralph.Proof
	err   error
}

// proveRows fills the tables of checks side by side. Only this goroutine may record what they do.
func (r *checkRunner) proveRows(ctx context.Context, rows []proofRow) {
	calls := make(chan func())
	ask := make([]func(context.Context), len(rows))
	for i := range rows {
		row, examiner := &rows[i], r.tree.examiner
		if forker, can := examiner.(ralph.Forker); can && len(rows) > 1 {
			examiner = forker.Fork()
		}
		in := r.proofInput(row.check)
		in.Started = func(column ralph.ProofColumn) {
			started := ralph.CheckStarted{Name: row.check.name, Task: row.check.task, Column: column}
			select {
			case calls <- func() { r.emit(ralph.EvCheckStarted, started) }:
			case <-ctx.Done():
			}
		}
		ask[i] = func(ctx context.Context) { row.proof, row.err = examiner.Prove(ctx, in, row.input) }
	}
	elapsed := func(elapsed ralph.Span) ralph.AgentOutput { return ralph.AgentOutput{Elapsed: elapsed} }
	r.runWithHeartbeat(ctx, calls, elapsed, func(ctx context.Context) {
		if len(ask) == 1 {
			ask[0](ctx)
			return
		}
		var all sync.WaitGroup
		for _, prove := range ask {
			all.Go(func() { prove(ctx) })
		}
		all.Wait()
	})
}

// judgeRow returns what the proof of a check found. It reports false if the run must end.
func (r *checkRunner) judgeRow(ctx context.Context, row proofRow) (ralph.Proof, bool) {
	proof, err := row.proof, row.err
	switch {
	case ctx.Err() != nil:
		return proof, false
	case errors.Is(err, ralph.ErrIO):
		r.storageFailed(err)
		return proof, false
	case errors.Is(err, ralph.ErrNoView) && r.state.History.CheckedInPlace(): // as before any agent worked
		proof = ralph.Proof{Canary: ralph.CanaryNone, Detail: err.Error()}
	case errors.Is(err, ralph.ErrDisturbed):
		proof = ralph.Proof{
			Canary: ralph.CanaryGreen,
			Detail: fmt.Sprintf("cannot test whether it can fail: %v. Start nothing while Ralph checks, and stop again.", err),
		}
	case err != nil:
		proof = ralph.Proof{
			Canary: ralph.CanaryGreen,
			Detail: fmt.Sprintf("cannot test whether it can fail: %v; checks.canary: off skips this test", err),
		}
	}
	proof.Name, proof.Task = row.check.name, row.check.task
	if row.check.hidden {
		proof = withoutDetails(proof)
	}
	return proof, true
}

// withoutDetails removes what an agent must not learn about a hidden check.
func withoutDetails(proof ralph.Proof) ralph.Proof {
	proof.Missing, proof.Flaky = nil, nil
	if proof.Canary == ralph.CanaryGreen {
		proof.Detail = "A deliberately failing test beside its own did not make it fail."
	} else {
		proof.Detail = ""
	}
	if proof.Lost > 0 {
		proof.Detail = "Fewer tests run than before."
	}
	if len(proof.Environment) > 0 {
		proof.Environment = []string{"its tests end differently"}
	}
	return proof
}

// proofInput asks for the proof of a check: in the view in which it passed, against how it ended before any agent
// worked.
func (r *checkRunner) proofInput(c check) ralph.ViewInput {
	h := r.state.History
	kind := ralph.ViewClaimed
	switch w := h.Now.BaseTests; {
	case c.hidden:
		kind = ralph.ViewHidden
	case w != nil && w.OldPassed && len(w.Files) > 0:
		kind = ralph.ViewOldTests // because these must be the tests of the base
	}
	in := r.viewInput(kind, h.AccessOf(c.name, c.task))
	in.First, in.Then = h.BeforeAgent(c.name, c.task, c.command)
	return in
}
