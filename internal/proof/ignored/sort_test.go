package ignored

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// files makes a list: a name with an exclamation mark has another change time.
func files(list string) List {
	var all List
	for word := range strings.FieldsSeq(list) {
		name, isOther := strings.CutSuffix(word, "!")
		f := File{Name: name}
		if isOther {
			f.Changed = 1
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func TestSort(t *testing.T) {
	const node = "package.json package-lock.json src/a.js"
	added := func(names ...string) []ralph.FileChange {
		var all []ralph.FileChange
		for _, name := range names {
			all = append(all, ralph.FileChange{Name: name, Kind: ralph.FileAdded})
		}
		return all
	}
	changed := func(name string) ralph.FileChange { return ralph.FileChange{Name: name, Kind: ralph.FileChanged} }
	for name, c := range map[string]struct {
		base, now, tree string
		treeChanges     []ralph.FileChange
		want            Sorted
	}{
		"nothing changed": {base: ".env node_modules/a/i.js", now: ".env node_modules/a/i.js", tree: node},
		"added and changed files are absent": {
			base: ".env dist/old", now: ".env! dist/new dist/old src/x.so", tree: "src/a.c",
			want: Sorted{
				Absent:  []string{".env", "dist/new", "src/x.so"},
				LeftOut: []ralph.FileChange{changed(".env"), added("dist/new")[0], added("src/x.so")[0]},
			},
		},
		"a new folder is one name": {
			now: "src/gen/deep/a src/gen/deep/b target/debug/deps/x target/y", tree: "src/a.rs Cargo.lock",
			want: Sorted{
				Absent:  []string{"src/gen", "target"},
				LeftOut: added("src/gen/deep/a", "src/gen/deep/b", "target/debug/deps/x", "target/y"),
			},
		},
		"a folder in which nothing is as before is one name": {
			base: "dist/a dist/b", now: "dist/a! dist/c",
			want: Sorted{Absent: []string{"dist"}, LeftOut: []ralph.FileChange{changed("dist/a"), added("dist/c")[0]}},
		},
		"deleted build output does not matter": {base: "dist/a dist/b", now: "dist/a"},
		"caches are absent and do not count": {
			base: "node_modules/a/i.js .venv/pyvenv.cfg .venv/lib/x.py",
			now: ".pytest_cache/v .ralph/notes/x .ralph/progress.md .venv/lib/__pycache__/x.pyc .venv/lib/x.py " +
				".venv/lib/y.pyc .venv/pyvenv.cfg node_modules/.cache/b node_modules/.package-lock.json node_modules/a/i.js",
			tree: node,
			want: Sorted{Absent: []string{
				".pytest_cache", ".ralph", ".venv/lib/__pycache__", ".venv/lib/y.pyc", "node_modules/.cache",
				"node_modules/.package-lock.json",
			}},
		},
		"a library changed, and its lock file did not": {
			base: "node_modules/a/i.js node_modules/b/i.js", now: "node_modules/a/i.js! node_modules/c/i.js", tree: node,
			treeChanges: []ralph.FileChange{changed("package.json"), changed("requirements.txt")},
			want: Sorted{Environment: []ralph.FileChange{
				changed("node_modules/a/i.js"), {Name: "node_modules/b/i.js", Kind: ralph.FileDeleted},
				added("node_modules/c/i.js")[0],
			}},
		},
		"a library without any lock file": {
			now: "node_modules/a/i.js", tree: "src/a.js", want: Sorted{Environment: added("node_modules/a/i.js")},
		},
		"a library changed with its lock file": {
			base: "node_modules/a/i.js", now: "node_modules/a/i.js node_modules/b/i.js", tree: node,
			treeChanges: []ralph.FileChange{changed("package-lock.json")},
			want:        Sorted{Installed: []string{"node_modules"}},
		},
		"a lock file above": {
			base: "packages/x/node_modules/a", now: "packages/x/node_modules/a!", tree: node,
			treeChanges: []ralph.FileChange{changed("package-lock.json")},
			want:        Sorted{Installed: []string{"packages/x/node_modules"}},
		},
		"the nearest lock file decides": {
			base: "packages/x/node_modules/a", now: "packages/x/node_modules/a!", tree: node + " packages/x/yarn.lock",
			treeChanges: []ralph.FileChange{changed("package-lock.json")},
			want:        Sorted{Environment: []ralph.FileChange{changed("packages/x/node_modules/a")}},
		},
		"first installation": {
			now: "node_modules/a/i.js", tree: node, want: Sorted{Installed: []string{"node_modules"}},
		},
		"the folder became a link": {
			base: "node_modules/a/i.js", now: "node_modules", tree: node,
			want: Sorted{Environment: []ralph.FileChange{
				added("node_modules")[0], {Name: "node_modules/a/i.js", Kind: ralph.FileDeleted},
			}},
		},
		"a virtual environment of any name": {
			base: "my/pyvenv.cfg my/lib/x.py", now: "my/lib/x.py! my/pyvenv.cfg", tree: "requirements-dev.txt",
			want: Sorted{Environment: []ralph.FileChange{changed("my/lib/x.py")}},
		},
		"requirements changed": {
			base: "my/pyvenv.cfg my/lib/x.py", now: "my/lib/x.py! my/pyvenv.cfg", tree: "requirements-dev.txt",
			treeChanges: []ralph.FileChange{changed("requirements-dev.txt")},
			want:        Sorted{Installed: []string{"my"}},
		},
		"vendor is a dependency folder only with a lock file": {
			now: "a/vendor/x b/vendor/y", tree: "a/go.sum a/main.go b/main.c",
			want: Sorted{
				Absent: []string{"b/vendor"}, LeftOut: added("b/vendor/y"), Installed: []string{"a/vendor"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := files(c.now)
			got := Sort(Input{files(c.base), now, strings.Fields(c.tree), c.treeChanges})
			same(t, "sorted", c.want, got)
		})
	}
}

func TestWithoutDropsWholeFolders(t *testing.T) {
	now := files("dist/x node_modules/a/i.js node_modules/b/i.js vendor/mine vendor/other/x")
	s := Sorted{Absent: []string{"dist"}}
	same(t, "absent", []string{"dist", "node_modules", "vendor/other"},
		s.Without([]string{"node_modules", "vendor/other"}, now, []string{"src/a.js"}))
	same(t, "absent beside files of the tree", []string{"dist", "vendor/mine", "vendor/other/x"},
		s.Without([]string{"vendor"}, now, []string{"vendor/kept", "vendor/other/kept"}))
}

// A folder of git's that is new and empty must not hide the repository.
func TestEmptyFoldersAreAbsent(t *testing.T) {
	empty := func(names ...string) (list List) {
		for _, name := range names {
			list = append(list, File{Name: name, Mode: os.ModeDir})
		}
		return list
	}
	got := Sort(Input{
		Base: empty("old"), Now: empty(".git/foo", ".ralph", "a/new", "node_modules/x", "old"),
		Tree: []string{"a/b", "package-lock.json"},
	})
	same(t, "absent", []string{".git/foo", "a/new"}, got.Absent)
	same(t, "changed dependencies", 0, len(got.Environment))
}
