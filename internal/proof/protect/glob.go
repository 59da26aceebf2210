package protect

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pattern is one line of the user's list.
type pattern struct {
	glob    string
	exempts bool // it removes protection
	plain   bool // it has no wildcard
}

// parsePattern parses a pattern as in a .gitignore file: without a slash inside it matches in every
// folder, with one it starts at the workspace, and what matches a folder matches everything below.
func parsePattern(text string) (pattern, error) {
	rest, takes := strings.CutPrefix(strings.TrimSpace(text), "!")
	glob := strings.TrimSuffix(strings.TrimPrefix(rest, "./"), "/")
	anchored := strings.Contains(glob, "/")
	glob = strings.TrimPrefix(glob, "/")
	switch {
	case glob == "" || glob == ".":
		return pattern{}, fmt.Errorf("read pattern %q: it matches nothing", text)
	case glob == ".." || strings.HasPrefix(glob, "../") || strings.Contains(glob, "/../") ||
		strings.HasSuffix(glob, "/.."):
		return pattern{}, fmt.Errorf("read pattern %q: it leaves the workspace", text)
	case !doublestar.ValidatePattern(glob):
		return pattern{}, fmt.Errorf("read pattern %q: %w", text, doublestar.ErrBadPattern)
	}
	plain := !strings.ContainsAny(glob, `*?[{\`)
	if !anchored {
		glob = "**/" + glob
	}
	return pattern{glob: glob, exempts: takes, plain: plain}, nil
}

// matches reports whether the pattern matches the name or one of its folders.
func (p pattern) matches(name string) bool {
	for n := name; n != "." && n != "/" && n != ""; n = path.Dir(n) {
		if doublestar.MatchUnvalidated(p.glob, n) {
			return true
		}
	}
	return false
}

// within reports whether a name is one of the paths, or below one that is a folder.
func within(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// cleanNames makes names comparable. Names outside the workspace match nothing and are dropped.
func cleanNames(names []string) []string {
	var clean []string
	for _, name := range names {
		name = path.Clean(strings.TrimPrefix(name, "./"))
		if name != "." && name != ".." && !strings.HasPrefix(name, "../") && !path.IsAbs(name) {
			clean = append(clean, name)
		}
	}
	return clean
}
