package plan

import (
	"testing"

	"github.com/ralphloop/ralph"
)

// upkeepSamples are titles of work that no test shows.
var upkeepSamples = []string{
	"Refactor the parser",
	"refactor(parser): one loop instead of two",
	"Refactoring: the store is an interface",
	"Restructure the packages",
	"Rename Foo to Bar",
	"Move the helpers into internal/text",
	"Move parse.go to internal/parse",
	"Extract a function for the retry",
	"Split the server into internal/http",
	"Reformat everything",
	"Format the code with gofmt",
	"Run prettier over the front end",
	"Sort the imports",
	"Clean up the parser package",
	"Tidy up helpers",
	"Remove unused imports",
	"Delete the dead code in store",
	"Document the public API",
	"Document how to install it",
	"docs: say how to install it",
	"Update the docs",
	"Write documentation for the new flags",
	"Add a documentation page about retries",
	"Update README.md",
	"Add the new flag to the README",
	"update the changelog",
	"Add a changelog entry",
	"Add doc comments to the exported types",
	"Improve docstrings",
	"Comment all exported functions",
	"The README explains the flags",
	"Documentation describes the config file",
	"Every flag is documented",
	"Config is renamed to Settings",
	"Update dependencies",
	"Upgrade React to 19",
	"Bump golang.org/x/net from v0.1.0 to v0.2.0",
	"chore(deps): newest linter",
}

// productSamples use the same words about what a program does.
var productSamples = []string{
	"the parser keeps comments",
	"Users can comment on posts",
	"Add comments to posts",
	"Add a comment form",
	"Comment the winning move",
	"Format dates in invoices",
	"The date format is ISO 8601",
	"Move the cursor with the arrow keys",
	"Move money between accounts",
	"Rename files from the menu",
	"A renamed file keeps its history",
	"Users rename playlists",
	"Documents can be uploaded",
	"Document upload survives a lost connection",
	"Search the documentation",
	"Add documentation search",
	"Fix the docs build",
	"The changelog endpoint returns JSON",
	"Render README files in the browser",
	"Clean up expired sessions",
	"Clean up temporary files on exit",
	"Remove users from a group",
	"Delete unused sessions after a day",
	"Upgrade the plan of a customer",
	"Update the limit to 5",
	"Update prices every hour",
	"Resolve dependencies between tasks",
	"Split the bill",
	"Merge two carts",
	"Sort search results by date",
	"Extract text from a PDF",
	"Log in with a passkey",
}

func TestUpkeepIsRecognized(t *testing.T) {
	for _, title := range upkeepSamples {
		if !keepsBehavior(ralph.Task{Title: title}) {
			t.Errorf("not recognized: %s", title)
		}
	}
	for _, title := range productSamples {
		if keepsBehavior(ralph.Task{Title: title}) {
			t.Errorf("taken for upkeep: %s", title)
		}
	}
	for category, want := range map[string]bool{
		"Docs": true, "refactoring": true, "": false, "feature": false, "style": false,
	} {
		if keepsBehavior(ralph.Task{Title: "A", Category: category}) != want {
			t.Errorf("category %q: want %v", category, want)
		}
	}
}
