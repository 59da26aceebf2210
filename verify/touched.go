package verify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// Check runs one check, with nothing planted, unless an earlier run did so on the same base.
func (v *view) Check(ctx context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	if run, ok := (rowFinder{v.examiner}).reuse(ctx, v.in, in); ok {
		v.examiner.memory.keep(keyOf(v.in, in), run)
		return run.result, nil
	}
	run, err := v.runUnplanted(ctx, in)
	if errors.Is(err, errNotPlanted) { // a hidden check without its files
		return ralph.CheckResult{Name: in.Name, Broken: true, ExitCode: -1, Output: err.Error()}, nil
	}
	if err != nil || ctx.Err() != nil {
		return run.result, err
	}
	if swapped := v.swappedTests(); len(swapped) > 0 && run.result.Passed {
		run.result = failWith(run.result, listed("these tests changed while checks ran: ", swapped))
	}
	if len(v.unhidden) > 0 && run.result.Passed {
		run.result = failWith(run.result, listed("it ran in the workspace itself and could see added files that match a "+
			"protected pattern: ", v.unhidden))
	}
	run.outcome.Exit = canary.ExitOf(run.result)
	run.outcome.Red = run.outcome.Exit != 0
	v.examiner.memory.keep(keyOf(v.in, in), run)
	rowFinder{v.examiner}.remember(ctx, v.in, in, run)
	return run.result, nil
}

// runUnplanted runs a check with nothing planted.
func (v *view) runUnplanted(ctx context.Context, in ralph.CheckInput) (run namedRun, err error) {
	if v.examiner.Snapshots == nil || v.in.Now.Snapshot == "" { // it is unknown which files belong to the tree
		shell, discard, err := v.prepareHidden(command(in))
		if err != nil {
			return run, err
		}
		defer discard()
		run.result, err = shell.Check(ctx, in)
		run.outcome = canary.OutcomeOf(run.result)
		return run, err
	}
	tree, err := v.examiner.viewTree(ctx, v.in)
	if err != nil {
		return run, err
	}
	return v.run(ctx, tree, in, nil)
}

// failWith turns a result into a failure and says why at the end of its output.
func failWith(result ralph.CheckResult, why string) ralph.CheckResult {
	result.Passed = false
	output := tail{kept: []byte(result.Output)}
	result.Output = output.text("Counted as failed: " + why)
	return result
}

func listed(what string, names []string) string {
	const shown = 5
	what += strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	return what
}

// writtenTests names the tests shown as at the base, and files that steer them, that commands have written in this
// view. It names none in views that do not record writes.
func (v *view) writtenTests(ctx context.Context) ([]string, error) {
	tests, err := v.examiner.testsAsAtBase(ctx, v.in)
	if err != nil || len(tests) == 0 {
		return nil, err
	}
	changes, err := v.isolated.Touched(ctx, tests)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	return names, err
}

// testsAsAtBase lists the protected files and test sources that a view shows as they were at the base.
func (e *Examiner) testsAsAtBase(ctx context.Context, in ralph.ViewInput) ([]string, error) {
	if e.Snapshots == nil || in.Base.Snapshot == "" {
		return nil, nil
	}
	found, err := e.classify(ctx, in.Base, in.Now)
	if err != nil {
		return nil, err
	}
	rules, err := e.rulesFor(ctx, in.Base.Snapshot)
	if err != nil {
		return nil, err
	}
	files, err := e.Snapshots.Files(ctx, in.Base.Snapshot)
	if err != nil {
		return nil, err
	}
	other := map[string]bool{}
	for _, c := range found.all {
		other[c.Name] = true
	}
	for _, c := range e.reverted(found, in.Kind) {
		delete(other, c.Name)
	}
	return slices.DeleteFunc(files, func(name string) bool {
		return other[name] || !rules.Protected(name) && !(rules.Test(name) && isTestSource(name))
	}), nil
}

var (
	sourceEndings = strings.Fields(`
		.go .py .js .jsx .ts .tsx .mjs .cjs .mts .cts .rs .java .kt .groovy .scala .rb .cs .fs .vb .php .ex
		.exs .swift .dart .c .cc .cpp .cxx .h .hpp .m .zig .lua .sh .bats .t .pl .hs .clj .erl`)
	writtenByChecks = strings.Fields(`
		snapshot golden testdata test-data test_data fixture sandbox playground cassette generated
		node_modules/ dist/ build/ out/ target/ tmp/ temp/ output expected examples/ approved verified
		received baseline .gen. _gen. .pb.`)
)

// isTestSource reports whether a test is handwritten code. Recordings and fixtures are excluded,
// because checks may well write them.
func isTestSource(name string) bool {
	lower := strings.ToLower(name)
	written := slices.ContainsFunc(writtenByChecks, func(word string) bool { return strings.Contains(lower, word) })
	return !written && slices.Contains(sourceEndings, path.Ext(name))
}
