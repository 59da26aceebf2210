package protect

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// takesOverGoTests reports whether a test file controls the tests of its whole package: it has a
// TestMain, or it ends the process before a test runs.
func takesOverGoTests(source []byte) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		// it does not compile as it is, so a false positive costs nothing
		return strings.Contains(string(source), "TestMain")
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && (d.Name.Name == "TestMain" || d.Name.Name == "init" && exits(d)) {
				return true
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR && exits(d) {
				return true
			}
		}
	}
	return false
}

// exits reports whether something like os.Exit is called.
func exits(node ast.Node) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is && (s.Sel.Name == "Exit" || s.Sel.Name == "Kill") {
			found = true
		}
		return !found
	})
	return found
}

// goModSteering are directives that change what is compiled, not only what is required.
var goModSteering = []string{"exclude", "toolchain", "godebug", "ignore"}

// goModDiffers compares what affects a build. Changed requirements are allowed. So is a replacement
// of a module that the base did not know, because no test of the base can have used it.
func goModDiffers(_ *inspection, base, now []byte) bool {
	was, is := goModLines(base), goModLines(now)
	if len(base) > 0 && len(now) > 0 && len(was["module"]) > 0 && len(is["module"]) == 0 {
		return true // it can no longer be parsed
	}
	for _, directive := range goModSteering {
		if !slices.Equal(was[directive], is[directive]) {
			return true
		}
	}
	known := map[string]bool{}
	for _, line := range slices.Concat(was["require"], was["replace"]) {
		known[strings.Fields(line)[0]] = true
	}
	replacements := func(lines []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !known[strings.Fields(line)[0]] })
	}
	return !slices.Equal(replacements(was["replace"]), replacements(is["replace"]))
}

// goModLines returns the lines of a go.mod file by directive, sorted, without comments.
func goModLines(data []byte) map[string][]string {
	lines := map[string][]string{}
	block := ""
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(strings.NewReplacer("\"", "", "`", "", "(", " ( ", ")", " ) ").Replace(line))
		switch {
		case len(fields) == 0:
		case block != "" && fields[0] == ")":
			block = ""
		case block != "":
			lines[block] = append(lines[block], strings.Join(fields, " "))
		case len(fields) > 1 && fields[1] == "(":
			block = fields[0]
			if fields[len(fields)-1] == ")" {
				block = ""
			}
		case len(fields) > 1:
			lines[fields[0]] = append(lines[fields[0]], strings.Join(fields[1:], " "))
		}
	}
	for directive := range lines {
		slices.Sort(lines[directive])
	}
	return lines
}

// cutsOffGoTests reports whether a new go.mod turns a folder with tests into a module, which
// `./...` no longer enters.
func cutsOffGoTests(in *inspection, name string, _ []byte) bool {
	dir := path.Dir(name)
	return dir != "." && in.rules.base.goTestsBelow(dir)
}
