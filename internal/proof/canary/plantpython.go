package canary

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	pythonFrom   = text.LazyRegexp(`^from ([.\w]+) import ([\w, ]+?)(?:[ \t]*#.*)?$`)
	pythonImport = text.LazyRegexp(`^import ([\w.]+)(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*#.*)?$`)
	pythonOpened = text.LazyRegexp(`^from ([\w.]*\w) import \(`)
)

func pythonTest(name string) bool {
	base, isPython := strings.CutSuffix(path.Base(name), ".py")
	return isPython &&
		(strings.HasPrefix(base, "test") || strings.HasSuffix(base, "_test") || strings.HasSuffix(base, "_tests"))
}

// plantPython puts one file beside the tests of every folder. It is a unittest.TestCase, which
// pytest also runs.
func (g *planner) plantPython() {
	for _, p := range g.testFolders(pythonTest) {
		file, first, second := g.sibling(p.last(), "_")
		class := "Test" + capital(first) + capital(second)
		module := strings.TrimSuffix(path.Base(file), ".py")
		text, marks := g.pythonCase(p, class, "python "+p.dir+" ", module, class)
		g.plant(file, text, marks...)
	}
}

// pythonCase writes the tests of a class. Their keys begin with key, and their names contain test.
func (g *planner) pythonCase(p testFolder, class, key string, test ...string) (text string, marks []Mark) {
	parts := []any{g.pythonImports(p), class}
	for _, style := range []string{"equal", "assert", "raise"} {
		mark, left, right := g.mark(key+style, append(slices.Clip(test), "test_"+style)...)
		marks, parts = append(marks, mark), append(parts, left, right)
	}
	return fmt.Sprintf(pythonText, parts...), marks
}

const pythonText = `import unittest

%s
class %s(unittest.TestCase):
    def test_equal(self):
        self.assertEqual("".join([%q, %q]), "")

    def test_assert(self):
        value = "".join([%q, %q])
        assert value == "", value

    def test_raise(self):
        raise ValueError("".join([%q, %q]))
`

// pythonImports returns the imports of the project's own modules that its tests begin with. An
// import that fails must not keep the canary from failing as it should. One that ends the process
// does so here, too.
func (g *planner) pythonImports(p testFolder) string {
	var lines []string
	for _, test := range p.tests[:min(len(p.tests), 20)] {
		for line := range strings.Lines(g.read(test)) {
			line = strings.TrimRight(line, " \t\r\n")
			statement := ""
			if m := pythonFrom().FindStringSubmatch(line); m != nil && g.ownModule(m[1], p.dir) {
				statement = "from " + m[1] + " import " + m[2]
			} else if m := pythonImport().FindStringSubmatch(line); m != nil && g.ownModule(m[1], p.dir) {
				statement = "import " + m[1]
			} else if m := pythonOpened().FindStringSubmatch(line); m != nil && g.ownModule(m[1], p.dir) {
				statement = "import " + m[1]
			}
			if statement != "" && !slices.Contains(lines, statement) && len(lines) < 20 {
				lines = append(lines, statement)
			}
		}
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "try:\n    %s\nexcept Exception:\n    pass\n", line)
	}
	if text.Len() > 0 {
		text.WriteString("\n")
	}
	return text.String()
}

// ownModule reports whether a module's source is in the tree, where Python or a usual configuration
// finds it.
func (g *planner) ownModule(module, dir string) bool {
	if strings.HasPrefix(module, ".") {
		return true
	}
	if g.sources == nil {
		g.sources = g.tree.set(func(name string) bool { return strings.HasSuffix(name, ".py") })
	}
	top, _, _ := strings.Cut(module, ".")
	for _, root := range []string{".", "src", "lib", "python", dir, path.Dir(dir)} {
		if stem := path.Join(root, top); g.sources[stem+".py"] || g.sources[stem+"/"] {
			return true
		}
	}
	return false
}
