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

// Tree is what planting may look at: names are below the workspace, with slashes.
type Tree struct {
	Files []string
	Read  func(name string) ([]byte, error)
}

// Plant is one file to put into a view. Names differ from each other, and are new to the tree unless the canary is inside of a file.
type Plant struct {
	Name  string
	Text  string
	Marks []Mark
	// Inside is true if the file is one of the project's own tests, with canaries at its end.
	Inside bool
}

// Mark is one test of a planted file, made to fail.
type Mark struct {
	// Token is random and not in the file as it stands: the test puts it together when it runs and says it when it fails.
	Token string
	// Key says where and how the test fails. It is the same at the base and now.
	Key string
	// Test are parts of the test's name, the first of which no other test's name has.
	Test []string
	// Scope is how the runner calls the place, where it says so: a Go package.
	Scope string
	// Guarded is true where the project's own code decides whether tests run at all, as a TestMain that wants a database does.
	Guarded bool
	// Claims is true for a test that repeats one of the project's own with a wrong expectation. Only its passing tells something.
	Claims bool
}

// maxPlaces bounds the folders of one ecosystem that get a canary, maxText what is read of a file.
const (
	maxPlaces = 50
	maxText   = 1 << 20
)

// Plan makes the canaries for a tree and a command. It is nil if there is none for what is there, or no randomness to be had.
func Plan(t Tree, command string, random io.Reader) []Plant {
	g := newGarden(t, command, random)
	if g == nil {
		return nil
	}
	for _, e := range []struct {
		ecosystem string
		plant     func()
	}{
		{"go", g.plantGo}, {"python", g.plantPython}, {"javascript", g.plantJavaScript}, {"rust", g.plantRust}, {"java", g.plantJava}, {"ruby", g.plantRuby},
	} {
		if g.wants(e.ecosystem) {
			e.plant()
		}
	}
	return g.plants
}

// newGarden is nil if nothing is to be planted.
func newGarden(t Tree, command string, random io.Reader) *garden {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil
	}
	g := &garden{tree: t, command: command, dice: rand.New(rand.NewChaCha8(seed)), taken: map[string]bool{}}
	for _, name := range t.Files {
		g.taken[name] = true
	}
	g.letters, g.digits = g.draw("bcdfghjklmnpqrstvwxz", 6), "7"+g.draw("123456789", 5)
	g.segments = split(command)
	if onlyLooks(g.segments) {
		return nil
	}
	return g
}

// Where leaves of plants those in folders that had a canary at the base. One in a new folder could end a command before it comes to the old ones, which
// are what the base is compared with. Where there is none of these, all are left. Of canaries inside of files only those are left that the base had.
func Where(plants []Plant, base Outcome) []Plant {
	plants = slices.DeleteFunc(slices.Clone(plants), func(p Plant) bool {
		return p.Inside && !slices.ContainsFunc(p.Marks, func(m Mark) bool { return slices.Contains(base.Planted, m.Key) })
	})
	folders := map[string]bool{}
	for _, p := range plants {
		if slices.ContainsFunc(p.Marks, func(m Mark) bool { return !m.Claims && slices.Contains(base.Planted, m.Key) }) {
			folders[path.Dir(p.Name)] = true
		}
	}
	if len(folders) == 0 {
		return plants
	}
	return slices.DeleteFunc(slices.Clone(plants), func(p Plant) bool { return !folders[path.Dir(p.Name)] })
}

// garden is one plan in the making.
type garden struct {
	tree     Tree
	command  string
	segments []segment
	dice     *rand.Rand
	taken    map[string]bool // names of files, and of suffixes that are used
	sources  map[string]bool // files and folders of Python
	letters  string          // how every token of letters begins
	digits   string          // how every token of digits begins
	plants   []Plant
}

func (g *garden) draw(alphabet string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[g.dice.IntN(len(alphabet))]
	}
	return string(text)
}

// mark makes a test that fails by saying new letters, and gives the two halves in which the planted file has them.
func (g *garden) mark(key string, test ...string) (m Mark, left, right string) {
	left, right = g.letters, g.draw("bcdfghjklmnpqrstvwxz", 8)
	return Mark{Token: left + right, Key: key, Test: test}, left, right
}

func (g *garden) plant(name, text string, marks ...Mark) {
	g.plants = append(g.plants, Plant{Name: name, Text: text, Marks: marks})
}

// number is a token that is a number, of which no honest program knows.
func (g *garden) number() string { return g.digits + g.draw("0123456789", 6) }

// words are what people put behind the name of one more test.
var words = strings.Fields(`again alpha basic beta bounds broad case cases chain corner deep detail edge empty extra first fixed flat full
	gamma heavy inner item items joint known large last later limit limits long loose lower mixed more nested next odd often order other outer
	pairs parts plain quick range rest round second short side single small some spare split stable state step steps strict table third tight
	tiny total twice upper usual value values wide whole`)

// suffix is two words that were not given before.
func (g *garden) suffix() (first, second string) {
	for range 1000 {
		first, second = words[g.dice.IntN(len(words))], words[g.dice.IntN(len(words))]
		if key := "\x00" + first + second; first != second && !g.taken[key] {
			g.taken[key] = true
			return first, second
		}
	}
	return g.draw("bcdfghjklmnpqrstvwxz", 6), g.draw("bcdfghjklmnpqrstvwxz", 6)
}

// read is a file's text, "" if it cannot be had or is too long to matter.
func (g *garden) read(name string) string { return readText(g.tree, name) }

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

// place is a folder with tests of one ecosystem.
type place struct {
	dir   string // "." for the workspace
	tests []string
}

// places groups the tests that choose accepts by their folders. Of too many it takes always the same, whatever else is in the tree, so that the
// base and a later tree are compared where both have a canary.
func (g *garden) places(choose func(name string) bool) []place {
	byDir := map[string]*place{}
	for _, name := range g.tree.Files {
		if foreign(name) || !choose(name) {
			continue
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &place{dir: dir}
		}
		byDir[dir].tests = append(byDir[dir].tests, name)
	}
	all := make([]place, 0, len(byDir))
	for _, p := range byDir {
		slices.Sort(p.tests)
		all = append(all, *p)
	}
	if len(all) > maxPlaces {
		slices.SortFunc(all, func(a, b place) int { return shuffled(a.dir, b.dir) })
		all = all[:maxPlaces]
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// shuffled is an order of names that has nothing to do with what they say, and is always the same.
func shuffled(a, b string) int {
	return cmp.Or(cmp.Compare(stable(a), stable(b)), strings.Compare(a, b))
}

func stable(dir string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, dir) // a hash takes everything
	return h.Sum64()
}

// foreign is true for files that belong to dependencies, to fixtures, or to no test run.
func foreign(name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool {
		return slices.Contains(foreignFolders, part) || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".egg")
	})
}

var foreignFolders = strings.Fields("node_modules vendor testdata venv site-packages build dist target __pycache__ fixtures __fixtures__ third_party")

// set is the names of files and of folders, these with a slash at the end, for those that choose accepts.
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

// sibling names a new file beside one of the project's tests, after it, so that runners treat both alike and it comes directly behind it.
func (g *garden) sibling(test, separator string) (name string, first, second string) {
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

// siblingName puts a suffix before what makes the name one of a test: add.test.js is add-more.test.js, test_add.py is test_add_more.py.
func siblingName(base, suffix string) string {
	if parts := testEnding().FindStringSubmatch(base); parts != nil {
		return parts[1] + suffix + parts[2]
	}
	return base + suffix
}

// last is the test behind which a sibling comes last: a runner that stops at the first failure has then run the others of the folder.
func (p place) last() string { return p.tests[len(p.tests)-1] }

func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
