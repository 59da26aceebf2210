package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Runs reports whether line succeeds only if command ran in dir and succeeded. Beside the command itself, line
// may change to dir first, do more after it with &&, and send errors to the output. Anything else could replace
// the command or hide its exit status. The line may also be a shell with the real one as its argument.
func Runs(line, command, dir string) bool {
	_, runs := find(line, command, dir)
	return runs
}

// RunsOnly reports whether Runs is true and line does nothing after the command.
func RunsOnly(line, command, dir string) bool {
	more, runs := find(line, command, dir)
	return runs && !more
}

// find looks for the command at the beginning of line. more reports that line does more after it.
func find(line, command, dir string) (more, runs bool) {
	if same := strings.TrimSpace(line); same != "" && same == strings.TrimSpace(command) {
		return false, true
	}
	wanted := conjunction(command)
	given := conjunction(unwrapped(line))
	for len(given) > 0 && changesTo(given[0], dir) && (len(wanted) == 0 || printed(given[0]) != printed(wanted[0])) {
		given = given[1:]
	}
	if len(wanted) == 0 || len(given) < len(wanted) {
		return false, false
	}
	for i, stmt := range wanted {
		if printed(given[i]) != printed(stmt) && printed(withoutMergedErrors(given[i])) != printed(stmt) {
			return false, false
		}
	}
	return len(given) > len(wanted), true
}

// conjunction returns the statements of a command that must all succeed, or nil if it is something else.
func conjunction(command string) []*syntax.Stmt {
	file := parseFile(command)
	if file == nil || len(file.Stmts) != 1 {
		return nil
	}
	return conjuncts(file.Stmts[0])
}

func conjuncts(stmt *syntax.Stmt) []*syntax.Stmt {
	both, ok := stmt.Cmd.(*syntax.BinaryCmd)
	switch {
	case stmt.Background || stmt.Coprocess:
		return nil
	case !ok || both.Op != syntax.AndStmt || stmt.Negated || len(stmt.Redirs) > 0:
		return []*syntax.Stmt{stmt}
	}
	left, right := conjuncts(both.X), conjuncts(both.Y)
	if left == nil || right == nil {
		return nil
	}
	return slices.Concat(left, right)
}

// unwrapped returns the script of a shell that was started with -c, or the line itself.
func unwrapped(line string) string {
	stmts := conjunction(line)
	if len(stmts) != 1 || len(stmts[0].Redirs) > 0 || stmts[0].Negated {
		return line
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 3 || !isConstant(call.Args[2]) {
		return line
	}
	if option := call.Args[1].Lit(); option != "-c" && option != "-lc" || !isPlainShell(call.Args[0].Lit()) {
		return line
	}
	return literal(call.Args[2])
}

// isPlainShell reports whether a program is a shell of the system.
func isPlainShell(program string) bool {
	folder, name := filepath.Split(program)
	return slices.Contains([]string{"sh", "bash", "zsh"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/"}, folder)
}

// literal returns the text of a constant word without its quotes and escapes.
func literal(word *syntax.Word) string {
	list, err := ParseBash(printedNode(word))
	if err != nil || len(list) != 1 || len(list[0]) != 1 || len(list[0][0].Words) != 1 {
		return ""
	}
	return list[0][0].Words[0].Text
}

// changesTo reports whether a statement only changes to dir.
func changesTo(stmt *syntax.Stmt, dir string) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Negated || len(stmt.Redirs)+len(call.Assigns) > 0 || len(call.Args) != 2 || nameOf(call) != "cd" ||
		!isConstant(call.Args[1]) {
		return false
	}
	return isFolder(literal(call.Args[1]), dir)
}

// withoutMergedErrors returns the statement without 2>&1.
func withoutMergedErrors(stmt *syntax.Stmt) *syntax.Stmt {
	plain := *stmt
	plain.Redirs = slices.DeleteFunc(slices.Clone(stmt.Redirs), func(r *syntax.Redirect) bool {
		return r.N != nil && r.N.Value == "2" && r.Op == syntax.DplOut && r.Word.Lit() == "1"
	})
	return &plain
}

func printed(stmt *syntax.Stmt) string { return printedNode(stmt) }

func printedNode(node syntax.Node) string {
	var b strings.Builder
	if syntax.NewPrinter(syntax.Minify(true)).Print(&b, node) != nil {
		return ""
	}
	return b.String()
}
