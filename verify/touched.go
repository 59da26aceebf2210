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

// viewHiddenBase is the base, with the files of hidden checks laid over.
const viewHiddenBase ralph.ViewKind = "hidden_base"

// Check runs one check. One that passed after tests of the base were rewritten in its view did not: nobody knows what it ran. They may be as they
// were again by now.
func (v *view) Check(ctx context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	result, err := v.Shell.Check(ctx, in)
	v.planted = v.planted || v.examiner.Canary != "" && in.Command == v.examiner.Canary
	if err != nil || v.planted || ctx.Err() != nil {
		return result, err
	}
	touched, err := v.rewritten(ctx)
	if err != nil {
		return result, err
	}
	for _, name := range touched {
		if v.suspects == nil {
			v.suspects = map[string]ralph.CheckInput{}
		}
		v.suspects[name] = in
	}
	if swapped := v.swapped(); len(swapped) > 0 && result.Passed {
		return notPassed(result, swapped), nil
	}
	if len(v.suspects) == 0 || !result.Passed {
		return result, nil
	}
	for name, by := range v.suspects {
		habit, err := v.examiner.habitAtBase(ctx, v.in, by)
		if err != nil || ctx.Err() != nil {
			return result, err
		}
		if habit.unclear || habit.touched[name] {
			delete(v.suspects, name)
		}
	}
	if len(v.suspects) > 0 {
		result = notPassed(result, slices.Sorted(maps.Keys(v.suspects)))
	}
	return result, nil
}

func notPassed(result ralph.CheckResult, tests []string) ralph.CheckResult {
	result.Passed = false
	output := tail{kept: []byte(result.Output)}
	result.Output = output.text(changedWhile(tests))
	return result
}

func changedWhile(tests []string) string {
	const shown = 5
	remark := "Not passed: these tests were changed while checks ran: " + strings.Join(tests[:min(len(tests), shown)], ", ")
	if more := len(tests) - shown; more > 0 {
		remark += fmt.Sprintf(" and %d more", more)
	}
	return remark
}

// rewritten names the tests that are shown as at the base and that commands wrote since somebody last looked. Nothing is said of views that cannot
// tell, of the base itself, and of tests that the agent changed: how those fare is weighed with the old ones.
func (v *view) rewritten(ctx context.Context) ([]string, error) {
	if v.in.Kind == ralph.ViewBase || v.in.Base.Snapshot == v.in.Now.Snapshot {
		return nil, nil
	}
	tests, err := v.examiner.testsAsAtBase(ctx, v.in)
	if err != nil || len(tests) == 0 {
		return nil, err
	}
	changes, err := v.made.Touched(ctx, tests)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	var found []string
	for _, c := range changes {
		if !rewriteIsUsual(c) {
			found = append(found, c.Name)
		}
	}
	return found, err
}

// testsAsAtBase are the sources of tests that a view shows as they were at the base.
func (e *Examiner) testsAsAtBase(ctx context.Context, in ralph.ViewInput) ([]string, error) {
	if e.Copies == nil || in.Base.Snapshot == "" {
		return nil, nil
	}
	found, err := e.sort(ctx, in.Base, in.Now)
	if err != nil {
		return nil, err
	}
	rules, err := e.rulesSince(ctx, in.Base.Snapshot)
	if err != nil {
		return nil, err
	}
	files, err := e.Copies.Files(ctx, in.Base.Snapshot)
	if err != nil {
		return nil, err
	}
	other := map[string]bool{}
	for _, c := range found.all {
		other[c.Name] = true
	}
	for _, c := range found.shownOld(in.Kind) {
		delete(other, c.Name)
	}
	return slices.DeleteFunc(files, func(name string) bool { return other[name] || !rules.Test(name) || !testSource(name) }), nil
}

var (
	sourceEndings = strings.Fields(`.go .py .js .jsx .ts .tsx .mjs .cjs .mts .cts .rs .java .kt .groovy .scala .rb .cs .fs .vb .php
		.ex .exs .swift .dart .c .cc .cpp .cxx .h .hpp .m .zig .lua .sh .bats .t .pl .hs .clj .erl`)
	writtenByChecks = strings.Fields(`snapshot golden testdata test-data test_data fixture sandbox playground cassette generated node_modules/ dist/ build/ out/ target/
		tmp/ temp/ output expected examples/ approved verified received baseline .gen. _gen. .pb.`)
)

// testSource reports whether a test is code that somebody wrote, not what checks may well write themselves: what is recorded, and what tests play with.
func testSource(name string) bool {
	lower := strings.ToLower(name)
	written := slices.ContainsFunc(writtenByChecks, func(word string) bool { return strings.Contains(lower, word) })
	return !written && slices.Contains(sourceEndings, path.Ext(name))
}

// rewriteIsUsual reports whether a check may have done that to a test of the base in good faith: formatted it, generated it again, or recorded in it.
func rewriteIsUsual(c pristine.Change) bool {
	before, err := os.ReadFile(c.Before)
	if err != nil {
		return true
	}
	lower := bytes.ToLower(before)
	if bytes.Contains(lower[:min(len(lower), 1024)], []byte("generated")) || bytes.Contains(lower, []byte("inlinesnapshot")) || bytes.Contains(lower, []byte("inline_snapshot")) {
		return true
	}
	if c.After == "" {
		return false
	}
	after, err := os.ReadFile(c.After)
	return err == nil && !bytes.Equal(before, after) && slices.Equal(unformatted(before), unformatted(after))
}

// unformatted is the code without what a formatter may add, take away or move: lines in their order are left to it, too, since it sorts imports.
func unformatted(code []byte) []byte {
	kept := bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n,;'\"`()", r) {
			return -1
		}
		return r
	}, code)
	slices.Sort(kept)
	return kept
}

// baseHabit is what a check does to tests where no agent has been.
type baseHabit struct {
	touched map[string]bool
	unclear bool // it did not come to run tests
}

// habitAtBase runs a check at the base, to see whether it is the check that writes tests or what the agent made. That takes a second run, so it
// is done only for one that wrote some.
func (e *Examiner) habitAtBase(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (baseHabit, error) {
	hidden := in.Kind == ralph.ViewHidden
	if in.Kind = ralph.ViewBase; hidden {
		in.Kind = viewHiddenBase
	}
	key := strings.Join([]string{in.Base.Snapshot, string(in.Kind), string(in.Access), check.Dir, command(check)}, "\x00")
	if known, ok := e.asked[key]; ok {
		return known, nil
	}
	tree, err := e.shown(ctx, in)
	if err != nil {
		return baseHabit{}, err
	}
	var habit baseHabit
	err = e.inView(ctx, in, func(v *view) (err error) {
		habit, err = v.habit(ctx, tree, check)
		return err
	})
	if err == nil && ctx.Err() == nil {
		if e.asked == nil {
			e.asked = map[string]baseHabit{}
		}
		e.asked[key] = habit
	}
	return habit, err
}

func (v *view) habit(ctx context.Context, tree canary.Tree, check ralph.CheckInput) (baseHabit, error) {
	check.Folder, check.File = "", ""
	outcome, _, err := v.tryCanaries(ctx, tree, nil, check)
	if err != nil {
		return baseHabit{}, err
	}
	tests, err := v.examiner.testsAsAtBase(ctx, v.in)
	if err != nil {
		return baseHabit{}, err
	}
	changes, err := v.made.Touched(ctx, tests)
	if errors.Is(err, errors.ErrUnsupported) {
		return baseHabit{unclear: true}, nil
	}
	habit := baseHabit{touched: map[string]bool{}, unclear: outcome.Exit != 0 && len(outcome.Tests) == 0 && outcome.Total <= 0}
	for _, c := range changes {
		habit.touched[c.Name] = true
	}
	return habit, err
}
