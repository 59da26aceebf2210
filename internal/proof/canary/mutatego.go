package canary

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// maxParsed limits the Go files that are parsed to find tests.
const maxParsed = 500

// findGo returns the tests of Go files. Of very many files it parses a random part.
func (m *mutator) findGo() []candidate {
	files := m.files(goTestFile)
	if len(files) > maxParsed {
		slices.SortFunc(files, func(a, b string) int {
			one, two := m.hash("file", a), m.hash("file", b)
			return bytes.Compare(one[:], two[:])
		})
		files = files[:maxParsed]
	}
	folders := map[string]testFolder{}
	for _, file := range m.files(goTestFile) {
		p := folders[path.Dir(file)]
		p.dir, p.tests = path.Dir(file), append(p.tests, file)
		folders[p.dir] = p
	}
	names := map[string]map[string]int{}
	guarded := map[string]bool{}
	var all []candidate
	for _, file := range files {
		dir := path.Dir(file)
		if names[dir] == nil {
			_, tests, guards := m.goPackage(folders[dir])
			names[dir], guarded[dir] = map[string]int{}, guards
			for _, name := range tests {
				names[dir][name]++
			}
		}
		elsewhere := func(name string) bool {
			word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
			return slices.ContainsFunc(folders[dir].tests, func(other string) bool {
				return other != file && word.MatchString(m.search(other))
			})
		}
		for _, c := range goTests(file, m.search(file), m.command, elsewhere) {
			c.scope, c.guarded = m.goImportPath(dir), guarded[dir]
			// A folder's second package may have a test of the same name.
			if names[dir][c.test] == 1 {
				all = append(all, c)
			}
		}
	}
	return all
}

var goBuild = text.LazyRegexp(`(?m)^//(?:go:build| ?\+build)\b`)

// goTestBody is one test while its literals are searched.
type goTestBody struct {
	fset    *token.FileSet
	file    *ast.File
	body    *ast.BlockStmt
	testify []string // local names of its packages
	// contexts are the names of the test's and its subtests' *testing.T.
	contexts []string
	spots    []spot
	// values and reporting hold what was found out before, because nested code is asked about often.
	values    map[string][]ast.Expr
	reporting map[*ast.BlockStmt]bool
	// filtered is true if the command may leave out subtests.
	filtered bool
	// elsewhere reports whether other tests of the folder mention a name.
	elsewhere func(name string) bool
}

// goTests returns the tests of one file with the literals that they compare.
func goTests(file, text, command string, elsewhere func(name string) bool) []candidate {
	if text == "" || goBuild().MatchString(text) || constraintFree(file) != file {
		return nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var testify []string
	for _, i := range parsed.Imports {
		for _, name := range []string{"assert", "require"} {
			if i.Path.Value == strconv.Quote("github.com/stretchr/testify/"+name) && i.Name == nil {
				testify = append(testify, name)
			}
		}
	}
	filtered := strings.Contains(command, "-run") || strings.Contains(command, "-skip") ||
		strings.Contains(command, "test.run")
	var tests []candidate
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Recv != nil || !goTestName().MatchString("func "+f.Name.Name+"(") {
			continue
		}
		if t := testingParameter(f.Type); t != "" {
			search := &goTestBody{
				fset: fset, file: parsed, body: f.Body, testify: testify, contexts: contextNames(f), filtered: filtered,
				elsewhere: elsewhere,
				values:    map[string][]ast.Expr{}, reporting: map[*ast.BlockStmt]bool{},
			}
			search.block(f.Body.List, goScope{t: t, certain: true})
			tests = append(tests, candidate{file: file, test: f.Name.Name, spots: search.spots})
		}
	}
	return tests
}

// contextNames returns the names of every *testing.T in a test.
func contextNames(f *ast.FuncDecl) []string {
	names := []string{testingParameter(f.Type)}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if inner, ok := n.(*ast.FuncLit); ok {
			if name := testingParameter(inner.Type); name != "" {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

// testingParameter returns the name of the only parameter of a test function.
func testingParameter(f *ast.FuncType) string {
	if f.TypeParams != nil || f.Params == nil || len(f.Params.List) != 1 || len(f.Params.List[0].Names) != 1 {
		return ""
	}
	pointer, ok := f.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "T" || !isIdent(selector.X, "testing") {
		return ""
	}
	return f.Params.List[0].Names[0].Name
}

// goScope is where a statement of a test is.
type goScope struct {
	t       string // the name of the *testing.T
	certain bool   // the statement is certainly reached
	table   *goTable
}

// block searches the statements of the test itself, of a loop over its table, or of a subtest.
func (g *goTestBody) block(list []ast.Stmt, in goScope) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IfStmt:
			g.branch(s, in)
		case *ast.BlockStmt:
			g.block(s.List, in)
		case *ast.RangeStmt:
			if table := g.tableOf(s); table != nil && in.table == nil {
				g.block(s.Body.List, goScope{t: in.t, certain: in.certain, table: table})
			}
		case *ast.ExprStmt:
			g.call(s.X, in)
		}
		in.certain = in.certain && !g.mayEnd(s, in.t)
	}
}

// branch searches a condition under which a test fails.
func (g *goTestBody) branch(s *ast.IfStmt, in goScope) {
	if g.reports(s.Body, in.t) {
		g.condition(s.Cond, token.NEQ, in)
		if next, ok := s.Else.(*ast.IfStmt); ok {
			g.branch(next, in)
		}
		return
	}
	if other, ok := s.Else.(*ast.BlockStmt); ok && g.reports(other, in.t) {
		g.condition(s.Cond, token.EQL, in)
	}
}

// condition searches the comparisons that decide alone whether a test fails: it fails if one of them
// is unequal. op is != where the test fails if the condition is true, and == where it fails if not.
func (g *goTestBody) condition(e ast.Expr, op token.Token, in goScope) {
	joined, opposite := token.LOR, token.EQL
	if op == token.EQL {
		joined, opposite = token.LAND, token.NEQ
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		// a method that compares, as in !got.Equal(Money{5})
		selector, ok := e.Fun.(*ast.SelectorExpr)
		if ok && op == token.EQL && selector.Sel.Name == "Equal" && len(e.Args) == 1 {
			g.compareOnly(selector.X, e.Args[0], in)
		}
	case *ast.ParenExpr:
		g.condition(e.X, op, in)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			g.condition(e.X, opposite, in)
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case joined:
			g.condition(e.X, op, in)
			g.condition(e.Y, op, in)
		case op:
			g.compare(e.X, e.Y, in)
		}
	}
}

// call searches a subtest, or a comparison of testify.
func (g *goTestBody) call(e ast.Expr, in goScope) {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if selector.Sel.Name == "Run" && isIdent(selector.X, in.t) && len(call.Args) == 2 {
		if f, ok := call.Args[1].(*ast.FuncLit); ok {
			if t := testingParameter(f.Type); t != "" {
				g.block(f.Body.List, goScope{t: t, certain: in.certain && !g.filtered, table: in.table})
			}
		}
		return
	}
	if g.testifyEqual(call) && isIdent(call.Args[0], in.t) {
		g.compare(call.Args[1], call.Args[2], in)
	}
}

func (g *goTestBody) testifyEqual(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 3 || !slices.Contains([]string{"Equal", "EqualValues", "Equalf"}, selector.Sel.Name) {
		return false
	}
	return slices.ContainsFunc(g.testify, func(name string) bool { return isIdent(selector.X, name) })
}

// compare searches the literal of a comparison: one of the two values, or what one of them stands
// for.
func (g *goTestBody) compare(one, two ast.Expr, in goScope) {
	for _, pair := range [][2]ast.Expr{{one, two}, {two, one}} {
		expected, actual := pair[0], pair[1]
		if isConstant(actual) {
			continue
		}
		for _, literal := range g.literals(expected, in.table) {
			if s, ok := g.spot(literal); ok {
				s.certain = in.certain
				g.spots = append(g.spots, s)
			}
		}
	}
}

// compareOnly searches the literal of a composite value with one element that is compared.
func (g *goTestBody) compareOnly(actual, expected ast.Expr, in goScope) {
	composite, ok := expected.(*ast.CompositeLit)
	if !ok || len(composite.Elts) != 1 { // of several, the method may ignore some
		return
	}
	only := composite.Elts[0]
	if pair, keyed := only.(*ast.KeyValueExpr); keyed {
		only = pair.Value
	}
	if isConstant(only) {
		g.compare(actual, only, in)
	}
}

// literals returns the literals that an expression stands for: itself, the only value of a local
// name, or a column of a table. A name that is used for anything but comparing and reporting may
// change what the test does.
func (g *goTestBody) literals(e ast.Expr, table *goTable) []ast.Expr {
	if isConstant(e) {
		return []ast.Expr{e}
	}
	switch e := e.(type) {
	case *ast.Ident:
		if table != nil && e.Name == table.value {
			return g.remember(".", func() []ast.Expr { return table.column("", g) }, table)
		}
		return g.remember(e.Name, func() []ast.Expr { return g.localValue(e.Name) }, nil)
	case *ast.SelectorExpr:
		if table != nil && isIdent(e.X, table.value) {
			return g.remember(e.Sel.Name, func() []ast.Expr { return table.column(e.Sel.Name, g) }, table)
		}
	}
	return nil
}

// maxValues limits the names of a test whose values are searched. Each takes a look at the whole
// test.
const maxValues = 200

// remember returns what find returns for a name of the test, or for a column of a table.
func (g *goTestBody) remember(name string, find func() []ast.Expr, table *goTable) []ast.Expr {
	if table != nil {
		name = strconv.Itoa(int(table.loop.Pos())) + " " + name
	}
	found, known := g.values[name]
	if !known && len(g.values) < maxValues {
		found = find()
		g.values[name] = found
	}
	return found
}
