package canary

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// maxCrates is lower than the limit of other ecosystems, because each canary is a separate program
// to link.
const maxCrates = 10

var (
	rustTests = text.LazyRegexp(`#\[(?:\w+::)*test\]`)
	rustName  = text.LazyRegexp(`(?m)^name\s*=\s*"([\w-]+)"`)
	rustOff   = text.LazyRegexp(`(?m)^autotests\s*=\s*false`)
)

// plantRust puts an integration test into every package that has tests. Tests inside the source are
// separate programs, which cannot get a canary without an edit of the source.
func (g *planner) plantRust() {
	planted := 0
	for _, p := range g.testFolders(func(name string) bool { return path.Base(name) == "Cargo.toml" }) {
		manifest := g.read(path.Join(p.dir, "Cargo.toml"))
		if planted == maxCrates || !strings.Contains(manifest, "[package]") || rustOff().MatchString(manifest) {
			continue
		}
		model := g.rustModel(p.dir, manifest)
		if model == "" {
			continue
		}
		file, first, second := g.sibling(model, "_")
		panics, compares := first+"_"+second, second+"_"+first
		crate := strings.TrimSuffix(path.Base(file), ".rs")
		one, oneLeft, oneRight := g.mark("rust "+p.dir+" panic", crate, panics)
		two, twoLeft, twoRight := g.mark("rust "+p.dir+" compare", crate, compares)
		g.plant(file, fmt.Sprintf(rustText, panics, oneLeft, oneRight, compares, twoLeft, twoRight), one, two)
		planted++
	}
}

const rustText = `#[test]
fn %s() {
    let text = [%q, %q].concat();
    panic!("{}", text);
}

#[test]
fn %s() {
    assert_eq!([%q, %q].concat(), "");
}
`

// rustModel returns the file that a canary is named after: the last integration test or, if there
// are only tests in the source, a file with the package's name.
func (g *planner) rustModel(dir, manifest string) string {
	folder, source := path.Join(dir, "tests")+"/", path.Join(dir, "src")+"/"
	last, inside := "", false
	for _, name := range slices.Sorted(slices.Values(g.tree.Files)) {
		rest, below := strings.CutPrefix(name, folder)
		switch {
		case below && strings.HasSuffix(rest, ".rs") && !strings.Contains(rest, "/"):
			last = name
		case !inside && strings.HasPrefix(name, source) && strings.HasSuffix(name, ".rs"):
			inside = rustTests().MatchString(g.read(name))
		}
	}
	if m := rustName().FindStringSubmatch(manifest); last == "" && inside && m != nil {
		return folder + strings.ReplaceAll(m[1], "-", "_") + ".rs"
	}
	return last
}
