package plan

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// maxYAMLTokens limits the parser's recursion and its work, which grows with the square of the nesting.
const maxYAMLTokens = 100_000

// yamlProblem says where and why bytes are not YAML.
type yamlProblem struct {
	line int
	text string
}

// parseYAML returns the value of a file with one document. The parser must never crash a run: agents write lists.
func parseYAML(data []byte) (root ast.Node, problem *yamlProblem) {
	defer func() {
		if r := recover(); r != nil {
			root, problem = nil, &yamlProblem{text: fmt.Sprint(r)}
		}
	}()
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return nil, &yamlProblem{text: "the file is not UTF-8 text"}
	}
	tokens := lexer.Tokenize(string(data))
	if len(tokens) > maxYAMLTokens {
		return nil, &yamlProblem{text: "the file has too many nodes"}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if located, ok := errors.AsType[yaml.Error](err); ok && located.GetToken() != nil {
		return nil, &yamlProblem{located.GetToken().Position.Line, located.GetMessage()}
	}
	switch {
	case err != nil:
		return nil, &yamlProblem{text: err.Error()}
	case len(file.Docs) != 1 || file.Docs[0].Body == nil:
		return nil, &yamlProblem{text: "expected one document"}
	}
	return file.Docs[0].Body, nil
}

// fieldsOf returns the keys of a mapping, nil for anything else.
func fieldsOf(n ast.Node) []*ast.MappingValueNode {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode: // a mapping of one key
		return []*ast.MappingValueNode{m}
	}
	return nil
}

// scalar returns the text of a plain value; false for a list, a mapping, an anchor, an alias or a tag.
func scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.NullNode:
		return "", true
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return v.GetToken().Value, true
	}
	return "", false
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}
