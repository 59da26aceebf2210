package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed grep.md
var grepPage string

const (
	// hitLineLimit is how many characters of a line are shown.
	hitLineLimit = 200
	// searchedBytes is how much of a line is searched.
	searchedBytes = 64 << 10
	// expressionLimit limits the memory that an expression takes.
	expressionLimit = 1000
)

type grepInput struct {
	Pattern    string `json:"pattern" doc:"The regular expression."`
	Path       string `json:"path,omitempty" doc:"The folder or file to search; the workspace if left out."`
	Glob       string `json:"glob,omitempty" doc:"Search only files that match this pattern, such as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty" doc:"Ignore case."`
}

func (w *workspace) grep(ctx context.Context, in grepInput) Output {
	if w.isOutput(in.Path) {
		return w.outputs.grep(ctx, in)
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
	folder, file, err := w.folder(in.Path)
	if err != nil {
		return failed(err)
	}
	if file != "" {
		if _, err := w.regular(in.Path, filepath.Join(folder, file)); err != nil {
			return failed(err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	h := newHits()
	found, err := w.searchAll(limited, search{expression, matches, h}, folder, file)
	switch {
	case limited.Err() != nil:
		return gaveUp(ctx)
	case err != nil:
		return Failf("the folder cannot be listed: %w", err)
	}
	return h.output("no line matches", "there are more hits; narrow the pattern or name a path", found)
}

// search is what to look for and what was found.
type search struct {
	expression *regexp.Regexp
	matches    func(name string) bool // which files
	hits       *hits
}

// searchAll searches one file of a folder, or all of them if file is "".
func (w *workspace) searchAll(ctx context.Context, s search, folder, file string) (listing, error) {
	found := listing{names: []string{file}}
	if file == "" {
		var err error
		if found, err = w.files(ctx, folder); err != nil {
			return listing{}, err
		}
	}
	for _, name := range found.names {
		if s.hits.full() || ctx.Err() != nil {
			break
		}
		if s.matches(name) {
			w.searchFile(ctx, s, shown(folder, name))
		}
	}
	return found, nil
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
		return nil, fmt.Errorf("the pattern is not a valid regular expression: %w", err)
	}
	return expression, nil
}

// searchFile adds the hits in one file. An unreadable or binary file has none.
func (w *workspace) searchFile(ctx context.Context, s search, name string) {
	file, _, err := w.open(name, filepath.FromSlash(name))
	if err != nil {
		return
	}
	defer file.Close()
	text, ok := textFile(file)
	if !ok {
		return
	}
	lines := newLineReader(ctx, text, searchedBytes)
	for n := 1; !s.hits.full(); n++ {
		l, err := lines.next()
		if err != nil {
			return
		}
		if s.expression.Match(l.kept) {
			shown, _, _ := l.text(hitLineLimit)
			s.hits.add(fmt.Sprintf("%s:%d: %s", strings.ToValidUTF8(name, "\uFFFD"), n, shown))
		}
	}
}

// textFile returns the content of a file if it is text.
func textFile(file *os.File) (io.Reader, bool) {
	head := make([]byte, binaryLook)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || isBinary(head[:n]) {
		return nil, false
	}
	return io.MultiReader(bytes.NewReader(head[:n]), file), true
}
