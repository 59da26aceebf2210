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

// allowed lets a package import its own subfolders, and what its row names.
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

// roomOf returns the folder of one of our import paths.
func roomOf(imported string) (folder string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// judgePurity keeps clocks, files and randomness out of the packages that decide.
func judgePurity(src source) []Finding {
	if !belongs(src.room, pureRooms) {
		return nil
	}
	var findings []Finding
	for _, spec := range src.tree.Imports {
		if slices.Contains(impureImports, importPath(spec)) {
			findings = append(findings, src.finding(spec.Pos(), whyPure, "%s imports %s", src.room, importPath(spec)))
		}
	}
	imports := importNames(src.tree)
	ast.Inspect(src.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := call.X.(*ast.Ident)
		// with an Obj it is a variable
		if ok && pkg.Obj == nil && slices.Contains(impureCalls[imports[pkg.Name]], call.Sel.Name) {
			findings = append(findings, src.finding(call.Pos(), whyPure, "use of %s.%s", pkg.Name, call.Sel.Name))
		}
		return true
	})
	return findings
}

// judgeText looks for slow regular expressions and hidden imports.
func judgeText(src source) []Finding {
	var findings []Finding
	ast.Inspect(src.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if strings.Contains(n.Value, "(?i") && belongs(src.room, hotRooms) {
				findings = append(findings, src.finding(n.Pos(), whyFold, "the expression %s", n.Value))
			}
		case *ast.ImportSpec:
			if n.Name != nil && n.Name.Name == "." {
				findings = append(findings,
					src.finding(n.Pos(), "it hides where a name comes from", "dot import of %s", importPath(n)))
			}
		}
		return true
	})
	return findings
}

// importNames maps the name of a package in a file to the package's path.
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
		return spec.Path.Value // cannot happen, since the parser accepted it; the raw text matches no rule
	}
	return text
}
