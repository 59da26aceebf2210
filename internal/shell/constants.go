package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variableOf returns the variable that a word consists of, or "".
func variableOf(word *syntax.Word) string {
	if word == nil || len(word.Parts) != 1 {
		return ""
	}
	part := word.Parts[0]
	if quoted, ok := part.(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	expansion, ok := part.(*syntax.ParamExp)
	if !ok || expansion.Param == nil || expansion.Exp != nil || expansion.Length || expansion.Slice != nil {
		return ""
	}
	return expansion.Param.Value
}

// isConstant reports whether a word is the same in every run, and not a pattern.
func isConstant(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[~") {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if _, ok := inner.(*syntax.Lit); !ok {
					return false
				}
			}
		default:
			return false
		}
	}
	return len(word.Parts) > 0
}

// wordText returns a constant word without its quotes.
func wordText(word *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(word, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		return true
	})
	return b.String()
}

func nameOf(call *syntax.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	return call.Args[0].Lit()
}
