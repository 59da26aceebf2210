package canary

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// goTable is a table of a test: the name of a row in the loop, and the rows.
type goTable struct {
	value  string
	loop   *ast.RangeStmt
	rows   []ast.Expr
	fields []string // names of the columns in their order, if known
}

// tableOf returns the table that a loop is about, if it is written in the test.
func (g *goTestBody) tableOf(s *ast.RangeStmt) *goTable {
	value, ok := s.Value.(*ast.Ident)
	if !ok || s.Tok != token.DEFINE || value.Name == "_" {
		return nil
	}
	content := s.X
	if name, ok := content.(*ast.Ident); ok {
		// Code that gets the whole table may change it.
		if content, _ = g.definition(name.Name); content == nil {
			content = g.ofPackage(name.Name)
		} else if g.count(name.Name) > 2 {
			return nil
		}
	}
	literal, ok := content.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	table := &goTable{value: value.Name, loop: s}
	switch t := literal.Type.(type) {
	case *ast.ArrayType:
		table.fields = g.fieldsOf(t.Elt)
	case *ast.MapType:
		table.fields = g.fieldsOf(t.Value)
	default:
		return nil
	}
	for _, row := range literal.Elts {
		if pair, ok := row.(*ast.KeyValueExpr); ok {
			row = pair.Value
		}
		table.rows = append(table.rows, row)
	}
	return table
}

// fieldsOf returns the names of a struct's fields, if the struct is written in the same file.
func (g *goTestBody) fieldsOf(e ast.Expr) []string {
	if pointer, ok := e.(*ast.StarExpr); ok {
		e = pointer.X
	}
	if name, ok := e.(*ast.Ident); ok {
		e = nil
		ast.Inspect(g.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name.Name {
				e = spec.Type
			}
			return true
		})
	}
	var fields []string
	if s, ok := e.(*ast.StructType); ok {
		for _, field := range s.Fields.List {
			for _, name := range field.Names {
				fields = append(fields, name.Name)
			}
			if len(field.Names) == 0 {
				fields = append(fields, "")
			}
		}
	}
	return fields
}

// column returns the literals of one column, or of rows that are literals themselves.
func (t *goTable) column(field string, g *goTestBody) []ast.Expr {
	matches := func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == field && isIdent(selector.X, t.value)
	}
	whole := func(n ast.Node) bool { return isIdentNode(n, t.value) }
	if field == "" {
		matches, whole = whole, nil
	}
	if used := (&usage{test: g, matches: matches, whole: whole}); used.in(t.loop.Body) {
		return nil
	}
	var found []ast.Expr
	for _, row := range t.rows {
		if pointer, ok := row.(*ast.UnaryExpr); ok && pointer.Op == token.AND {
			row = pointer.X
		}
		if field == "" {
			found = append(found, row)
			continue
		}
		literal, ok := row.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for i, e := range literal.Elts {
			pair, keyed := e.(*ast.KeyValueExpr)
			switch {
			case keyed && isIdent(pair.Key, field):
				found = append(found, pair.Value)
			case !keyed && i < len(t.fields) && t.fields[i] == field:
				found = append(found, e)
			}
		}
	}
	return found
}

// localValue returns the literal that a name of the test stands for.
func (g *goTestBody) localValue(name string) []ast.Expr {
	value, at := g.definition(name)
	if value == nil {
		return nil
	}
	matches := func(n ast.Node) bool { return isIdentNode(n, name) && n.Pos() != at }
	if used := (&usage{test: g, matches: matches}); used.in(g.body) {
		return nil
	}
	return []ast.Expr{value}
}

// definition returns the value of a name that is defined exactly once in the test, and where.
func (g *goTestBody) definition(name string) (ast.Expr, token.Pos) {
	var value ast.Expr
	var at token.Pos
	times := 0
	define := func(i int, left *ast.Ident, values []ast.Expr) {
		times++
		if at = left.Pos(); i < len(values) {
			value = values[i]
		}
	}
	ast.Inspect(g.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if isIdent(left, name) && len(n.Lhs) == len(n.Rhs) {
					define(i, left.(*ast.Ident), n.Rhs)
				}
			}
		case *ast.ValueSpec:
			for i, left := range n.Names {
				if left.Name == name {
					define(i, left, n.Values)
				}
			}
		}
		return true
	})
	if times != 1 {
		return nil, token.NoPos
	}
	return value, at
}

// ofPackage returns the value of a variable of the package that no other test mentions.
func (g *goTestBody) ofPackage(name string) (value ast.Expr) {
	for _, decl := range g.file.Decls {
		variables, ok := decl.(*ast.GenDecl)
		if !ok || variables.Tok != token.VAR {
			continue
		}
		for _, spec := range variables.Specs {
			spec := spec.(*ast.ValueSpec)
			i := slices.IndexFunc(spec.Names, func(n *ast.Ident) bool { return n.Name == name })
			if i >= 0 && i < len(spec.Values) {
				value = spec.Values[i]
			}
		}
	}
	mentions := 0
	ast.Inspect(g.file, func(node ast.Node) bool {
		if isIdentNode(node, name) {
			mentions++
		}
		return true
	})
	if mentions != 2 || g.elsewhere(name) {
		return nil
	}
	return value
}

// count returns how often a name occurs in the test.
func (g *goTestBody) count(name string) int {
	n := 0
	ast.Inspect(g.body, func(node ast.Node) bool {
		if isIdentNode(node, name) {
			n++
		}
		return true
	})
	return n
}

// usage finds out whether something is used for anything but comparing and reporting.
type usage struct {
	test    *goTestBody
	matches func(ast.Node) bool
	// whole matches the row of a column. A row that is used as a whole is used otherwise, too.
	whole func(ast.Node) bool
	found bool
}

func (u *usage) in(body ast.Node) bool {
	ast.Inspect(body, u.visit)
	return u.found
}

func (u *usage) visit(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return u.compared(n.X, n.Y)
		}
	case *ast.CallExpr:
		if u.test.testifyEqual(n) {
			return u.compared(n.Args[1], n.Args[2])
		}
		if u.test.isReport(n) {
			return false
		}
	case *ast.AssignStmt:
		if copiesItself(n) {
			return false
		}
	case *ast.SelectorExpr:
		if _, ok := n.X.(*ast.Ident); ok && u.whole != nil {
			u.found = u.found || u.matches(n)
			return false // another column, or a package
		}
		ast.Inspect(n.X, u.visit)
		return false
	}
	u.found = u.found || u.matches(n) || u.whole != nil && u.whole(n)
	return !u.found
}

// compared visits both sides of a comparison, unless one is what is searched.
func (u *usage) compared(sides ...ast.Expr) bool {
	for _, side := range sides {
		if !u.matches(side) {
			ast.Inspect(side, u.visit)
		}
	}
	return false
}

// copiesItself matches `tt := tt`, which older Go needs in a loop.
func copiesItself(s *ast.AssignStmt) bool {
	if s.Tok != token.DEFINE || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return false
	}
	name, ok := s.Lhs[0].(*ast.Ident)
	return ok && isIdent(s.Rhs[0], name.Name)
}

var reporting = strings.Fields("Error Errorf Fatal Fatalf Fail FailNow")

// isReport reports whether a call prints something about a test.
func (g *goTestBody) isReport(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.ContainsFunc(g.contexts, func(t string) bool { return isIdent(selector.X, t) }) &&
		(slices.Contains(reporting, selector.Sel.Name) || selector.Sel.Name == "Log" || selector.Sel.Name == "Logf")
}

// reports reports whether a block certainly makes a test fail.
func (g *goTestBody) reports(block *ast.BlockStmt, t string) bool {
	found, known := g.reporting[block]
	if !known {
		found = g.certainlyReports(block, t)
		g.reporting[block] = found
	}
	return found
}

func (g *goTestBody) certainlyReports(block *ast.BlockStmt, t string) bool {
	for _, s := range block.List {
		if e, ok := s.(*ast.ExprStmt); ok {
			if call, ok := e.X.(*ast.CallExpr); ok {
				selector, ok := call.Fun.(*ast.SelectorExpr)
				if ok && isIdent(selector.X, t) && slices.Contains(reporting, selector.Sel.Name) {
					return true
				}
			}
		}
		if g.mayEnd(s, t) {
			return false
		}
	}
	return false
}

// mayEnd reports whether a statement may end a test, or one turn of its loop, without a failure.
func (g *goTestBody) mayEnd(s ast.Stmt, t string) bool {
	ends := false
	var loops []ast.Node
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			ends = true
		case *ast.ForStmt, *ast.RangeStmt:
			loops = append(loops, n)
		case *ast.BranchStmt:
			inner := slices.ContainsFunc(loops, func(loop ast.Node) bool { return n.Pos() < loop.End() })
			ends = ends || !inner || n.Label != nil
		case *ast.IfStmt:
			if g.reports(n.Body, t) {
				for _, part := range []ast.Stmt{n.Init, n.Else} {
					ends = ends || part != nil && g.mayEnd(part, t)
				}
				return false
			}
		case *ast.FuncLit:
			ends = ends || mentions(n.Body, endingNames)
			return false
		case *ast.Ident:
			ends = ends || slices.Contains(endingNames, n.Name)
		}
		return !ends
	})
	return ends
}

// endingNames are functions that end a test, or hide how it ended.
var endingNames = strings.Fields("Skip Skipf SkipNow Goexit Exit recover")

func mentions(n ast.Node, names []string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		found = found || ok && slices.Contains(names, name.Name)
		return !found
	})
	return found
}

func isIdent(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}

func isIdentNode(n ast.Node, name string) bool {
	ident, ok := n.(*ast.Ident)
	return ok && ident.Name == name
}

var basicType = text.LazyRegexp(`^(?:u?int(?:8|16|32|64)?|float(?:32|64)|string|byte|rune)$`)

// unconverted returns the literal inside a conversion to a basic type.
func unconverted(e ast.Expr) ast.Expr {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if name, ok := call.Fun.(*ast.Ident); ok && basicType().MatchString(name.Name) {
			return call.Args[0]
		}
	}
	return e
}

// isConstant reports whether an expression is a literal, perhaps with a sign or converted.
func isConstant(e ast.Expr) bool {
	e = unconverted(e)
	if sign, ok := e.(*ast.UnaryExpr); ok && sign.Op == token.SUB {
		e = sign.X
	}
	_, ok := e.(*ast.BasicLit)
	return ok
}

// spot returns the place of a literal that can be changed.
func (g *goTestBody) spot(e ast.Expr) (spot, bool) {
	e = unconverted(e)
	at := span{g.fset.Position(e.Pos()).Offset, g.fset.Position(e.End()).Offset}
	sign := ""
	if negative, ok := e.(*ast.UnaryExpr); ok && negative.Op == token.SUB {
		sign, e = "-", negative.X
	}
	literal, ok := e.(*ast.BasicLit)
	switch {
	case !ok:
		return spot{}, false
	case literal.Kind == token.STRING && sign == "":
		return spot{span: at}, true
	case literal.Kind == token.CHAR && sign == "":
		return spot{span: at, char: true}, true
	case (literal.Kind == token.INT || literal.Kind == token.FLOAT) && changeable(sign+literal.Value):
		return spot{span: at}, at.to-at.from == len(sign)+len(literal.Value)
	}
	return spot{}, false
}
