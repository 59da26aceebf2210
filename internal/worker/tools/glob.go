package tools

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

//go:embed glob.md
var globPage string

type globInput struct {
	Pattern string `json:"pattern" doc:"What to look for, such as **/*.go"`
	Path    string `json:"path,omitempty" doc:"The folder to look in; the workspace if left out."`
}

func (w *workspace) glob(ctx context.Context, in globInput) Output {
	matches, err := matcher(in.Pattern)
	if err != nil {
		return failed(err)
	}
	folder, file, err := w.folder(in.Path)
	if err != nil {
		return failed(err)
	}
	if file != "" {
		return Failf("%s is a file; path must be a folder", in.Path)
	}
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := w.files(limited, folder)
	if limited.Err() != nil {
		return gaveUp(ctx)
	}
	if err != nil {
		return Failf("the folder cannot be listed: %w", err)
	}
	h := newHits()
	for _, name := range found.names {
		if matches(name) {
			h.add(strings.ToValidUTF8(shown(folder, name), "\uFFFD"))
		}
	}
	return h.output("no file matches", fmt.Sprintf("%d more match; narrow the pattern", h.more), found)
}

const (
	patternLimit = 500
	// Alternatives multiply: a pattern of many braces could take forever.
	bracesLimit = 4
)

// matcher returns a function that reports whether a file matches a pattern.
func matcher(pattern string) (func(name string) bool, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	switch {
	case pattern == "":
		return nil, fmt.Errorf("the pattern is empty; ** matches every file")
	case len(pattern) > patternLimit:
		return nil, fmt.Errorf("the pattern is longer than %d bytes", patternLimit)
	case strings.Count(pattern, "{") > bracesLimit:
		return nil, fmt.Errorf("the pattern has more than %d braces", bracesLimit)
	case strings.HasPrefix(pattern, "/") || pattern == ".." || strings.HasPrefix(pattern, "../"):
		return nil, fmt.Errorf("the pattern must not begin with / or ..; name the folder in path")
	case !doublestar.ValidatePattern(pattern):
		return nil, fmt.Errorf("the pattern %q is malformed", pattern)
	}
	if !strings.Contains(pattern, "/") && pattern != "**" {
		return func(name string) bool { return doublestar.MatchUnvalidated(pattern, path.Base(name)) }, nil
	}
	return func(name string) bool { return doublestar.MatchUnvalidated(pattern, name) }, nil
}
