//go:build linux

package real

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// measure computes the right answer to a case, and lets Ralph answer.
func (c *change) measure() {
	if err := c.try(); err != nil {
		c.Dropped = strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " ")
		if runes := []rune(c.Dropped); len(runes) > 300 {
			c.Dropped = string(runes[:300])
		}
	}
}

func (c *change) try() error {
	w, err := newWorld(c)
	if w != nil {
		defer w.remove()
	}
	if err != nil {
		return err
	}
	old, err := c.tree(c.Old)
	if err != nil {
		return err
	}
	next := old
	if c.Kind == pairOfVersions {
		if next, err = c.tree(c.New); err != nil {
			return err
		}
	}
	if err := w.requirePass(old, "the old version"); err != nil {
		return err
	}
	if c.Kind == pairOfVersions {
		err = w.answer(old, next)
	} else {
		old, err = w.seed(next)
	}
	if err != nil {
		return err
	}
	bare, err := w.bare(next)
	if err != nil {
		return err
	}
	c.Bare = bare.Seconds()
	if err := w.prepare(old, next); err != nil {
		return err
	}
	return w.ralph()
}

// tree returns the files of a version.
func (c *change) tree(version string) (tree, error) {
	dir, err := c.fetch(version)
	if err != nil {
		return nil, err
	}
	tr, err := readTree(dir)
	if err == nil && c.Ecosystem == "npm" {
		tr[".gitignore"] = file{"node_modules\n", 0o644} // packages do not ship it
	}
	return tr, err
}

func (w *world) requirePass(tr tree, what string) error {
	run, err := w.plain(tr)
	if err == nil && run.code != 0 {
		text := run.stdout + run.stderr
		if *show {
			return fmt.Errorf("%s fails: %s", what, text)
		}
		return fmt.Errorf("%s fails: %s", what, lastLine(text))
	}
	return err
}

// answer computes the right answer to a pair of versions by plain runs.
func (w *world) answer(old, next tree) error {
	if err := w.requirePass(next, "the new version"); err != nil {
		return err
	}
	oldTests, err := w.steady(mix(w.c.Ecosystem, old, next))
	if err != nil {
		return err
	}
	newTests, err := w.steady(mix(w.c.Ecosystem, next, old))
	if err != nil {
		return err
	}
	switch {
	case !oldTests:
		w.c.Want, w.c.Why = 7, "old tests fail"
	case newTests:
		w.c.Want, w.c.Why = 7, "nothing fails without the work"
	default:
		w.c.Want, w.c.Why = 0, "old tests pass, new ones fail without the work"
	}
	return nil
}

// steady runs a check, twice if it fails.
func (w *world) steady(tr tree) (bool, error) {
	for range 2 {
		if run, err := w.plain(tr); err != nil || run.code == 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// bugs is how often seed looks for a bug.
const bugs = 12

// seed returns the tree with a single bug of the kind that the case asks for.
func (w *world) seed(right tree) (tree, error) {
	sum := fnv.New64a()
	fmt.Fprint(sum, w.c.Ecosystem, w.c.Name)
	sites := mutations(w.c.Ecosystem, right)
	random := rand.New(rand.NewPCG(sum.Sum64(), 0))
	random.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	for _, site := range sites[:min(bugs, len(sites))] {
		wrong := maps.Clone(right)
		wrong[site.name] = file{site.text, right[site.name].mode}
		run, err := w.plain(wrong)
		if err != nil {
			return nil, err
		}
		if run.code < 0 || (run.code == 0) != (w.c.Kind == unnoticedBug) {
			continue
		}
		w.c.Bug, w.c.Want, w.c.Why = site.what, 0, "it fails with the bug"
		if w.c.Kind == unnoticedBug {
			w.c.Want, w.c.Why = 7, "it passes with the bug"
		}
		return wrong, nil
	}
	return nil, fmt.Errorf("no such bug in %d tries", min(bugs, len(sites)))
}

// flips are what becomes of an operator, in every language here.
var flips = [][2]string{
	{" == ", " != "}, {" != ", " == "}, {" === ", " !== "}, {" !== ", " === "}, {" < ", " <= "}, {" <= ", " < "},
	{" > ", " >= "}, {" >= ", " > "}, {" && ", " || "}, {" || ", " && "}, {" + 1", " + 2"}, {" - 1", " - 2"},
}

// mutation is a file with a bug.
type mutation struct{ name, text, what string }

var (
	product = regexp.MustCompile(`\.(go|[cm]?js|py|c)$`)
	aside   = regexp.MustCompile(`(^|/)(_?examples?|docs?|bench(mark)?s?|cmd|vendor|contrib|dist|setup\.py|\..*)(/|$)`)
	comment = regexp.MustCompile(`^\s*(//|#|\*|/\*|>>>|\.\.\.)`)
)

// mutations returns every single bug that can be seeded into a tree's product, in a fixed order.
func mutations(ecosystem string, tr tree) []mutation {
	var all []mutation
	for _, name := range slices.Sorted(maps.Keys(tr)) {
		if isTest(ecosystem, name) || !product.MatchString(name) || aside.MatchString(filepath.ToSlash(name)) {
			continue
		}
		lines := strings.SplitAfter(tr[name].text, "\n")
		for i, line := range lines {
			if comment.MatchString(line) {
				continue
			}
			for _, flip := range flips {
				before, after, found := strings.Cut(line, flip[0])
				if !found {
					continue
				}
				changed := slices.Clone(lines)
				changed[i] = before + flip[1] + after
				what := fmt.Sprintf("%s:%d: %s instead of %s", name, i+1, strings.TrimSpace(flip[1]), strings.TrimSpace(flip[0]))
				all = append(all, mutation{name, strings.Join(changed, ""), what})
			}
		}
	}
	return all
}

func TestMutations(t *testing.T) {
	tr := tree{
		"a.go": {text: "// a == b\nif a == b {\n"}, "a_test.go": {text: "if a == b {\n"}, "docs/x.js": {text: "a < b\n"},
	}
	want := []mutation{{"a.go", "// a == b\nif a != b {\n", "a.go:2: != instead of =="}}
	if got := mutations("go", tr); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
