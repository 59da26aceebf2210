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

// Limit is as much of a file as is ever looked at. A Reader may stop there. A file of that size that steers checks only in
// a part of it counts as a whole.
const Limit = 4 << 20

// PresetTests is the name of the only preset: tests that exist at the base, and what steers them.
const PresetTests = "tests"

// Config says what to protect.
type Config struct {
	Globs   []string // the user's, as in .gitignore; "!x" takes out again. PresetTests is that preset
	Literal []string // the harness's own: configuration, prompts, the goal, scripts that checks start
	Exempt  []string // task lists and steering files: never protected, whatever matches
	Checks  []string // the commands, since a Makefile steers those that use make
}

// Rules say which files of a workspace matter to checks. The zero value protects nothing.
type Rules struct {
	globs   []pattern
	tests   bool
	literal []string
	exempt  []string
	checks  []string
	base    *baseFiles
}

// New makes rules of a configuration. A pattern that cannot match is an error that names it.
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

// The trees: as it was at the base, and as it is now.
const (
	Base Side = iota
	Now
)

// Reader gives a file of one side, at least its first Limit bytes. A link reads as its target. One that is not there is
// fs.ErrNotExist.
type Reader func(ctx context.Context, which Side, name string) ([]byte, error)

// Trees is how the two trees are looked at.
type Trees struct {
	Read Reader
	Find Finder
}

// Sorted is what changes mean, each list by name.
type Sorted struct {
	Tampered []ralph.FileChange // protected and changed or deleted, also if a link or a folder is there now; of the harness's own, added ones too
	Unseen   []ralph.FileChange // added and matching: checks do not see them
	Tests    []ralph.FileChange // not protected: tests that existed and were changed or deleted, and files that steer them, also added ones
	Aware    []Aware            // product code
}

// Sort says what changes mean. It reads only files whose content decides.
func (r Rules) Sort(ctx context.Context, changes []ralph.FileChange, trees Trees) (Sorted, error) {
	in := &inspection{ctx: ctx, trees: trees, rules: r}
	if err := in.lookForKin(changes); err != nil {
		return Sorted{}, err
	}
	var out Sorted
	for _, change := range changes {
		if err := ctx.Err(); err != nil {
			return Sorted{}, err
		}
		state, err := in.protected(change)
		if err != nil {
			return Sorted{}, fmt.Errorf("inspect %q: %w", change.Name, err)
		}
		switch {
		case state == ignored:
		case state == weighed:
			out.Tests = append(out.Tests, change)
		case change.Kind == ralph.FileAdded && !r.own(change.Name):
			out.Unseen = append(out.Unseen, change)
		default:
			out.Tampered = append(out.Tampered, change)
		}
	}
	var err error
	if out.Aware, err = in.becameAware(changes); err != nil {
		return Sorted{}, fmt.Errorf("look who asks whether it is tested: %w", err)
	}
	out.Unseen = append(out.Unseen, inTheWay(changes, out)...)
	for _, list := range [][]ralph.FileChange{out.Tampered, out.Unseen, out.Tests} {
		slices.SortFunc(list, func(a, b ralph.FileChange) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out, nil
}

// inTheWay finds what was put where a protected file was: a link in place of its folder, or a folder in place of the file.
// Those names match nothing by themselves.
func inTheWay(changes []ralph.FileChange, sorted Sorted) []ralph.FileChange {
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

// meaning is what one change is to checks.
type meaning int

const (
	ignored meaning = iota
	weighed
	guarded
)

// inspection is one call of Sort.
type inspection struct {
	ctx   context.Context
	trees Trees
	rules Rules
	kin   map[string]bool // see lookForKin
	words map[string]bool // that checks are made of, see uses
}

// protected says what a change means by the user's and the harness's lists first, and by what tests are otherwise.
func (in *inspection) protected(change ralph.FileChange) (meaning, error) {
	r, name := in.rules, change.Name
	if within(name, r.exempt) {
		return ignored, nil
	}
	chosen, taken := r.chosen(name)
	if chosen || r.own(name) {
		return guarded, nil
	}
	state, err := in.byKind(change)
	if state == guarded && (taken || !r.tests) {
		state = weighed
	}
	return state, err
}

// chosen asks the user's patterns. The last one that matches decides.
func (r Rules) chosen(name string) (chosen, taken bool) {
	for _, p := range slices.Backward(r.globs) {
		if p.matches(name) {
			return !p.takes, p.takes
		}
	}
	return false, false
}

// own says that the harness itself relies on a file. One that was not there steers the next run as much as one that was changed.
func (r Rules) own(name string) bool { return within(name, r.literal) && !r.named(name) }

// named says that the user took out this very file. A wildcard must not open what the harness itself relies on.
func (r Rules) named(name string) bool {
	return slices.ContainsFunc(r.globs, func(p pattern) bool { return p.takes && p.plain && p.matches(name) })
}

// byKind says what a change is by the habits of ecosystems: guarded for tests of the base and what steers them, weighed
// for tests inside of product code.
func (in *inspection) byKind(change ralph.FileChange) (meaning, error) {
	if rule, steers := steeringRule(change.Name); steers {
		counts, err := in.steers(rule, change)
		if counts {
			return guarded, err
		}
		return ignored, err
	}
	switch {
	case testName(change.Name):
		return in.test(change)
	case in.kin[change.Name]:
		return guarded, nil
	case path.Ext(change.Name) == ".rs" && change.Kind != ralph.FileAdded:
		changed, err := in.compare(change, rustTestsDiffer)
		if changed {
			return weighed, err
		}
		return ignored, err
	}
	return ignored, nil
}

// test says what a change of a test means. An added one is honest work, but for one that takes over the tests beside it.
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

// compare reads both sides of a change. A missing one is empty.
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

// content reads a file. One that is not there is empty: the copies may have been made while it came or went.
func (in *inspection) content(side Side, name string) ([]byte, error) {
	data, err := in.trees.Read(in.ctx, side, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data[:min(len(data), Limit)], err
}

// exists says whether the base has a file.
func (in *inspection) exists(name string) (bool, error) {
	_, err := in.trees.Read(in.ctx, Base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// likeLink says that a text may be the target of a link: one word without the end of a line, as no file of ours is.
func likeLink(data []byte) bool {
	return len(data) > 0 && len(data) < 4096 && !strings.ContainsAny(string(data), "\n\r\t ={(<:[")
}

// baseFiles is what the base has.
type baseFiles struct {
	ecosystems map[ecosystem]bool // with tests
	goTests    map[string]bool    // folders, and those above them
	goBeside   map[string]bool    // folders
	names      []string
	baseNames  map[string]int // how many files have one
}

// Since tells the rules which files the base has. Where a language had no tests, what steers tests may be added: a project
// that is begun from nothing could never be completed otherwise. Without it every language is taken to have tests.
func (r Rules) Since(files []string) Rules {
	base := &baseFiles{ecosystems: map[ecosystem]bool{}, goTests: map[string]bool{}, goBeside: map[string]bool{}, names: files, baseNames: map[string]int{}}
	for _, name := range files {
		base.baseNames[path.Base(name)]++
		kind := ecosystems[path.Ext(name)]
		// Tests of Rust are in source files as often as beside them.
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
