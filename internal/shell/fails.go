package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// fails reports whether a list of statements certainly makes the script fail. ends is false if it only makes its
// function fail.
func (a *asserter) fails(list []*syntax.Stmt) (fails, ends bool) {
	for _, s := range list {
		var one, hard bool
		switch command := s.Cmd.(type) {
		case *syntax.Block:
			one, hard = a.fails(command.Stmts)
		case *syntax.ArithmCmd:
			one, hard = true, true
		case *syntax.CallExpr:
			one, hard = a.callFails(command)
		}
		fails, ends = fails || one, ends || hard
	}
	return fails, ends
}

func isArithmetic(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	_, ok := word.Parts[0].(*syntax.ArithmExp)
	return ok
}

func (a *asserter) callFails(call *syntax.CallExpr) (fails, ends bool) {
	if len(call.Args) == 0 {
		counts := slices.ContainsFunc(call.Assigns, func(n *syntax.Assign) bool {
			return n.Value != nil && n.Name != nil && countingName.MatchString(n.Name.Value) &&
				(n.Value.Lit() == "1" || n.Value.Lit() == "false" || isArithmetic(n.Value))
		})
		return counts, counts
	}
	name := nameOf(call)
	switch name {
	case "exit", "return":
		number := ""
		if len(call.Args) > 1 {
			number = call.Args[1].Lit()
		}
		fails = number != "" && number != "0"
		return fails, fails && name == "exit"
	case "false":
		return true, false
	}
	body, defined := a.bodies[name]
	if !defined || a.twice[name] {
		return failingName.MatchString(name), failingName.MatchString(name)
	}
	known, ok := a.failing[name]
	if !ok {
		a.failing[name] = failure{} // as long as it is not known: it may call itself
		known.fails, known.ends = a.fails([]*syntax.Stmt{body})
		a.failing[name] = known
	}
	return known.fails, known.ends
}
