package canary

import (
	"cmp"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// Tree is the tree to plant canaries in. Names are relative to the workspace, with slashes.
type Tree struct {
	Files []string
	Read  func(name string) ([]byte, error)
}

// Plant is one file to put into a view. Names are unique, and new to the tree unless the canary is
// inside an existing file.
type Plant struct {
	Name  string
	Text  string
	Marks []Mark
	// Inside is true if the file is one of the project's own tests or their data, with changed literals or added
	// comments.
	Inside bool
}

// Mark is one test of a planted file, made to fail.
type Mark struct {
	// Token is random and not in the file in one piece: the test assembles it when it runs and
	// prints it when it fails.
	Token string
	// Key says where and how the test fails. It is the same at the base and now.
	Key string
	// Test holds parts of the test's name. The first part occurs in no other test's name.
	Test []string
	// Scope is the runner's name for the folder, if it prints one: a Go package.
	Scope string
	// Guarded is true if the project's own code decides whether tests run at all, such as a
	// TestMain that needs a database.
	Guarded bool
	// Literal is true for an existing test of the project in which one compared literal was changed.
	// The literal is certainly compared where the test runs, so the test must fail. It prints no token;
	// [Mark.Matches] finds it in a report by its name.
	Literal bool
	// ByStatus is true for a literal mark if only the status of the check tells whether the test failed.
	ByStatus bool
	// Sets is how many sets of parameters a literal mark's test has. Each of them is one test in a report.
	Sets int
	// ByCount is true for one of several such marks if the runner counts the tests that fail.
	ByCount bool
	// Groups are the titles of groups that fail together with a literal mark's test.
	Groups []string
}

// maxPlaces limits the folders of one ecosystem that get a canary, and maxText how much of a file
// is read.
const (
	maxPlaces = 400
	maxText   = 1 << 20
)

// Plan makes the canaries for a tree and a command. It returns nil if none fits the tree, or if
// random fails.
func Plan(t Tree, command string, random io.Reader) []Plant {
	g := newPlanner(t, command, random)
	if g == nil {
		return nil
	}
	for _, e := range []struct {
		ecosystem string
		plant     func()
	}{
		{"go", g.plantGo}, {"python", g.plantPython}, {"javascript", g.plantJavaScript}, {"rust", g.plantRust},
		{"java", g.plantJava}, {"ruby", g.plantRuby},
	} {
		if g.mayRun(e.ecosystem) {
			e.plant()
		}
	}
	return g.plants
}

// newPlanner returns nil if there is nothing to plant.
func newPlanner(t Tree, command string, random io.Reader) *planner {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil
	}
	g := &planner{tree: t, command: command, dice: rand.New(rand.NewChaCha8(seed)), taken: map[string]bool{}}
	for _, name := range t.Files {
		g.taken[name] = true
	}
	g.letters = g.draw(6)
	g.segments = split(command)
	if onlyLints(g.segments) {
		return nil
	}
	return g
}

// SameFolders keeps only plants in folders that had a canary at the base. One in a new folder could
// end a command before it reaches the old folders, which are what the base is compared with. If no
// folder had one, it keeps all.
func SameFolders(plants, base []Plant) []Plant {
	keys, folders := map[string]bool{}, map[string]bool{}
	for _, p := range base {
		for _, m := range p.Marks {
			keys[m.Key] = true
		}
	}
	for _, p := range plants {
		if slices.ContainsFunc(p.Marks, func(m Mark) bool { return keys[m.Key] }) {
			folders[path.Dir(p.Name)] = true
		}
	}
	if len(folders) == 0 {
		return plants
	}
	return slices.DeleteFunc(slices.Clone(plants), func(p Plant) bool { return !folders[path.Dir(p.Name)] })
}

// InFoldersOf reports whether a changed test is in a folder that had a canary at the base, for the same reason.
// Canaries of Rust are in a folder of their own.
func InFoldersOf(m Mark, base []Plant) bool {
	place, _, _ := strings.Cut(m.Key, " literal ")
	ecosystem, file, _ := strings.Cut(place, " ")
	return len(base) == 0 || ecosystem == "rust" ||
		slices.ContainsFunc(base, func(p Plant) bool { return path.Dir(p.Name) == path.Dir(file) })
}

// planner builds one plan.
type planner struct {
	tree     Tree
	command  string
	segments []segment
	dice     *rand.Rand
	taken    map[string]bool // names of files, and suffixes already used
	sources  map[string]bool // Python files and folders
	letters  string          // prefix of every token made of letters
	plants   []Plant
}

// draw returns random letters.
func (g *planner) draw(n int) string { return drawLetters(g.dice, n) }

// mark makes a test that fails with a new token of letters, and returns the two halves that the
// planted file contains.
func (g *planner) mark(key string, test ...string) (m Mark, left, right string) {
	left, right = g.letters, g.draw(8)
	return Mark{Token: left + right, Key: key, Test: test}, left, right
}

func (g *planner) plant(name, text string, marks ...Mark) {
	g.plants = append(g.plants, Plant{Name: name, Text: text, Marks: marks})
}

// words are suffixes that people use for one more test.
var words = strings.Fields(`
	again alpha basic beta bounds broad case cases chain corner deep detail edge empty extra first fixed
	flat full gamma heavy inner item items joint known large last later limit limits long loose lower
	mixed more nested next odd often order other outer pairs parts plain quick range rest round second
	short side single small some spare split stable state step steps strict table third tight tiny total
	twice upper usual value values wide whole`)

// suffix returns two words that were not used before.
func (g *planner) suffix() (first, second string) {
	for range 1000 {
		first, second = words[g.dice.IntN(len(words))], words[g.dice.IntN(len(words))]
		if key := "\x00" + first + second; first != second && !g.taken[key] {
			g.taken[key] = true
			return first, second
		}
	}
	return g.draw(6), g.draw(6)
}

// read returns a file's text, or "" if it cannot be read or is too long.
func (g *planner) read(name string) string { return readText(g.tree, name) }

func readText(t Tree, name string) string {
	if t.Read == nil {
		return ""
	}
	text, err := t.Read(name)
	if err != nil || len(text) > maxText {
		return ""
	}
	return string(text)
}

// testFolder is a folder with tests of one ecosystem.
type testFolder struct {
	dir   string // "." for the workspace
	tests []string
}

// testFolders groups the tests that choose accepts by folder. If there are too many, it always
// takes the same ones, regardless of the rest of the tree, so that the base and a later tree are
// compared where both have a canary.
func (g *planner) testFolders(choose func(name string) bool) []testFolder {
	byDir := map[string]*testFolder{}
	for _, name := range g.tree.Files {
		if isForeign(name) || !choose(name) {
			continue
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &testFolder{dir: dir}
		}
		byDir[dir].tests = append(byDir[dir].tests, name)
	}
	all := make([]testFolder, 0, len(byDir))
	for _, p := range byDir {
		slices.Sort(p.tests)
		all = append(all, *p)
	}
	if len(all) > maxPlaces {
		slices.SortFunc(all, func(a, b testFolder) int { return compareHashes(a.dir, b.dir) })
		all = all[:maxPlaces]
	}
	slices.SortFunc(all, func(a, b testFolder) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// compareHashes orders names in a stable but arbitrary way.
func compareHashes(a, b string) int {
	return cmp.Or(cmp.Compare(hashName(a), hashName(b)), strings.Compare(a, b))
}

func hashName(dir string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, dir)
	return h.Sum64()
}

// isForeign reports files that belong to dependencies, to fixtures, or to no test run.
func isForeign(name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool {
		return slices.Contains(foreignFolders, part) || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".egg")
	})
}

var foreignFolders = strings.Fields(
	"node_modules vendor testdata venv site-packages build dist target __pycache__ fixtures __fixtures__ third_party",
)

// set returns the names of files that choose accepts, and of their folders, with a trailing slash.
func (t Tree) set(choose func(name string) bool) map[string]bool {
	all := map[string]bool{}
	for _, name := range t.Files {
		if !choose(name) {
			continue
		}
		all[name] = true
		for dir := path.Dir(name); dir != "." && dir != "/" && !all[dir+"/"]; dir = path.Dir(dir) {
			all[dir+"/"] = true
		}
	}
	return all
}

// sibling returns the name of a new file beside one of the project's tests. It is derived from that
// test's name, so that runners treat both alike and the new file comes directly after it.
func (g *planner) sibling(test, separator string) (name string, first, second string) {
	for range 100 {
		first, second = g.suffix()
		name = path.Join(path.Dir(test), siblingName(path.Base(test), separator+first+separator+second))
		if !g.taken[name] {
			break
		}
	}
	g.taken[name] = true
	return name, first, second
}

var testEnding = text.LazyRegexp(`^(.+?)((?:[._-](?:tests?|spec|cy|e2e|unit|it))?(?:\.[A-Za-z0-9]+)+)$`)

// siblingName inserts a suffix before the part that marks a test: add.test.js becomes
// add-more.test.js, test_add.py becomes test_add_more.py.
func siblingName(base, suffix string) string {
	if parts := testEnding().FindStringSubmatch(base); parts != nil {
		return parts[1] + suffix + parts[2]
	}
	return base + suffix
}

// last returns the last test. A sibling after it runs last, so a runner that stops at the first
// failure has already run the others of the folder.
func (p testFolder) last() string { return p.tests[len(p.tests)-1] }

func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
