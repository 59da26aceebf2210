package layout

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

func judgeImports(src source) []Finding {
	rule, known := directionOf(src.room)
	if !known {
		return []Finding{src.finding(src.tree.Package, whyUnknown, "%s is a room without a rule", src.room)}
	}
	var findings []Finding
	for _, spec := range src.tree.Imports {
		target, ours := roomOf(importPath(spec))
		if !ours || allowed(rule, src.room, target) {
			continue
		}
		findings = append(findings, src.finding(spec.Pos(), rule.reason, "%s imports %s", src.room, target))
	}
	return findings
}

func directionOf(folder string) (direction, bool) {
	for _, d := range directions {
		if belongs(folder, d.rooms) {
			return d, true
		}
	}
	return direction{}, false
}

// allowed lets a room reach its own subfolders, and what its row names.
func allowed(rule direction, from, to string) bool {
	for _, room := range rule.rooms {
		if under(from, room) && under(to, room) {
			return true
		}
	}
	return belongs(to, rule.may)
}

func belongs(folder string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool { return under(folder, room) })
}

// roomOf is the folder of one of our import paths.
func roomOf(imported string) (folder string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func judgeCalls(src source) []Finding {
	imports := importNames(src.tree)
	var findings []Finding
	ast.Inspect(src.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Obj == nil { // with an Obj it is a variable that has a package's name
				findings = append(findings, judgeCall(src, n, imports[pkg.Name])...)
			}
		case *ast.BasicLit:
			if strings.Contains(n.Value, "(?i") && belongs(src.room, hotRooms) {
				findings = append(findings, src.finding(n.Pos(), whyFold, "the expression %s", n.Value))
			}
		case *ast.ImportSpec:
			if n.Name != nil && n.Name.Name == "." {
				findings = append(findings, src.finding(n.Pos(), "it hides where a name comes from", "dot import of %s", importPath(n)))
			}
		}
		return true
	})
	return findings
}

func judgeCall(src source, call *ast.SelectorExpr, pkg string) []Finding {
	for _, b := range bans {
		if b.pkg != pkg || !slices.Contains(b.names, call.Sel.Name) {
			continue
		}
		if b.mains && src.tree.Name.Name == "main" || belongs(src.room, b.rooms) {
			continue
		}
		return []Finding{src.finding(call.Pos(), b.reason, "use of %s.%s", path.Base(pkg), call.Sel.Name)}
	}
	return nil
}

// importNames maps the name that a file gives to a package to the package's path.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		imported := importPath(spec)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

func importPath(spec *ast.ImportSpec) string {
	text, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has accepted it, so this does not happen; the raw text matches no rule
	}
	return text
}
