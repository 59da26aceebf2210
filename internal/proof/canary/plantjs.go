package canary

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	jsNamed    = text.LazyRegexp(`(?:[._-](?:tests?|spec)\.[cm]?[jt]sx?|^tests?(?:[-_.].*)?\.[cm]?[jt]sx?)$`)
	jsEnding   = text.LazyRegexp(`\.[cm]?[jt]sx?$`)
	jsCalls    = text.LazyRegexp(`\b(?:test|it|describe|suite)(?:\.\w+)?\(`)
	jsRelative = text.LazyRegexp(
		`(?m)(?:\bfrom\s+|\bimport\s+|\brequire\(\s*|\bimport\(\s*)['"](\.{1,2}/[^'"\n]+)['"]`,
	)
	jsESM          = text.LazyRegexp(`(?m)^\s*(?:import\s+[\w*{'"]|export\s)`)
	jsAssert       = text.LazyRegexp(`(?:from\s+|require\(\s*)['"]((?:node:)?assert(?:/strict)?)['"]`)
	jsMethod       = text.LazyRegexp(`\bassert\.(equal|strictEqual|deepEqual|deepStrictEqual|is|same)\(`)
	jsCallIt       = text.LazyRegexp(`\bit(?:\.\w+)?\(`)
	jsCallTest     = text.LazyRegexp(`\btest(?:\.\w+)?\(`)
	jsType         = text.LazyRegexp(`(?m)^\s*import\s+type\b.*$`)
	jsExpectRunner = text.LazyRegexp(`"(?:jest|vitest|react-scripts|ts-jest|@jest/core)"`)
	jsOtherRunner  = text.LazyRegexp(`@playwright/test|cypress|\bcy\.|puppeteer|\$lib/|bun:test|Deno\.test`)
)

// plantJavaScript puts one file beside the tests of every folder, with the runner, the module style
// and the relative imports of one of them.
func (g *planner) plantJavaScript() {
	for _, p := range g.testFolders(g.jsTest) {
		model, style := g.jsModel(p)
		if model == "" {
			continue
		}
		file, first, second := g.sibling(model, "-")
		text, marks := g.jsTests(p, style, jsNames{model, first, second}, "javascript "+p.dir+" ")
		g.plant(file, text, marks...)
	}
}

// jsNames are what the tests of a canary are named after.
type jsNames struct{ file, first, second string }

// jsTests writes a test that throws and one that compares. Their keys begin with key.
func (g *planner) jsTests(p testFolder, style jsStyle, names jsNames, key string) (string, []Mark) {
	subject, _, _ := strings.Cut(path.Base(names.file), ".")
	f := jsFile{jsStyle: style, imports: g.jsImports(p, style)}
	f.throws, f.compares = subject+" "+names.first+" "+names.second, subject+" "+names.second+" "+names.first
	var marks [2]Mark
	marks[0], f.one[0], f.one[1] = g.mark(key+"throw", f.throws)
	marks[1], f.two[0], f.two[1] = g.mark(key+"compare", f.compares)
	return f.text(), marks[:]
}

func (g *planner) jsTest(name string) bool {
	base := path.Base(name)
	if strings.HasSuffix(base, ".d.ts") || !jsEnding().MatchString(base) {
		return false
	}
	if jsNamed().MatchString(base) {
		return true
	}
	parts := strings.Split(path.Dir(name), "/")
	inside := slices.ContainsFunc(parts, func(part string) bool {
		return part == "test" || part == "tests" || part == "__tests__" || part == "spec"
	})
	return inside && jsCalls().MatchString(g.read(name))
}

// jsStyle is how the tests of a folder are written.
type jsStyle struct {
	// runner is node, jest, vitest or ava. If the functions are global, it is expects (jest or
	// vitest) or globals (mocha).
	runner string
	esm    bool
	assert string // the module that assertions come from, if it is one of node's
	method string
	it     string // the name of the function that defines a test
	alias  string // suffix for the name of everything that is imported
}

// jsModel returns the last test of a folder whose style is known.
func (g *planner) jsModel(p testFolder) (string, jsStyle) {
	for _, test := range slices.Backward(p.tests) {
		text := g.read(test)
		if text == "" || jsOtherRunner().MatchString(text) {
			continue
		}
		style := jsStyle{esm: jsESM().MatchString(text), assert: "node:assert", method: "strictEqual", it: "test"}
		if m := jsAssert().FindStringSubmatch(text); m != nil {
			style.assert = m[1]
		}
		if m := jsMethod().FindStringSubmatch(text); m != nil && m[1] != "is" && m[1] != "same" {
			style.method = m[1]
		}
		if jsCallIt().MatchString(text) && !jsCallTest().MatchString(text) {
			style.it = "it"
		}
		if style.runner = g.jsRunner(test, text); style.runner != "" {
			return test, style
		}
	}
	return "", jsStyle{}
}

func (g *planner) jsRunner(file, text string) string {
	uses := func(module string) bool {
		return strings.Contains(text, "'"+module+"'") || strings.Contains(text, `"`+module+`"`)
	}
	switch {
	case uses("node:test"):
		return "node"
	case uses("vitest"):
		return "vitest"
	case uses("@jest/globals"):
		return "jest"
	case uses("ava"):
		return "ava"
	case uses("tap"), uses("tape"):
		return "" // their tests are calls of an object that has more than one form
	case !jsCalls().MatchString(text):
		return ""
	case jsAssert().MatchString(text):
		return "globals"
	}
	if jsExpectRunner().MatchString(g.manifests(file)) {
		return "expects"
	}
	return "globals"
}

// manifests returns the texts of every package.json above a file.
func (g *planner) manifests(file string) string {
	var text strings.Builder
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		text.WriteString(g.read(path.Join(dir, "package.json")))
		if dir == "." || dir == "/" {
			return text.String()
		}
	}
}

// jsImports returns the relative imports of a folder's tests, so that the canary loads the
// project's code as they do.
func (g *planner) jsImports(p testFolder, style jsStyle) []string {
	var found []string
	for _, test := range p.tests[:min(len(p.tests), 10)] {
		text := jsType().ReplaceAllString(g.read(test), "")
		if jsESM().MatchString(text) != style.esm {
			continue
		}
		for _, match := range jsRelative().FindAllStringSubmatch(text, -1) {
			if !slices.Contains(found, match[1]) && len(found) < 10 {
				found = append(found, match[1])
			}
		}
	}
	return found
}

type jsFile struct {
	jsStyle
	throws, compares string
	one, two         [2]string
	imports          []string
}

// text loads the project's code inside the first test. There a module that cannot be loaded does
// not make the test fail for the wrong reason, and loading works in every module style that a
// transformer may produce.
func (f jsFile) text() string {
	var head, load strings.Builder
	context := ""
	from := func(names, module string) {
		if f.esm {
			fmt.Fprintf(&head, "import %s from '%s';\n", names, module)
		} else {
			fmt.Fprintf(&head, "const %s = require('%s');\n", names, module)
		}
	}
	part := func(name string) string {
		switch {
		case f.alias == "":
			return name
		case f.esm:
			return name + " as " + name + f.alias
		}
		return name + ": " + name + f.alias
	}
	it, assert, expect := f.it, "assert"+f.alias, "expect"
	joined := fmt.Sprintf("['%s', '%s'].join('')", f.two[0], f.two[1])
	compare := fmt.Sprintf("%s.%s(%s, '');", assert, f.method, joined)
	switch f.runner {
	case "node":
		from("{ "+part(f.it)+" }", "node:test")
		from(assert, f.assert)
		it += f.alias
	case "vitest", "jest":
		from("{ "+part(f.it)+", "+part(expect)+" }", map[string]string{"vitest": "vitest", "jest": "@jest/globals"}[f.runner])
		it, expect = it+f.alias, expect+f.alias
		compare = fmt.Sprintf("%s(%s).toBe('');", expect, joined)
	case "expects":
		compare = fmt.Sprintf("expect(%s).toBe('');", joined)
	case "ava":
		it, context = "test"+f.alias, "t"
		from(it, f.runner)
		compare = fmt.Sprintf("t.is(%s, '');", joined)
	default:
		from(assert, f.assert)
	}
	for _, module := range f.imports {
		if f.esm {
			fmt.Fprintf(&load, "  try {\n    await import('%s');\n  } catch {\n  }\n", module)
		} else {
			fmt.Fprintf(&load, "  try {\n    require('%s');\n  } catch {\n  }\n", module)
		}
	}
	return fmt.Sprintf(
		"%s\n%s('%s', async (%s) => {\n%s  throw new Error(['%s', "+
			"'%s'].join(''));\n});\n\n%s('%s', async (%s) => {\n%s  %s\n});\n",
		head.String(),
		it,
		f.throws,
		context,
		load.String(),
		f.one[0],
		f.one[1],
		it,
		f.compares,
		context,
		load.String(),
		compare,
	)
}
