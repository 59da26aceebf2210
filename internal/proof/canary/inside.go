package canary

import (
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// maxHosts limits the files of one folder that get a canary inside.
const maxHosts = 10

// PlanInside makes canaries that are not new files: they are appended to the project's own tests.
// Code that looks for an unknown file finds none. Their keys name files, not folders. Only Go,
// Python, JavaScript and TypeScript are supported.
//
// It is for a second look when [Outcome.OwnFailures] gives a reason, because such a run takes as
// long as the first one.
func PlanInside(t Tree, command string, random io.Reader) []Plant {
	g := newPlanner(t, command, random)
	if g == nil {
		return nil
	}
	for _, e := range []struct {
		ecosystem string
		choose    func(name string) bool
		plant     func(p testFolder, host string) (Plant, bool)
	}{{"go", goTestFile, g.insideGo}, {"python", pythonTest, g.insidePython}, {
		"javascript", g.jsTest, g.insideJavaScript,
	}} {
		if !g.mayRun(e.ecosystem) {
			continue
		}
		for _, p := range g.testFolders(e.choose) {
			for _, host := range hosts(p) {
				if plant, ok := e.plant(p, host); ok {
					plant.Name, plant.Text, plant.Inside = host, strings.TrimRight(g.read(host), "\n")+"\n\n"+plant.Text, true
					g.plants = append(g.plants, plant)
				}
			}
		}
	}
	return g.plants
}

// hosts returns the files of a folder that get a canary. If there are too many, it always chooses
// the same ones.
func hosts(p testFolder) []string {
	all := slices.Clone(p.tests)
	slices.SortFunc(all, compareHashes)
	all = all[:min(len(all), maxHosts)]
	slices.Sort(all)
	return all
}

var goBuild = text.LazyRegexp(`(?m)^//(?:go:build| ?\+build)\b`)

// insideGo skips files with build constraints, and files that do not import testing under its own
// name.
func (g *planner) insideGo(p testFolder, host string) (Plant, bool) {
	text := g.read(host)
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err != nil || goBuild().MatchString(text) || constraintFree(host) != host {
		return Plant{}, false
	}
	named := false
	for _, i := range parsed.Imports {
		named = named || i.Path.Value == `"testing"` && i.Name == nil
	}
	names := goTestName().FindAllStringSubmatch(text, -1)
	_, _, guarded := g.goPackage(p)
	if !named || len(names) == 0 {
		return Plant{}, false
	}
	first, second := g.suffix()
	name := names[len(names)-1][1] + capital(first) + capital(second)
	mark, left, right := g.mark("go "+host+" inside", name)
	mark.Scope, mark.Guarded = g.goImportPath(p.dir), guarded
	return Plant{Text: fmt.Sprintf(goInside, name, left, right), Marks: []Mark{mark}}, true
}

const goInside = `func %s(t *testing.T) {
	left, right := %q, %q
	if left != right {
		t.Fatal("unequal: " + left + right)
	}
}
`

// insidePython brings its own imports, because the names that a test file gives to its imports are
// unknown.
func (g *planner) insidePython(p testFolder, host string) (Plant, bool) {
	text := g.read(host)
	first, second := g.suffix()
	class := "Test" + capital(first) + capital(second)
	if text == "" || strings.Contains(text, class) || strings.Contains(text, "load_tests") {
		return Plant{}, false
	}
	text, marks := g.pythonCase(p, class, "python "+host+" inside-", class)
	return Plant{Text: text, Marks: marks}, true
}

// insideJavaScript imports under names that the file does not use.
func (g *planner) insideJavaScript(p testFolder, host string) (Plant, bool) {
	model, style := g.jsModel(testFolder{dir: p.dir, tests: []string{host}})
	first, second := g.suffix()
	style.alias = capital(first) + capital(second)
	if model == "" || strings.Contains(g.read(host), style.alias) {
		return Plant{}, false
	}
	text, marks := g.jsTests(p, style, jsNames{host, first, second}, "javascript "+host+" inside-")
	return Plant{Text: text, Marks: marks}, true
}

// Unmask re-judges a proof whose canaries made the check fail together with the project's own
// tests, which pass without canaries. now is that run; base and inside are the runs with the
// canaries of [PlanInside]. A new file may disturb tests, or they may fail by chance, so their
// failure alone is no reason. But if the check passes with a canary that is not a new file, the
// code behaves honestly only while it thinks that it is being watched.
func Unmask(proof ralph.Proof, now, base, inside Outcome, inv Invocation) ralph.Proof {
	fell := now.OwnFailures()
	if proof.Canary != ralph.CanaryRed || len(fell) == 0 || len(inside.Planted) == 0 || inside.BrokeOff() {
		return proof
	}
	state, why := judgeCanaries(base, inside, inv)
	if state != ralph.CanaryGreen {
		return proof
	}
	proof.Canary = state
	proof.Detail = strings.TrimSpace(fmt.Sprintf(
		"%s failed when a new test was added beside it, although the check passes without it. %s %s", fell[0], why,
		proof.Detail,
	))
	return proof
}
