package canary

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	goTestName = text.LazyRegexp(`(?m)^func (Test[A-Z0-9_]\w*)\(`)
	goIgnored  = text.LazyRegexp(`(?m)^//go:build ignore\b`)
	goModule   = text.LazyRegexp(`(?m)^module[ \t]+"?([^\s"]+)`)
)

// plantGo puts one file into every package that has tests. It belongs to that package, so its init
// functions and TestMain run first, as for the project's own tests.
func (g *planner) plantGo() {
	for _, p := range g.testFolders(goTestFile) {
		pkg, names, guarded := g.goPackage(p)
		if pkg == "" {
			continue
		}
		file, first, second := g.sibling(constraintFree(p.last()), "_")
		stem := "Test"
		if len(names) > 0 {
			stem = names[len(names)-1]
		}
		plain, table := stem+capital(first)+capital(second), stem+capital(second)+capital(first)
		one, oneLeft, oneRight := g.mark("go "+p.dir+" fatal", plain)
		two, twoLeft, twoRight := g.mark("go "+p.dir+" table", table)
		one.Scope, one.Guarded = g.goImportPath(p.dir), guarded
		two.Scope, two.Guarded = one.Scope, guarded
		g.plant(file, fmt.Sprintf(goText, pkg, plain, oneLeft, oneRight, table, twoLeft, twoRight), one, two)
	}
}

const goText = `package %s

import "testing"

func %s(t *testing.T) {
	left, right := %q, %q
	if left != right {
		t.Fatal("unequal: " + left + right)
	}
}

func %s(t *testing.T) {
	for _, c := range []struct{ got, want string }{{%q, %q}} {
		t.Run("pair", func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("unequal: %%s%%s", c.got, c.want)
			}
		})
	}
}
`

func goTestFile(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "_test.go") && !strings.HasPrefix(base, ".") && !strings.Contains("/"+name, "/_")
}

var goConstraint = text.LazyRegexp(
	`(?:_(?:linux|darwin|windows|freebsd|netbsd|openbsd|unix|amd64|arm64|386|arm|js|wasm|wasip1|` +
		`plan9|solaris|android|ios))+_test\.go$`,
)

// constraintFree removes an operating system or architecture from a file's name, because the canary
// is for all of them.
func constraintFree(name string) string {
	return goConstraint().ReplaceAllString(name, "_test.go")
}

// goPackage returns the package of the tests in a folder, the names of these tests, and whether
// there is a TestMain. It prefers the package under test over an external one.
func (g *planner) goPackage(p testFolder) (name string, tests []string, guarded bool) {
	outside := ""
	for _, file := range p.tests {
		text := g.read(file)
		if text == "" || goIgnored().MatchString(text) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
		if err != nil {
			continue
		}
		if pkg := parsed.Name.Name; strings.HasSuffix(pkg, "_test") {
			outside = pkg
		} else {
			name = pkg
		}
		for _, match := range goTestName().FindAllStringSubmatch(text, -1) {
			if match[1] == "TestMain" {
				guarded = true
				continue
			}
			tests = append(tests, match[1])
		}
	}
	return cmp.Or(name, outside), tests, guarded
}

// goImportPath returns the import path of the package in a folder, or "" without a go.mod.
func (g *planner) goImportPath(dir string) string {
	for up := dir; ; up = path.Dir(up) {
		if file := path.Join(up, "go.mod"); g.taken[file] {
			match := goModule().FindStringSubmatch(g.read(file))
			if match == nil {
				return ""
			}
			return path.Join(match[1], strings.TrimPrefix(strings.TrimPrefix(dir, up), "/"))
		}
		if up == "." || up == "/" {
			return ""
		}
	}
}
