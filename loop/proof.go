package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// proveChecks tests whether the checks that do not fail now can fail, and returns what it found.
func (r *checkRunner) proveChecks(ctx context.Context, isFailing func(check) bool) []ralph.Proof {
	if r.tree.examiner == nil || !r.policy.Canary {
		return nil
	}
	var proofs []ralph.Proof
	kind := ralph.ViewClaimed
	if w := r.state.History.Now.BaseTests; w != nil && w.OldPassed && len(w.Files) > 0 {
		kind = ralph.ViewOldTests // because these must be the tests of the base
	}
	folder, err := r.checkFolder()
	if err != nil {
		r.storageFailed(err)
		return nil
	}
	for i, c := range r.suite.checksToRun(true) {
		if r.suite.whyBarred(c) != "" || c.missing != "" || isFailing(c) {
			continue
		}
		var proof ralph.Proof
		in := r.viewInput(kind, r.state.History.AccessOf(c.name, c.task))
		in.BaseRed = r.state.History.FailedAtBase(c.name, c.task)
		r.withHeartbeat(ctx, func(ctx context.Context) {
			proof, err = r.tree.examiner.Prove(ctx, in, r.checkInput(c, folder, checkFile("canary").name(i)))
		})
		switch {
		case ctx.Err() != nil:
			return proofs
		case errors.Is(err, ralph.ErrIO):
			r.storageFailed(err)
			return proofs
		case errors.Is(err, ralph.ErrNoView) && r.state.History.CheckedInPlace(): // as before any agent worked
			proof = ralph.Proof{Canary: ralph.CanaryNone, Detail: err.Error()}
		case err != nil:
			proof = ralph.Proof{
				Canary: ralph.CanaryGreen,
				Detail: fmt.Sprintf("cannot test whether it can fail: %v; checks.canary: off skips this test", err),
			}
		}
		proof.Name, proof.Task = c.name, c.task
		r.emit(ralph.EvCheckProof, proof)
		proofs = append(proofs, proof)
	}
	return proofs
}
