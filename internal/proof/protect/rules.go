package protect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// Limit is how much of a file is ever read. A Reader may stop there. A file of that size that
// affects checks only in part counts as a whole.
const Limit = 4 << 20

// PresetTests is the name of the only preset: tests that exist at the base, and the files that
// configure them.
const PresetTests = "tests"

// Config defines what to protect.
type Config struct {
	// Globs are the user's patterns, as in .gitignore; "!x" removes protection. PresetTests selects
	// that preset.
	Globs   []string
	Literal []string // the harness's own: configuration, prompts, the goal, scripts that checks start
	Exempt  []string // task lists and steering files: never protected
	Checks  []string // the commands, because a Makefile affects those that use make
}

// Rules decide which files of a workspace matter to checks. The zero value protects nothing.
type Rules struct {
	globs   []pattern
	tests   bool
	literal []string
	exempt  []string
	checks  []string
	base    *baseFiles
}

// New makes rules from a configuration. A pattern that cannot match is an error that names it.
func New(c Config) (Rules, error) {
	r := Rules{literal: cleanNames(c.Literal), exempt: cleanNames(c.Exempt), checks: slices.Clone(c.Checks)}
	for _, glob := range c.Globs {
		if glob == PresetTests {
			r.tests = true
			continue
		}
		p, err := parsePattern(glob)
		if err != nil {
			return Rules{}, err
		}
		r.globs = append(r.globs, p)
	}
	return r, nil
}

// Side is one of the two trees that are compared.
type Side int

// The trees: at the base, and now.
const (
	Base Side = iota
	Now
)

// Reader returns a file of one side, at least its first Limit bytes. A link reads as its target. A
// missing file is fs.ErrNotExist.
type Reader func(ctx context.Context, which Side, name string) ([]byte, error)

// Trees gives access to the two trees.
type Trees struct {
	Read Reader
	Find Finder
}

// Sorted is what changes mean, each list sorted by name.
type Sorted struct {
	// Tampered are protected files that were changed or deleted, even if a link or a folder
	// replaced them, and added files of the harness's own.
	Tampered []ralph.FileChange
	Unseen   []ralph.FileChange // added and matching: checks do not see them
	// Tests are unprotected: tests that existed and were changed or deleted, and files that
	// configure them, including added ones.
	Tests []ralph.FileChange
	Aware []Aware // product code
}

// Sort classifies changes. It reads only files whose content decides.
func (r Rules) Sort(ctx context.Context, changes []ralph.FileChange, trees Trees) (Sorted, error) {
	in := &inspection{ctx: ctx, trees: trees, rules: r}
	if err := in.findTestParts(changes); err != nil {
		return Sorted{}, err
	}
	var out Sorted
	for _, change := range changes {
		if err := ctx.Err(); err != nil {
			return Sorted{}, err
		}
		state, err := in.classify(change)
		if err != nil {
			return Sorted{}, fmt.Errorf("inspect %q: %w", change.Name, err)
		}
		switch {
		case state == ignored:
		case state == runWithBase:
			out.Tests = append(out.Tests, change)
		case change.Kind == ralph.FileAdded && !r.own(change.Name):
			out.Unseen = append(out.Unseen, change)
		default:
			out.Tampered = append(out.Tampered, change)
		}
	}
	var err error
	if out.Aware, err = in.becameAware(changes); err != nil {
		return Sorted{}, fmt.Errorf("find test-aware code: %w", err)
	}
	out.Unseen = append(out.Unseen, replacements(changes, out)...)
	for _, list := range [][]ralph.FileChange{out.Tampered, out.Unseen, out.Tests} {
		slices.SortFunc(list, func(a, b ralph.FileChange) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out, nil
}

// replacements finds what was put in place of a protected file: a link instead of its folder, or a
// folder instead of the file. Those names match nothing by themselves.
func replacements(changes []ralph.FileChange, sorted Sorted) []ralph.FileChange {
	var gone []string
	folders := map[string]bool{}
	for _, change := range sorted.Tampered {
		if change.Kind != ralph.FileDeleted {
			continue
		}
		gone = append(gone, change.Name)
		for dir := path.Dir(change.Name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, change := range sorted.Unseen {
		known[change.Name] = true
	}
	var found []ralph.FileChange
	for _, change := range changes {
		if change.Kind == ralph.FileAdded && !known[change.Name] && (folders[change.Name] || within(change.Name, gone)) {
			found = append(found, change)
		}
	}
	return found
}

// meaning is what one change means to checks.
type meaning int

const (
	ignored meaning = iota
	runWithBase
	guarded
)

// inspection is one call of Sort.
type inspection struct {
	ctx       context.Context
	trees     Trees
	rules     Rules
	testParts map[string]bool // see findTestParts
	words     map[string]bool // words that checks consist of, see uses
}

// classify classifies a change, first by the user's and the harness's lists, then by the rules for
// tests.
func (in *inspection) classify(change ralph.FileChange) (meaning, error) {
	r, name := in.rules, change.Name
	if within(name, r.exempt) {
		return ignored, nil
	}
	chosen, taken := r.match(name)
	if chosen || r.own(name) {
		return guarded, nil
	}
	state, err := in.byKind(change)
	if state == guarded && (taken || !r.tests) {
		state = runWithBase
	}
	return state, err
}

// Protected reports whether a file is protected by its name alone: by a pattern of the user, or
// because the harness relies on it.
func (r Rules) Protected(name string) bool {
	chosen, _ := r.match(name)
	return chosen || r.own(name)
}

// match applies the user's patterns. The last one that matches decides.
func (r Rules) match(name string) (chosen, taken bool) {
	for _, p := range slices.Backward(r.globs) {
		if p.matches(name) {
			return !p.exempts, p.exempts
		}
	}
	return false, false
}

// own reports whether the harness itself relies on a file. A new one affects the next run as much
// as a changed one.
func (r Rules) own(name string) bool { return within(name, r.literal) && !r.exemptedByName(name) }

// exemptedByName reports whether the user exempted exactly this file. A wildcard must not exempt
// files that the harness relies on.
func (r Rules) exemptedByName(name string) bool {
	return slices.ContainsFunc(r.globs, func(p pattern) bool { return p.exempts && p.plain && p.matches(name) })
}

// byKind classifies a change by the conventions of ecosystems: guarded for tests of the base,
// runWithBase for their configuration and for tests inside product code.
func (in *inspection) byKind(change ralph.FileChange) (meaning, error) {
	if rule, steers := steeringRule(change.Name); steers {
		counts, err := in.steers(rule, change)
		if counts {
			return runWithBase, err // it may be honest, so it is compared with the base's version instead of refused
		}
		return ignored, err
	}
	switch {
	case testName(change.Name):
		return in.test(change)
	case in.testParts[change.Name]:
		return guarded, nil
	case path.Ext(change.Name) == ".rs" && change.Kind != ralph.FileAdded:
		changed, err := in.compare(change, rustTestsDiffer)
		if changed {
			return runWithBase, err
		}
		return ignored, err
	}
	return ignored, nil
}

// test classifies a change of a test. An added one is honest work, unless it takes over the tests
// beside it.
func (in *inspection) test(change ralph.FileChange) (meaning, error) {
	switch {
	case change.Kind != ralph.FileAdded:
		listed, err := in.onlyListed(change)
		if listed {
			return ignored, err
		}
		return guarded, err
	case strings.HasSuffix(change.Name, "_test.go") && in.rules.base.testsBeside(path.Dir(change.Name)):
		now, err := in.content(Now, change.Name)
		if err == nil && (len(now) >= Limit || takesOverGoTests(now)) {
			return guarded, nil
		}
		return ignored, err
	}
	return ignored, nil
}

// compare reads both sides of a change. A missing side is empty.
func (in *inspection) compare(change ralph.FileChange, differ func(base, now []byte) bool) (bool, error) {
	var base, now []byte
	var err error
	if change.Kind != ralph.FileAdded {
		if base, err = in.content(Base, change.Name); err != nil {
			return false, err
		}
	}
	if change.Kind != ralph.FileDeleted {
		if now, err = in.content(Now, change.Name); err != nil {
			return false, err
		}
	}
	if len(base) >= Limit || len(now) >= Limit || change.Kind == ralph.FileChanged && likeLink(now) != likeLink(base) {
		return true, nil
	}
	return differ(base, now), nil
}

// content reads a file. A missing one is empty: the snapshots may have been taken while it appeared
// or disappeared.
func (in *inspection) content(side Side, name string) ([]byte, error) {
	data, err := in.trees.Read(in.ctx, side, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data[:min(len(data), Limit)], err
}

// exists reports whether the base has a file.
func (in *inspection) exists(name string) (bool, error) {
	_, err := in.trees.Read(in.ctx, Base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// likeLink reports whether a text may be the target of a link: one word without a line end, which
// none of the compared files is.
func likeLink(data []byte) bool {
	return len(data) > 0 && len(data) < 4096 && !strings.ContainsAny(string(data), "\n\r\t ={(<:[")
}

// baseFiles describes the files of the base.
type baseFiles struct {
	ecosystems map[ecosystem]bool // with tests
	goTests    map[string]bool    // folders, and those above them
	goBeside   map[string]bool    // folders
	names      []string
	baseNames  map[string]int // how many files share a base name
}

// Since tells the rules which files the base has. If a language had no tests, configuration of
// tests may be added; otherwise a project started from scratch could never be completed. Without
// this call every language is assumed to have tests.
func (r Rules) Since(files []string) Rules {
	base := &baseFiles{
		ecosystems: map[ecosystem]bool{},
		goTests:    map[string]bool{},
		goBeside:   map[string]bool{},
		names:      files,
		baseNames:  map[string]int{},
	}
	for _, name := range files {
		base.baseNames[path.Base(name)]++
		kind := ecosystems[path.Ext(name)]
		// Rust tests are in source files as often as beside them.
		if kind == rust || kind != "" && testName(name) {
			base.ecosystems[kind] = true
		}
		if strings.HasSuffix(name, "_test.go") {
			base.goBeside[path.Dir(name)] = true
			for dir := path.Dir(name); !base.goTests[dir]; dir = path.Dir(dir) {
				base.goTests[dir] = true
			}
		}
	}
	r.base = base
	return r
}

func (b *baseFiles) tested(kind ecosystem) bool {
	return b == nil || b.ecosystems[kind] || kind == other && len(b.ecosystems) > 0
}

func (b *baseFiles) testsBeside(dir string) bool { return b == nil || b.goBeside[dir] }

func (b *baseFiles) goTestsBelow(dir string) bool { return b == nil || b.goTests[dir] }
