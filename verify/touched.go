package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// viewHiddenBase is the base with the files of hidden checks on top.
const viewHiddenBase ralph.ViewKind = "hidden_base"

// Check runs one check. A check that passes after tests from the base were rewritten in its view
// counts as failed, because it is unknown what it ran. The tests may have been restored since.
func (v *view) Check(ctx context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	run, err := v.runUnplanted(ctx, in)
	v.planted = v.planted || v.examiner.Canary != "" && in.Command == v.examiner.Canary
	if err != nil || v.planted || ctx.Err() != nil {
		return run.result, err
	}
	if run.result, err = v.distrustRewrites(ctx, in, run.result); err == nil && ctx.Err() == nil {
		run.outcome.Exit = canary.ExitOf(run.result)
		run.outcome.Red = run.outcome.Exit != 0
		v.examiner.memory.keep(keyOf(v.in, in), run)
	}
	return run.result, err
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

// distrustRewrites counts a check as failed if it passed after tests were rewritten while it ran.
func (v *view) distrustRewrites(
	ctx context.Context, in ralph.CheckInput, result ralph.CheckResult,
) (ralph.CheckResult, error) {
	touched, err := v.rewrittenTests(ctx)
	if err != nil {
		return result, err
	}
	for _, name := range touched {
		if v.suspects == nil {
			v.suspects = map[string]ralph.CheckInput{}
		}
		v.suspects[name] = in
	}
	if swapped := v.swappedTests(); len(swapped) > 0 && result.Passed {
		return failForChangedTests(result, swapped), nil
	}
	if len(v.unhidden) > 0 && result.Passed {
		return failWith(result, listed("it ran in the workspace itself and could see added files that match a protected "+
			"pattern: ", v.unhidden)), nil
	}
	if len(v.suspects) == 0 || !result.Passed {
		return result, nil
	}
	for name, by := range v.suspects {
		writes, err := v.examiner.writesAtBase(ctx, v.in, by)
		if err != nil || ctx.Err() != nil {
			return result, err
		}
		if writes.unclear || writes.touched[name] {
			delete(v.suspects, name)
		}
	}
	if len(v.suspects) > 0 {
		result = failForChangedTests(result, slices.Sorted(maps.Keys(v.suspects)))
	}
	return result, nil
}

func failForChangedTests(result ralph.CheckResult, tests []string) ralph.CheckResult {
	return failWith(result, listed("these tests changed while checks ran: ", tests))
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

// rewrittenTests names the tests shown as at the base that commands have written since the last
// call. It names none in views that do not record writes, and none in views of the base. Tests that
// the agent changed are not listed either: their old versions are run separately.
func (v *view) rewrittenTests(ctx context.Context) ([]string, error) {
	if v.in.Kind == ralph.ViewBase || v.in.Base.Snapshot == v.in.Now.Snapshot {
		return nil, nil
	}
	tests, err := v.examiner.testsAsAtBase(ctx, v.in)
	if err != nil || len(tests) == 0 {
		return nil, err
	}
	changes, err := v.isolated.Touched(ctx, tests)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	var found []string
	for _, c := range changes {
		if !isRoutineRewrite(c) {
			found = append(found, c.Name)
		}
	}
	return found, err
}

// testsAsAtBase lists the test sources that a view shows as they were at the base.
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
		return other[name] || !rules.Test(name) ||
			!isTestSource(name)
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

// isRoutineRewrite reports whether a check may have rewritten a test from the base in good faith:
// by formatting it, generating it again, or recording in it.
func isRoutineRewrite(c pristine.Change) bool {
	before, err := os.ReadFile(c.Before)
	if err != nil {
		return true
	}
	lower := bytes.ToLower(before)
	if bytes.Contains(lower[:min(len(lower), 1024)], []byte("generated")) ||
		bytes.Contains(lower, []byte("inlinesnapshot")) || bytes.Contains(lower, []byte("inline_snapshot")) {
		return true
	}
	if c.After == "" {
		return false
	}
	after, err := os.ReadFile(c.After)
	return err == nil && !bytes.Equal(before, after) && slices.Equal(ignoreFormat(before), ignoreFormat(after))
}

// ignoreFormat strips everything that a formatter may add, remove or move. It also sorts the bytes,
// because formatters sort imports.
func ignoreFormat(code []byte) []byte {
	kept := bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n,;'\"`()", r) {
			return -1
		}
		return r
	}, code)
	slices.Sort(kept)
	return kept
}

// baseWrites records which tests a check writes at the base, before any work of the agent.
type baseWrites struct {
	touched map[string]bool
	unclear bool // unclear means that the check did not get as far as running tests
}

// writesAtBase runs a check at the base, to see whether the check itself writes tests or the
// agent's code does. This costs a second run, so it is done only for a check that wrote some.
func (e *Examiner) writesAtBase(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (baseWrites, error) {
	hidden := in.Kind == ralph.ViewHidden
	if in.Kind = ralph.ViewBase; hidden {
		in.Kind = viewHiddenBase
	}
	key := strings.Join([]string{in.Base.Snapshot, string(in.Kind), string(in.Access), check.Dir, command(check)}, "\x00")
	if known, ok := e.baseWrites[key]; ok {
		return known, nil
	}
	tree, err := e.viewTree(ctx, in)
	if err != nil {
		return baseWrites{}, err
	}
	var writes baseWrites
	err = e.withView(ctx, in, func(v *view) (err error) {
		writes, err = v.writes(ctx, tree, check)
		return err
	})
	if err == nil && ctx.Err() == nil {
		if e.baseWrites == nil {
			e.baseWrites = map[string]baseWrites{}
		}
		e.baseWrites[key] = writes
	}
	return writes, err
}

func (v *view) writes(ctx context.Context, tree canary.Tree, check ralph.CheckInput) (baseWrites, error) {
	check.Folder, check.File = "", ""
	run, err := v.run(ctx, tree, check, nil)
	if err != nil {
		return baseWrites{}, err
	}
	tests, err := v.examiner.testsAsAtBase(ctx, v.in)
	if err != nil {
		return baseWrites{}, err
	}
	changes, err := v.isolated.Touched(ctx, tests)
	if errors.Is(err, errors.ErrUnsupported) {
		return baseWrites{unclear: true}, nil
	}
	writes := baseWrites{
		touched: map[string]bool{},
		unclear: run.outcome.Exit != 0 && len(run.outcome.Tests) == 0 && run.outcome.Total <= 0,
	}
	for _, c := range changes {
		writes.touched[c.Name] = true
	}
	return writes, err
}
