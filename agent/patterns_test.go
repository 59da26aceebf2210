package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestEveryPatternCompiles: patterns are compiled on first use, so a broken one would be noticed
// only when an error has to be read.
func TestEveryPatternCompiles(t *testing.T) {
	var files []string
	for _, folder := range []string{".", "*", "internal/*"} {
		found, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		files = append(files, found...)
	}
	compiled := 0
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "LazyRegexp" {
				expression, ok := literalText(call.Args[0])
				if !ok {
					t.Fatalf("%s: the expression is no literal", file)
				}
				if _, err := regexp.Compile(expression); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				compiled++
			}
			return true
		})
	}
	if compiled < 50 {
		t.Errorf("only %d expressions were found", compiled)
	}
}

// literalText returns the value of a string literal, or of several joined with +.
func literalText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literalText(e.X)
		right, also := literalText(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}
