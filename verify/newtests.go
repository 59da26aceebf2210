package verify

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// WrittenTests lists the test files that were added or changed between two trees. Configuration of tests
// is not among them.
func (e *Examiner) WrittenTests(ctx context.Context, base, now ralph.TreeState) ([]string, error) {
	found, err := e.classify(ctx, base, now)
	if err != nil {
		return nil, fmt.Errorf("find new tests: %w", ownFailure(err))
	}
	var names []string
	for _, c := range found.all {
		inSource := path.Ext(c.Name) == ".rs" && slices.Contains(found.meaning.Tests, c)
		if c.Kind != ralph.FileDeleted && (e.Rules.Test(c.Name) || inSource) {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// Deciding implements [ralph.DecidingLister].
func (e *Examiner) Deciding(ctx context.Context, base, now ralph.TreeState) (protected, tests []string, err error) {
	found, err := e.classify(ctx, base, now)
	if err != nil {
		return nil, nil, fmt.Errorf("compare with the last commit: %w", ownFailure(err))
	}
	for _, c := range found.all {
		if e.Rules.Test(c.Name) && path.Ext(c.Name) != ".rs" {
			tests = append(tests, c.Name)
		}
	}
	steering := slices.DeleteFunc(slices.Clone(found.meaning.Tests), func(c ralph.FileChange) bool { // such as a Makefile
		return e.Rules.Test(c.Name) || path.Ext(c.Name) == ".rs"
	})
	return changeNames(slices.Concat(found.meaning.Tampered, found.meaning.Unseen, steering)), tests, nil
}

// RunTests names the tests of a check in a view. It runs the check only if that did not happen in this iteration.
func (e *Examiner) RunTests(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.TestRun, error) {
	run, known := e.memory.runs[keyOf(in, check)]
	if !known || in.Again {
		var err error
		if run, err = e.runNamed(ctx, in, check, nil); err != nil {
			return ralph.TestRun{}, fmt.Errorf("run tests: %w", ownFailure(err))
		}
		if ctx.Err() == nil {
			e.memory.keep(keyOf(in, check), run)
		}
	}
	named := ralph.TestRun{Result: run.result, Total: run.outcome.Total}
	for _, name := range slices.Sorted(maps.Keys(run.outcome.Tests)) {
		named.Ran = append(named.Ran, name)
		if run.outcome.Tests[name] == canary.Passed {
			named.Passed = append(named.Passed, name)
		}
	}
	return named, nil
}

// revertedForNewTests lists the changes that are missing where new tests run with the base's product code:
// everything but tests and what configures them.
func revertedForNewTests(e *Examiner, s classifiedChanges) []ralph.FileChange {
	return slices.DeleteFunc(slices.Clone(s.all), func(c ralph.FileChange) bool {
		return e.Rules.Test(c.Name) || slices.Contains(s.meaning.Tests, c) && path.Ext(c.Name) != ".rs"
	})
}

// blendNewTests puts new tests into files that hold both product code and tests.
func (e *Examiner) blendNewTests(ctx context.Context, found classifiedChanges, edits []pristine.Edit) error {
	for i, edit := range edits {
		isChanged := slices.Contains(found.meaning.Tests, ralph.FileChange{Name: edit.Name, Kind: ralph.FileChanged})
		if edit.Source == "" || !isChanged {
			continue
		}
		base, err := e.Snapshots.Read(ctx, found.base, edit.Name, protect.Limit)
		if err != nil {
			return err
		}
		now, err := e.Snapshots.Read(ctx, found.now, edit.Name, protect.Limit)
		if err != nil {
			return err
		}
		if text, ok := protect.WithOldTests(edit.Name, now, base); ok {
			if err := os.WriteFile(filepath.Clean(edits[i].Source), text, 0o644); err != nil {
				return fmt.Errorf("%w: %w", ralph.ErrIO, err)
			}
		}
	}
	return nil
}
