package snapshot

import (
	"maps"
	"slices"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// The objects that are followed in the repository's files are those that git reaches.
func TestReachableAsGitSees(t *testing.T) {
	for name, test := range map[string]struct {
		script      string
		unreachable int
		followed    bool
	}{
		"a commit":       {"echo a >a; git add a; git commit -qm a", 0, true},
		"folders":        {"mkdir -p x/y; echo a >x/y/a; echo b >x/b; git add .; git commit -qm a", 0, true},
		"another branch": {"git checkout -qb b; echo a >a; git add a; git commit -qm a; git checkout -q -", 0, true},
		"a tag of a commit": {
			"git checkout -q --detach; git commit -qm a --allow-empty; git tag -am t v1; git checkout -q main", 0, true,
		},
		"detached": {"git checkout -q --detach; echo a >a; git add a; git commit -qm a", 0, true},
		"staged":   {"echo a >a; git add a", 0, true},
		"a merge": {"git checkout -qb b; echo b >b; git add b; git commit -qm b; git checkout -q main; " +
			"echo a >a; git add a; git commit -qm a; git merge -qm m b", 0, true},
		"a lost blob":   {"echo a | git hash-object -w --stdin", 1, true},
		"a lost commit": {"echo a >a; git add a; git commit -qm a; git reset -q --hard HEAD^", 3, true},
		"a secret branch": {
			"echo a >a; git add a; git commit -qm a; git update-ref refs/secret/x HEAD; git reset -q --hard HEAD^", 3, true,
		},
		"a secret HEAD": {
			"echo a >a; git add a; git commit -qm a; git update-ref refs/secret/x HEAD; git reset -q --hard HEAD^; " +
				"git symbolic-ref HEAD refs/secret/x", 0, true,
		},
		"a broken object": {"git commit -qm a --allow-empty; f=.git/objects/$(git rev-parse HEAD | sed 's:..:&/:'); " +
			"chmod u+w $f; echo x >$f", 1, false},
		"another index": {"echo a >a; git add a; git update-index --index-version 4", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			k, err := New(t.Context(), w.Find(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			k.commits.begin(t.Context())
			w.Sh(test.script)
			added := k.looseObjects()
			maps.DeleteFunc(added, func(name string, _ bool) bool { return k.commits.loose[name] })
			now, err := k.look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r := reachability{Keeper: k, added: maps.Clone(added)}
			if followed := r.follow(now); followed != test.followed {
				t.Errorf("followed: %v, want %v", followed, test.followed)
			}
			if err := k.askReachable(t.Context(), added); err != nil {
				t.Fatal(err)
			}
			if len(added) != test.unreachable {
				t.Errorf("git leaves %d objects, want %d", len(added), test.unreachable)
			}
			got, want := slices.Sorted(maps.Keys(r.added)), slices.Sorted(maps.Keys(added))
			if test.followed && !slices.Equal(got, want) {
				t.Errorf("left %v, want %v", got, want)
			}
		})
	}
}
