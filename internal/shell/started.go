package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shells are programs that run a script, and commands that read one.
var shells = []string{"sh", "bash", "dash", "ksh", "zsh", "ash", ".", "source"}

// Started returns the names and patterns of the scripts that a script certainly starts or reads.
func Started(text string) []string {
	file := parseFile(text)
	if file == nil {
		return nil
	}
	var names []string
	startedBy(file.Stmts, &names)
	return names
}

func startedBy(list []*syntax.Stmt, names *[]string) {
	for _, s := range list {
		switch command := s.Cmd.(type) {
		case *syntax.CallExpr:
			*names = append(*names, scriptsOf(command)...)
		case *syntax.BinaryCmd:
			startedBy([]*syntax.Stmt{command.X}, names)
			if command.Op == syntax.AndStmt {
				startedBy([]*syntax.Stmt{command.Y}, names)
			}
		case *syntax.IfClause:
			startedBy(command.Cond, names)
		case *syntax.Block:
			startedBy(command.Stmts, names)
		case *syntax.Subshell:
			startedBy(command.Stmts, names)
		case *syntax.ForClause:
			if loop, ok := command.Loop.(*syntax.WordIter); ok && startsVariable(command.Do, loop.Name.Value) {
				for _, word := range loop.Items {
					*names = append(*names, wordText(word))
				}
			}
		}
	}
}

// scriptsOf returns the scripts that a simple command names: itself, or a word after a shell.
func scriptsOf(call *syntax.CallExpr) (names []string) {
	name := nameOf(call)
	if strings.Contains(name, "/") {
		names = append(names, name)
	}
	if name == "echo" || name == "printf" {
		return names
	}
	for i, word := range call.Args[:max(len(call.Args)-1, 0)] {
		if next := call.Args[i+1]; slices.Contains(shells, word.Lit()) && isConstant(next) {
			names = append(names, wordText(next))
		}
	}
	return names
}

// startsVariable reports whether a loop starts the script that its variable names.
func startsVariable(body []*syntax.Stmt, name string) (starts bool) {
	for _, s := range body {
		syntax.Walk(s, func(node syntax.Node) bool {
			call, ok := node.(*syntax.CallExpr)
			if !ok {
				return true
			}
			for i, word := range call.Args {
				isShell := i == 0 || slices.Contains(shells, call.Args[i-1].Lit())
				starts = starts || isShell && variableOf(word) == name
			}
			return true
		})
	}
	return starts
}
