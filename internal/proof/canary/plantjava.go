package canary

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	javaPackage = text.LazyRegexp(`(?m)^\s*package\s+([\w.]+)\s*;`)
	javaNamed   = text.LazyRegexp(`^(?:Test\w*|\w*Tests?|\w*TestCase)\.java$`)
)

// plantJava puts a JUnit class beside the tests of every package, with the package's name and for
// the version of JUnit that they use.
func (g *planner) plantJava() {
	for _, p := range g.testFolders(func(name string) bool {
		return javaNamed().MatchString(path.Base(name)) && strings.Contains("/"+name, "/test/")
	}) {
		for _, model := range slices.Backward(p.tests) {
			text := g.read(model)
			imports := javaImports(text)
			if imports == "" {
				continue
			}
			g.plantJavaClass(p, model, text, imports)
			break
		}
	}
}

func javaImports(text string) string {
	switch {
	case strings.Contains(text, "org.junit.jupiter.api"):
		return "import static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Test;\n"
	case strings.Contains(text, "org.junit.Test"), strings.Contains(text, "org.junit.*"):
		return "import static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n"
	}
	return ""
}

func (g *planner) plantJavaClass(p testFolder, model, text, imports string) {
	stem := strings.TrimSuffix(path.Base(model), ".java")
	first, second := g.suffix()
	class := capital(first) + capital(second)
	switch {
	case strings.HasPrefix(stem, "Test"):
		class = stem + class
	case strings.HasSuffix(stem, "TestCase"):
		class = strings.TrimSuffix(stem, "TestCase") + class + "TestCase"
	case strings.HasSuffix(stem, "Tests"):
		class = strings.TrimSuffix(stem, "Tests") + class + "Tests"
	default:
		class = strings.TrimSuffix(stem, "Test") + class + "Test"
	}
	head := ""
	if m := javaPackage().FindStringSubmatch(text); m != nil {
		head = "package " + m[1] + ";\n\n"
	}
	one, oneLeft, oneRight := g.mark("java "+p.dir+" throw", class, "throwsIt")
	two, twoLeft, twoRight := g.mark("java "+p.dir+" compare", class, "comparesIt")
	file := path.Join(p.dir, class+".java")
	if g.taken[file] {
		return
	}
	g.taken[file] = true
	g.plant(file, head+imports+fmt.Sprintf(javaText, class, oneLeft, oneRight, twoLeft, twoRight), one, two)
}

// The token is assembled from parts that a compiler does not join.
const javaText = `
public class %s {
    @Test
    public void throwsIt() {
        throw new IllegalStateException(new StringBuilder(%q).append(%q).toString());
    }

    @Test
    public void comparesIt() {
        assertEquals("", new StringBuilder(%q).append(%q).toString());
    }
}
`
