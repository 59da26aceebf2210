package canary

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// maxMutated limits the tests in which a literal is changed. Each of them makes the check fail, and
// a few are enough to find code that lets tests pass.
const maxMutated = 5

// Limits for the files that are searched for literals. A larger file is not one that a person wrote,
// and searching it takes long.
const (
	maxSearched  = 256 << 10
	maxFileTests = 1000
)

// Mutation is what Mutate needs.
type Mutation struct {
	Tree    Tree
	Base    Tree // what the agent began with; the zero value stands for the tree itself
	Command string
	Random  io.Reader // gives 32 bytes
	// Named reports whether a runner names a test as one that passes.
	Named   func(Mark) bool
	Unnamed Unnamed
}

// Mutate changes one compared literal in a few existing tests, chosen at random. Code that lets the
// tests it knows pass lets these pass as well: a value that is equal to everything, an assertion that
// was replaced, code that recognizes the names of its tests.
//
// The same random bytes give the same choice in two trees, as far as both have the same tests:
// whether a test is chosen depends on its name, its file and these bytes, and only its limited
// number on the rest of the tree. Only tests that are named are changed. If there are none,
// because the runner does not name its tests, those beside canaries that failed at the base are changed, and otherwise
// scripts: then only the status of the check tells whether it noticed, or the number of failing tests. The result is
// nil if nothing can be changed, or if there is no randomness.
func Mutate(in Mutation) []Plant {
	var seed [32]byte
	if _, err := io.ReadFull(in.Random, seed[:]); err != nil {
		return nil
	}
	g := newPlanner(in.Tree, in.Command, bytes.NewReader(seed[:]))
	if g == nil {
		return nil
	}
	m := &mutator{planner: g, seed: seed, base: in.Base}
	if m.base.Read == nil {
		m.base = in.Tree
	}
	var all []candidate
	for ecosystem, find := range m.finders() {
		all = append(all, certain(ecosystem, find())...)
	}
	if chosen := m.choose(all, func(c candidate) bool { return in.Named(c.mark()) }, maxMutated); len(chosen) > 0 {
		return m.apply(chosen)
	}
	beside := m.besideCanaries(all, in.Unnamed)
	if len(beside) == 0 {
		beside = m.choose(certain(scriptKey, m.findScripts()), func(candidate) bool { return true }, maxScripts)
	}
	for i := range beside {
		beside[i].byStatus = true
	}
	return m.apply(beside)
}

// Unnamed is what the base tells about a runner that does not name its tests.
type Unnamed struct {
	Failed []string // keys of canaries that failed
	// GoesOn is true if it counts failing tests, and tests of more than one file failed in one run.
	GoesOn bool
}

// besideCanaries chooses tests in folders in which canaries failed at the base. If the runner counts, several tests can
// fail in one run. They are of one ecosystem, and in Rust of one file, because cargo stops after a program that fails.
func (m *mutator) besideCanaries(all []candidate, unnamed Unnamed) []candidate {
	if m.filtersElsewhere() {
		return nil
	}
	beside := func(c candidate) bool { return c.sets == 0 && c.besideOne(unnamed.Failed) }
	certainlyRuns := func(c candidate) bool { return beside(c) && !mayBeLeftOut().MatchString(m.search(c.file)) }
	one := m.choose(all, certainlyRuns, maxUnnamed)
	if len(one) == 0 || !unnamed.GoesOn {
		return m.choose(all, beside, maxUnnamed)
	}
	several := m.choose(all, func(c candidate) bool {
		return certainlyRuns(c) && c.ecosystem == one[0].ecosystem && (c.ecosystem != "rust" || c.file == one[0].file)
	}, maxMutated)
	for i := range several {
		several[i].byCount = true
	}
	return several
}

// mayBeLeftOut matches the text of files in which a test may not run, or may not fail: by a word for it, or by a helper
// that gets Go's T.
var mayBeLeftOut = text.LazyRegexp(`(?i)skip|xfail|expectedFailure|ignore|\.only\b|[A-Za-z_]\w*\(t[,)]`)

// finders returns what finds the tests of each ecosystem that the command may run.
func (m *mutator) finders() map[string]func() []candidate {
	finders := map[string]func() []candidate{
		"go": m.findGo, "python": m.findPython, "javascript": m.findJavaScript, "rust": m.findRust,
	}
	maps.DeleteFunc(finders, func(ecosystem string, _ func() []candidate) bool { return !m.mayRun(ecosystem) })
	return finders
}

var namesTests = text.LazyRegexp(`\s(?:-run|-skip|-k|-t|-m|--grep|--filter|--deselect|--ignore)\b`)

// filtersElsewhere reports whether a Makefile or package.json may choose tests by name: it is unknown which run.
func (m *mutator) filtersElsewhere() bool {
	return slices.ContainsFunc([]string{"Makefile", "makefile", "GNUmakefile", "package.json"}, func(name string) bool {
		return namesTests().MatchString(strings.ReplaceAll(m.read(name), "-m unittest", ""))
	})
}

// certain gives candidates their keys, and leaves out literals that may not be compared: a test that passes with a
// changed one would prove nothing.
func certain(ecosystem string, all []candidate) []candidate {
	for i, c := range all {
		all[i].ecosystem, all[i].key = ecosystem, ecosystem+" "+c.file+" literal "+c.test
		all[i].spots = slices.DeleteFunc(slices.Clone(c.spots), func(s spot) bool { return !s.certain })
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return len(c.spots) == 0 })
}

// besideOne reports whether a test is in the folder of a canary. Canaries of Rust have a folder of their own.
func (c candidate) besideOne(canaries []string) bool {
	return slices.ContainsFunc(canaries, func(key string) bool {
		parts := strings.SplitN(key, " ", 3)
		return len(parts) == 3 && parts[0] == c.ecosystem && (parts[0] == "rust" || parts[1] == path.Dir(c.file))
	})
}

// mutator makes the plants of [Mutate].
type mutator struct {
	*planner
	seed [32]byte
	base Tree
}

// candidate is a test of the project with the literals that it compares.
type candidate struct {
	file  string
	test  string // its name, as the runner's report ends with it
	scope string
	// guarded and groups are as in [Mark].
	guarded   bool
	groups    []string
	sets      int // as in [Mark]
	spots     []spot
	ecosystem string
	key       string
	byStatus  bool // as in [Mark]
	byCount   bool // as in [Mark]
}

// spot is one literal of a test.
type spot struct {
	span
	file    string // a file of data that the test reads; "" for the test itself
	certain bool   // it is certainly compared where the test runs, so a wrong one makes the test fail
	char    bool   // a single character, not a text
	word    bool   // a word of a shell script, with quotes or without
}

// hash returns a number that only those who know the seed can compute.
func (m *mutator) hash(purpose, name string) [32]byte {
	h := hmac.New(sha256.New, m.seed[:])
	_, _ = io.WriteString(h, purpose+"\x00"+name)
	return [32]byte(h.Sum(nil))
}

// choose chooses tests: one of each file, then a second one of each file, and so on, from the ecosystems in turn,
// otherwise at random. A test never loses its place because another one was removed, so what is chosen in a tree is
// also chosen in any part of it.
func (m *mutator) choose(all []candidate, wanted func(candidate) bool, most int) []candidate {
	type place struct {
		candidate
		turn      int
		own, kind [32]byte
	}
	places := make([]place, 0, len(all))
	for _, c := range all {
		places = append(places, place{candidate: c, own: m.hash("rank", c.key), kind: m.hash("ecosystem", c.ecosystem)})
	}
	slices.SortFunc(places, func(a, b place) int { return bytes.Compare(a.own[:], b.own[:]) })
	inFile, inEcosystem := map[string]int{}, map[string]int{}
	for i, p := range places {
		places[i].turn = inFile[p.file]
		inFile[p.file]++
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.turn, b.turn) })
	for i, p := range places {
		places[i].turn = inEcosystem[p.ecosystem]
		inEcosystem[p.ecosystem]++
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), bytes.Compare(a.kind[:], b.kind[:]))
	})
	chosen := make([]candidate, 0, most)
	for _, p := range places {
		if len(chosen) < most && wanted(p.candidate) {
			chosen = append(chosen, p.candidate)
		}
	}
	return chosen
}

// change is one literal and what replaces it.
type change struct {
	span
	text string
}

// apply changes one literal of every chosen test.
func (m *mutator) apply(chosen []candidate) []Plant {
	slices.SortFunc(chosen, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.file, b.file), strings.Compare(a.key, b.key))
	})
	marks, changes := map[string][]Mark{}, map[string][]change{}
	for _, c := range chosen {
		file, mark, change := m.change(c)
		marks[file], changes[file] = append(marks[file], mark), append(changes[file], change)
	}
	var plants []Plant
	for _, file := range slices.Sorted(maps.Keys(changes)) {
		plant := Plant{Name: file, Text: m.read(file), Inside: true, Marks: marks[file]}
		slices.SortFunc(changes[file], func(a, b change) int { return b.from - a.from })
		for _, c := range slices.CompactFunc(changes[file], func(a, b change) bool { return a.from == b.from }) {
			plant.Text = plant.Text[:c.from] + c.text + plant.Text[c.to:]
		}
		plants = append(plants, plant)
	}
	return plants
}

// change chooses one of a test's literals, and what it becomes. It returns the file that has it.
func (m *mutator) change(c candidate) (file string, mark Mark, changed change) {
	dice := rand.New(rand.NewChaCha8(m.hash("literal", c.key)))
	s := c.spots[dice.IntN(len(c.spots))]
	file = cmp.Or(s.file, c.file)
	text := m.read(file)
	// The token is never printed. It keeps this mark from being found by another one's.
	token := drawLetters(dice, 14)
	mark = c.mark()
	mark.Token = token
	if c.ecosystem == scriptKey {
		mark.Key = scriptKey + " " + c.file + " literal " + placeOf(text, s.from)
	}
	return file, mark, change{s.span, otherLiteral(s, text, dice)}
}

func (c candidate) mark() Mark {
	return Mark{
		Key: c.key, Test: []string{c.test}, Scope: c.scope, Guarded: c.guarded, Groups: c.groups, Literal: true,
		ByStatus: c.byStatus, ByCount: c.byCount, Sets: c.sets,
	}
}

// Matches reports whether a name in a runner's report is that of a literal mark's test, or of a part
// of it, such as a Go subtest or a set of pytest's parameters.
func (m Mark) Matches(name string) bool {
	if !m.Literal || len(m.Test) == 0 {
		return false
	}
	var before, after []string
	switch ecosystem, _, _ := strings.Cut(m.Key, " "); ecosystem {
	case "go":
		if m.Scope != "" {
			rest, ok := strings.CutPrefix(name, m.Scope+".")
			return ok && (rest == m.Test[0] || strings.HasPrefix(rest, m.Test[0]+"/"))
		}
		before, after = []string{"."}, []string{"/"}
	case "python":
		before, after = []string{"."}, []string{"[", " ("}
	case "javascript":
		before, after = []string{" "}, []string{" > "}
	case "rust":
		before = []string{" "}
	}
	return containsName(name, m.Test[0], before, after)
}

// containsName reports whether a name contains a test's name between one of the texts before it, or
// the beginning, and one of the texts after it, or the end.
func containsName(name, test string, before, after []string) bool {
	for from := 0; ; {
		i := strings.Index(name[from:], test)
		if i < 0 {
			return false
		}
		left, right := name[:from+i], name[from+i+len(test):]
		begins := left == "" || slices.ContainsFunc(before, func(s string) bool { return strings.HasSuffix(left, s) })
		ends := right == "" || slices.ContainsFunc(after, func(s string) bool { return strings.HasPrefix(right, s) })
		if begins && ends {
			return true
		}
		from += i + 1
		if from > len(name) {
			return false
		}
	}
}

// files returns the test files of the tree that choose accepts.
func (m *mutator) files(choose func(name string) bool) []string {
	var all []string
	for _, name := range m.tree.Files {
		if !isForeign(name) && choose(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// search returns a file's text, or "" if the file is not searched.
func (m *mutator) search(file string) string {
	if text := m.read(file); len(text) <= maxSearched {
		return text
	}
	return ""
}

// unique removes the literals of tests whose name another test has, because a report cannot tell the
// two apart.
func unique(all []candidate) []candidate {
	count := map[string]int{}
	for _, c := range all {
		count[c.test]++
	}
	for i, c := range all {
		if count[c.test] > 1 {
			all[i].spots = nil
		}
	}
	return all
}
