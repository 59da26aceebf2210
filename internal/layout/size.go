package layout

import (
	"go/ast"
	"go/token"
	"slices"
)

func measure(src source, limit limits) []Finding {
	var findings []Finding
	if src.lines > limit.file {
		findings = append(findings,
			src.finding(src.tree.Package, whyFile, "the file has %d lines, more than %d", src.lines, limit.file))
	}
	for _, f := range functions(src.tree) {
		lines := src.set.Position(f.end).Line - src.set.Position(f.begin).Line + 1
		if lines > limit.function {
			findings = append(findings,
				src.finding(f.begin, whyFunction, "%s has %d lines, more than %d", f.name, lines, limit.function))
		}
		if n := f.kind.Params.NumFields(); n > limit.parameters {
			findings = append(findings,
				src.finding(f.begin, whyParameters, "%s has %d parameters, more than %d", f.name, n, limit.parameters))
		}
	}
	return findings
}

type function struct {
	name       string
	begin, end token.Pos
	kind       *ast.FuncType
}

// functions lists the declared functions and methods, and the function literals, which could
// otherwise hide long code.
func functions(file *ast.File) []function {
	var found []function
	for _, decl := range file.Decls {
		literal := "a function literal"
		if f, ok := decl.(*ast.FuncDecl); ok {
			found = append(found, function{declared(f), f.Pos(), f.End(), f.Type})
			literal += " in " + declared(f)
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncLit); ok {
				found = append(found, function{literal, f.Pos(), f.End(), f.Type})
			}
			return true
		})
	}
	return found
}

// declared returns a function's name with its receiver's type, such as (*Store).Lock.
func declared(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	kind := f.Recv.List[0].Type
	star, pointer := kind.(*ast.StarExpr)
	if pointer {
		kind = star.X
	}
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	name := "?"
	if id, ok := kind.(*ast.Ident); ok {
		name = id.Name
	}
	if pointer {
		name = "(*" + name + ")"
	}
	return name + "." + f.Name.Name
}

// judgeMain limits a command's folder to a few lines of code. lines is the count so far.
func judgeMain(src source, lines int) []Finding {
	if lines <= mainLimit {
		return nil
	}
	return []Finding{
		src.finding(src.tree.Package, whyMain, "%s has %d lines of code, more than %d", src.room, lines, mainLimit),
	}
}

func judgeName(src source) []Finding {
	name := src.tree.Name.Name
	if !slices.Contains(emptyNames, name) {
		return nil
	}
	return []Finding{src.finding(src.tree.Name.Pos(), whyName, "package %s", name)}
}
