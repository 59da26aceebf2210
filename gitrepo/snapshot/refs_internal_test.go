package snapshot

import (
	"slices"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// Refs that are read from files are those that git lists.
func TestRefsAsGitListsThem(t *testing.T) {
	for name, test := range map[string]struct {
		script    string
		fromFiles bool
	}{
		"no commit":  {"git update-ref -d HEAD", true},
		"one branch": {"true", true},
		"folders":    {"git branch x/y; git branch x/b; git tag 1.0", true},
		"packed":     {"git branch b; git tag -am t v1; git pack-refs --all", true},
		"packed, then deleted and moved": {
			"git branch gone; git branch stays; git pack-refs --all; git branch -D gone; git commit -qm x --allow-empty", true,
		},
		"symbolic":       {"git symbolic-ref refs/heads/alias refs/heads/main", true},
		"dangling":       {"git symbolic-ref refs/heads/alias refs/heads/none", false},
		"symbolic twice": {"git symbolic-ref refs/tags/a refs/heads/main; git symbolic-ref refs/tags/b refs/tags/a", false},
		"an odd name":    {"git branch größe", false},
		"a lock":         {"touch .git/refs/heads/x.lock", false},
		"a broken one":   {"echo nothing >.git/refs/heads/x", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Sh(test.script)
			repo := w.Find()
			h, err := homeOf(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			var r refReader
			got, ok := r.fromFiles(h)
			if ok != test.fromFiles {
				t.Fatalf("read from files: %v, want %v", ok, test.fromFiles)
			}
			out, err := repo.Ask(t.Context(), "for-each-ref", refFormat)
			if err != nil {
				t.Fatal(err)
			}
			if want := parseRefs(out); ok && !slices.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}
