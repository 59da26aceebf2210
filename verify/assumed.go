package verify

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// assumeToday fills in how the base ends if nothing is wrong: as before any agent worked, and every planted test fails.
// That is the strictest outcome to compare with, so the base runs again only if something differs from it. It reports
// false if the base must run in any case: a test that failed might pass today because the environment changed, and
// where tests have no names, only a run tells what planted ones do.
func (t *table) assumeToday() bool {
	then := t.row.Then
	hasNames := func() bool { return len(t.planted) == 0 || then.Names() }
	if t.examiner.Rows == nil || t.examiner.Quick || t.claimed.Answer != nil || then == nil || then.Red || !hasNames() {
		return false
	}
	for _, state := range then.Tests {
		if state != canary.Passed && state != canary.Skipped {
			return false
		}
	}
	t.row.Today = *then
	for _, plant := range t.planted {
		for _, mark := range plant.Marks {
			t.row.Today.Planted = append(t.row.Today.Planted, mark.Key)
		}
	}
	if len(t.planted) > 0 {
		t.row.Today.Failing = slices.Clone(t.row.Today.Planted)
		t.row.Today.Exit, t.row.Today.Red = 1, true
	}
	t.assumed = true
	return true
}

// checkAssumption runs the base after all, if something differs from what was assumed about it.
func (t *table) checkAssumption(ctx context.Context) error {
	if !t.assumed {
		return nil
	}
	proof := t.row.Judge()
	isProven := proof.Canary == ralph.CanaryRed || len(t.planted) == 0 && proof.Canary != ralph.CanaryGreen
	if isProven && proof.Lost == 0 && len(t.rewritten()) == 0 {
		return nil
	}
	t.assumed = false
	return t.runBase(ctx)
}

// keepClaimed keeps how the check ended on the claimed tree, which is the base of the next run if the claim is proven.
func (t *table) keepClaimed(ctx context.Context, proof ralph.Proof) {
	e := t.examiner
	switch run, known := e.memory.runs[keyOf(t.claimed, t.check)]; {
	case e.Rows == nil:
	case len(proof.Flaky)+len(proof.Environment) > 0:
		e.Rows.drop(command(t.check))
	case known && proof.Canary != ralph.CanaryGreen && proof.Lost+len(proof.Needs) == 0:
		e.Rows.add(&e.Rows.claimed, rowFinder{e}.key(ctx, t.claimed, t.check), t.claimed, t.check, run)
	}
}
