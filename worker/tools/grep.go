package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ralphloop/ralph/model"
)

//go:embed grep.md
var grepPage string

const (
	// hitLineLimit is how many characters of a line are shown.
	hitLineLimit = 200
	// searchedBytes is how much of a line is searched.
	searchedBytes = 64 << 10
	// expressionLimit keeps the memory that an expression takes small.
	expressionLimit = 1000
)

type grep struct{ *workspace }

type grepInput struct {
	Pattern    string `json:"pattern" doc:"The regular expression."`
	Path       string `json:"path,omitempty" doc:"The folder or file to search; the workspace if left out."`
	Glob       string `json:"glob,omitempty" doc:"Search only files that match this pattern, as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty" doc:"Capital and small letters are the same."`
}

func (grep) Spec() model.Tool { return spec("grep", grepPage, grepInput{}) }

func (t grep) Run(ctx context.Context, input json.RawMessage) Output {
	var in grepInput
	if err := Decode(input, &in); err != nil {
		return failed(err)
	}
	expression, err := in.compile()
	if err != nil {
		return failed(err)
	}
	matches := func(string) bool { return true }
	if in.Glob != "" {
		if matches, err = matcher(in.Glob); err != nil {
			return failed(err)
		}
	}
	folder, file, err := t.folder(in.Path)
	if err != nil {
		return failed(err)
	}
	found := listing{names: []string{file}}
	if file == "" {
		found, err = t.files(ctx, folder)
	} else if _, err := t.regular(in.Path, filepath.Join(folder, file)); err != nil {
		return failed(err)
	}
	if err != nil && ctx.Err() == nil {
		return failf("the folder cannot be listed: %w", err)
	}
	h := newHits()
	for _, name := range found.names {
		if h.full() || ctx.Err() != nil {
			break
		}
		if matches(name) {
			t.search(ctx, expression, shown(folder, name), h)
		}
	}
	if ctx.Err() != nil {
		return interrupted()
	}
	return h.output("no line matches", "there are more hits; narrow the pattern or name a path", found)
}

func (in grepInput) compile() (*regexp.Regexp, error) {
	switch {
	case in.Pattern == "":
		return nil, errors.New("the pattern is empty")
	case len(in.Pattern) > expressionLimit:
		return nil, fmt.Errorf("the pattern is longer than %d bytes", expressionLimit)
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	return expression, nil
}

// search adds the hits in one file. A file that cannot be read, or is binary, has none.
func (t grep) search(ctx context.Context, expression *regexp.Regexp, name string, h *hits) {
	file := t.openQuietly(filepath.FromSlash(name))
	if file == nil {
		return
	}
	defer file.Close()
	text, ok := textFile(file)
	if !ok {
		return
	}
	lines := newLineReader(text, searchedBytes)
	for n := 1; !h.full() && ctx.Err() == nil; n++ {
		l, err := lines.next()
		if err != nil {
			return
		}
		if expression.Match(l.kept) {
			shown, _, _ := l.text(hitLineLimit)
			h.add(fmt.Sprintf("%s:%d: %s", strings.ToValidUTF8(name, "\uFFFD"), n, shown))
		}
	}
}

// textFile is the content of a file, if that is text.
func textFile(file *os.File) (io.Reader, bool) {
	head := make([]byte, binaryLook)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || isBinary(head[:n]) {
		return nil, false
	}
	return io.MultiReader(bytes.NewReader(head[:n]), file), true
}
