package verify

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
		return nil, fmt.Errorf("find new tests: %w", err)
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

// RunTests runs a check in a view so that it names its tests, with nothing planted. A check that cannot name
// them and passed before does not run again.
func (e *Examiner) RunTests(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.TestRun, error) {
	tree, err := e.viewTree(ctx, in)
	if err != nil {
		return ralph.TestRun{}, fmt.Errorf("run tests: %w", err)
	}
	if how := canary.Invoke(tree, command(check), ""); in.Passed != nil && !how.NamesTests(command(check)) {
		printed := canary.Read(how, nil, in.Passed.ExitCode, strings.NewReader(in.Passed.Output), nil)
		return ralph.TestRun{Result: *in.Passed, Total: printed.Total}, nil
	}
	var named canaryRun
	err = e.withView(ctx, in, func(v *view) (err error) {
		named, err = v.tryCanaries(ctx, tree, nil, check)
		return err
	})
	if err != nil {
		return ralph.TestRun{}, fmt.Errorf("run tests: %w", err)
	}
	run := ralph.TestRun{Result: named.result, Total: named.outcome.Total}
	if canary.RanNoTests(tree, command(check), named.invocation, named.outcome) {
		run.Total = 0
	}
	for _, name := range slices.Sorted(maps.Keys(named.outcome.Tests)) {
		run.Ran = append(run.Ran, name)
		if named.outcome.Tests[name] == canary.Passed {
			run.Passed = append(run.Passed, name)
		}
	}
	return run, nil
}

// revertedForNewTests lists the changes that are missing where new tests run with the base's product code:
// everything but tests and what configures them.
func (e *Examiner) revertedForNewTests(s classifiedChanges) []ralph.FileChange {
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
