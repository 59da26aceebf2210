package plan

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// upkeepCategories are categories of work that is not meant to change what a program does.
var upkeepCategories = []string{
	"refactor", "refactoring", "rename", "renaming", "move", "moving", "format", "formatting",
	"doc", "docs", "documentation", "comment", "comments", "readme", "changelog",
	"cleanup", "clean-up", "clean up", "dependency", "dependencies", "deps",
}

// upkeepTitles match titles of such work. One word is not enough: users rename playlists,
// move cursors and write comments, too.
var upkeepTitles = text.LazyRegexp(`(?i)^(the |a |an |all |every |each )?(` + strings.Join([]string{
	`(refactor|restructure|reformat)`,
	`(docs?|refactor|chore\(deps\)|build\(deps\))(\([^)]*\))?!?:`,
	`rename .+ (to|into|as) `,
	`(move|extract|split|inline|merge|reorder) .*\b` + codeNouns + `\b`,
	`(move|extract|split) .+ (to|into) \S*[/_.:]\S`,
	`(format|sort|organize) (\S+ ){0,3}(code|sources?|source files|imports)\b`,
	`(format|run) .*\b(gofmt|gofumpt|goimports|prettier|black|rustfmt|clang-format)\b`,
	`(tidy|tidy up|clean ?up|clean-up|cleanup) .*\b` + codeNouns + `\b`,
	`(remove|delete|drop) (\S+ ){0,3}(dead|unused|commented-out) ` + codeNouns,
	`document (the|all|every|each|how|what|why|when|where|which|public|exported)\b`,
	writes + docNouns + afterDocs,
	writes + `\b(doc|code|package|api) comments?\b`,
	writes + `\b(docstrings?|jsdoc|javadoc|godoc)\b`,
	`comment (the|all|every|each) .*\b` + codeNouns + `\b`,
	docNouns + ` (\S+ )?(explains?|describes?|documents?|mentions?|covers?|says?|names?|lists?)\b`,
	`.*\b(is|are|gets?) (renamed to|refactored|reformatted|documented)\b`,
	`(upgrade|update|bump|pin|refresh) .*\b(dependency|dependencies|deps|lock ?file|go\.mod|go\.sum)\b`,
	`(upgrade|bump) \S+( \S+)? (from \S+ )?to v?\d`,
}, "|") + `)`)

// Parts of the patterns.
const (
	codeNouns = `(code|functions?|methods?|class(es)?|types?|structs?|interfaces?|modules?|packages?|helpers?|` +
		`constants?|variables?|imports?|components?|source files?)`
	writes    = `(write|add|update|fix|improve|extend|rewrite|revise|correct|complete|expand|edit|polish) (.* )?`
	docNouns  = `(docs|documentation|readme(\.md)?|changelog(\.md)?|contributing\.md)`
	afterDocs = `($|[.,:;]| (of|for|about|to|on|in|with|and|from|after|so|pages?|sections?|entry|entries|comments?)\b)`
)

// keepsBehavior reports whether a task is about code or text that no test looks at: then nothing
// may show that it was done. It is a guess, for advice only.
func keepsBehavior(t ralph.Task) bool {
	return slices.Contains(upkeepCategories, strings.ToLower(strings.TrimSpace(t.Category))) ||
		upkeepTitles().MatchString(strings.TrimSpace(t.Title))
}
