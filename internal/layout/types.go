package layout

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// A type with behavior has methods that change it. Above these limits it is several types in one.
// Plain data, which has only methods that read it, may be as wide as what it describes.
const (
	mostFields  = 20
	mostMethods = 40
	whyType     = "a type that does so much is several types; give each its own fields and methods"
)

// typeSize is the size of one type in all files of its package.
type typeSize struct {
	fields, methods int
	changes         bool // a method has a pointer receiver
	declared        Finding
}

// typeSizes measures the types of all packages, by package and name.
type typeSizes map[string]map[string]*typeSize

func (t typeSizes) add(src source) {
	for _, decl := range src.tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				name, pointer := receiver(decl.Recv.List[0].Type)
				size := t.of(src.room, name)
				size.methods++
				size.changes = size.changes || pointer
			}
		case *ast.GenDecl:
			if decl.Tok == token.TYPE {
				t.addTypes(src, decl)
			}
		}
	}
}

func (t typeSizes) addTypes(src source, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		named := spec.(*ast.TypeSpec)
		size := t.of(src.room, named.Name.Name)
		size.declared = src.finding(named.Pos(), whyType, "%s", named.Name.Name)
		if body, ok := named.Type.(*ast.StructType); ok {
			for _, field := range body.Fields.List {
				size.fields += max(1, len(field.Names))
			}
		}
	}
}

func (t typeSizes) of(room, name string) *typeSize {
	if t[room] == nil {
		t[room] = map[string]*typeSize{}
	}
	if t[room][name] == nil {
		t[room][name] = &typeSize{}
	}
	return t[room][name]
}

// judge reports the types that are too large, in the order of their files.
func (t typeSizes) judge() []Finding {
	var findings []Finding
	for _, types := range t {
		for _, size := range types {
			if size.changes && (size.fields > mostFields || size.methods > mostMethods) {
				finding := size.declared
				finding.What = fmt.Sprintf("%s has %d fields and %d methods", finding.What, size.fields, size.methods)
				findings = append(findings, finding)
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	return findings
}

func receiver(expr ast.Expr) (name string, pointer bool) {
	if star, ok := expr.(*ast.StarExpr); ok {
		expr, pointer = star.X, true
	}
	switch generic := expr.(type) {
	case *ast.IndexExpr:
		expr = generic.X
	case *ast.IndexListExpr:
		expr = generic.X
	}
	if id, ok := expr.(*ast.Ident); ok {
		name = id.Name
	}
	return name, pointer
}
