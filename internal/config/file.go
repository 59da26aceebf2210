package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFileBytes = 1 << 20
	// maxTokens limits the parser's recursion and its work, which grows with the square of the
	// nesting.
	maxTokens = 20_000
)

// readFile reads the layer in a config file. A missing user or project file gives an empty layer; a
// file named with -c must exist.
func readFile(path string, kind Layer) (layer, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readBounded(path, kind)
	switch {
	case errors.Is(err, fs.ErrNotExist) && kind != LayerConfig:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, &UsageError{Msg: fmt.Sprintf("the config file %s does not exist", path)}
	case err != nil:
		return nil, &UsageError{Msg: fmt.Sprintf("read config: %v", err)}
	}
	return parseFile(path, data, kind)
}

func readBounded(path string, kind Layer) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	// A pipe is fine for -c, where a shell makes one for <(…). In a repository, it would only make us
	// hang.
	if info.IsDir() || kind != LayerConfig && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return data, err
}

// parseFile reads YAML. The order of the steps matters: input that the parser cannot handle is
// rejected before the parser sees it.
func parseFile(path string, data []byte, kind Layer) (layer, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bad := firstInvalidByte(data); bad >= 0 {
		line := 1 + bytes.Count(data[:bad], []byte("\n"))
		return nil, &UsageError{Msg: fmt.Sprintf("%s:%d: the file is not UTF-8 text", path, line)}
	}
	tokens := lexer.Tokenize(string(data))
	if countTokens(tokens) > maxTokens {
		return nil, &UsageError{
			Msg: fmt.Sprintf("%s: the file has more than %d YAML nodes, too many for a configuration", path, maxTokens),
		}
	}
	file, err := parseTokens(tokens)
	if err != nil {
		return nil, syntaxError(path, err)
	}
	d := document{path: path, kind: kind, anchors: map[string]ast.Node{}, out: layer{}}
	return d.out, d.read(file)
}

// firstInvalidByte returns the position of the first byte that is not text: invalid UTF-8, or NUL,
// which UTF-16 is full of. It returns -1 if there is none.
func firstInvalidByte(data []byte) int {
	for i, r := range string(data) {
		if _, size := utf8.DecodeRune(data[i:]); r == 0 || r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return -1
}

func countTokens(tokens token.Tokens) int {
	n := 0
	for _, t := range tokens {
		if t.Type != token.CommentType {
			n++
		}
	}
	return n
}

// parseTokens turns a panic of the parser into an error: a config file must never crash the
// program.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func syntaxError(path string, err error) error {
	located, ok := errors.AsType[yaml.Error](err)
	if !ok || located.GetToken() == nil {
		return &UsageError{Msg: fmt.Sprintf("%s: not valid YAML: %s", path, oneLine(err.Error()))}
	}
	where, message := position(path, located.GetToken()), located.GetMessage()
	if strings.Contains(message, "'\t'") {
		return &UsageError{Msg: where + ": a line begins with a tab", Hint: "YAML is indented with spaces"}
	}
	return &UsageError{Msg: where + ": not valid YAML: " + oneLine(message)}
}

func oneLine(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func position(path string, t *token.Token) string {
	if t == nil || t.Position == nil {
		return path
	}
	return fmt.Sprintf("%s:%d:%d", path, t.Position.Line, t.Position.Column)
}

func lineOf(node ast.Node) int {
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}
