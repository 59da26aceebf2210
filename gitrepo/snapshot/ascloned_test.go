package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// cloned is what AsCloned answers, with the files that differ from the workspace.
type cloned struct {
	Files map[string]string // content by name; "-" if a clone has none
	Left  []string          // first name and reason
}

// asCloned asks what a clone would have, and compares that with a real clone of a real commit.
func asCloned(w gittest.Workspace, k *snapshot.Keeper, base string) cloned {
	w.Helper()
	now := w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD", Claimed: true}).Snapshot
	before := gitFiles(w)
	id, left, err := k.AsCloned(w.Context(), ralph.TreeState{Snapshot: base}, now)
	w.Must(err)
	if diff := cmp.Diff(before, gitFiles(w)); diff != "" {
		w.Errorf("the user's repository was written to:\n%s", diff)
	}
	if id == now && left != nil {
		w.Errorf("nothing differs, but it says %q", left)
	}
	got := cloned{Files: map[string]string{}}
	for _, said := range left {
		said, _ = strings.CutPrefix(said, "git would not commit ")
		name, why, _ := strings.Cut(said, " as in the workspace: ")
		got.Left = append(got.Left, name+": "+strings.Join(strings.Fields(why)[:3], " "))
	}
	changes, err := k.Changes(w.Context(), now, id)
	w.Must(err)
	for _, c := range changes {
		got.Files[c.Name] = "-"
		if c.Kind != ralph.FileDeleted {
			text, err := k.Read(w.Context(), id, c.Name, 1<<20)
			w.Must(err)
			got.Files[c.Name] = string(text)
		}
	}
	return got
}

// gitFiles returns the contents of all files of the git folder.
func gitFiles(w gittest.Workspace) map[string]string {
	w.Helper()
	files := map[string]string{}
	_ = filepath.WalkDir(w.Path(".git"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			w.Must(err)
			files[path] = string(text)
		}
		return nil
	})
	return files
}

// What a clone of the next commit has, whatever an agent does to git's index, attributes and settings.
func TestAsCloned(t *testing.T) {
	hidden, converted, absent := ": git's index or", ": git converts the", ": git ignores or"
	for name, c := range map[string]struct {
		script string
		want   cloned
	}{
		"nothing":           {"true", cloned{}},
		"ordinary":          {"echo new >a; echo x >x; git rm -q b; mkdir d; ln -s ../a d/l; chmod +x a", cloned{}},
		"staged":            {"echo new >a; git add a", cloned{}},
		"committed":         {"echo new >a; git commit -qam new", cloned{}},
		"split index":       {"git update-index --split-index; echo new >a", cloned{}},
		"another version":   {"git update-index --index-version 4; echo new >a", cloned{}},
		"skipped":           {"echo new >a; git update-index --skip-worktree a", cloned{files("a", "a\n"), []string{"a" + hidden}}},
		"unchanged":         {"echo new >a; git update-index --assume-unchanged a", cloned{files("a", "a\n"), []string{"a" + hidden}}},
		"skipped, deleted":  {"git update-index --skip-worktree a; rm a", cloned{files("a", "a\n"), []string{"a" + hidden}}},
		"skipped, the same": {"git update-index --skip-worktree a", cloned{}},
		"another text": {
			"echo new >a; touch -t 202001010000 a; git config filter.x.clean 'echo a'; " +
				"echo 'a filter=x' >.git/info/attributes; git add a; " +
				"rm .git/info/attributes; git config --remove-section filter.x",
			cloned{files("a", "a\n"), []string{"a" + hidden}},
		},
		"filter without consent": {
			"echo new >a; echo 'a filter=x' >.gitattributes; git config filter.x.clean 'echo evil'", cloned{},
		},
		"keyword": {
			"echo '$Id: agent $' >a; echo '* ident' >.gitattributes",
			cloned{files("a", "$Id: 055c8729cdcc372500a08db659c045e16c4409fb $\n"), []string{"a" + converted}},
		},
		"fresh keyword": {
			"echo '$Id$' >a; echo '* ident' >.gitattributes",
			cloned{files("a", "$Id: 055c8729cdcc372500a08db659c045e16c4409fb $\n"), []string{"a" + converted}},
		},
		"line ends": {
			`printf 'new\r\n' >a; echo 'a text' >.gitattributes`, cloned{files("a", "new\n"), []string{"a" + converted}},
		},
		"kept ends":  {`printf 'new\r\n' >a; echo 'a eol=crlf' >.gitattributes`, cloned{}},
		"other ends": {"echo new >a; echo 'a eol=crlf' >.gitattributes", cloned{files("a", "new\r\n"), []string{"a" + converted}}},
		"unchanged ends": {
			"echo new >b; echo '* text=auto eol=crlf' >.gitattributes; git add .gitattributes",
			cloned{files(".gitattributes", "* text=auto eol=crlf\r\n", "b", "new\r\n"), []string{".gitattributes, b" + converted}},
		},
		"encoding": {
			`printf 'n\0' >a; echo 'a working-tree-encoding=UTF-16LE' >.gitattributes`, cloned{},
		},
		"setting":    {`printf 'new\r\n' >a; git config core.autocrlf true`, cloned{}},
		"mode":       {"git config core.fileMode false; echo new >a; chmod +x a", cloned{files("a", "new\n"), []string{"a: git does not"}}},
		"own":        {"git init -q in; echo new >in/a", cloned{files("in/a", "-"), []string{"in/a: the file is"}}},
		"own commit": {"git init -q in; echo new >in/a; git -C in add a; git -C in commit -qm x", cloned{files("in/a", "-"), []string{"in/a: the file is"}}},
		"a folder made a repository": {
			"git init -q old; git -C old add file; git -C old commit -qm x; git rm -rq --cached old",
			cloned{files("old/file", "-"), []string{"old/file: the file is"}},
		},
		"no longer tracked": {
			"git rm -q --cached b; echo b >>.git/info/exclude", cloned{files("b", "-"), []string{"b" + absent}},
		},
		"ignored, picked":                {"echo pick >>.git/info/exclude; echo new >pick", cloned{files("pick", "-"), []string{"pick" + absent}}},
		"ignored, of old":                {"echo new >mine", cloned{files("mine", "mine\n"), []string{"mine" + absent}}},
		"named by Ralph":                 {"echo named >>.git/info/exclude; echo new >named", cloned{}},
		"a new repository":               {"rm -rf .git; git init -q; echo mine >.git/info/exclude; echo new >a", cloned{}},
		"compared less, by another time": {"git config core.checkStat minimal; git config core.trustctime false; echo new >a", cloned{}},
		"compared less": {
			"touch -t 202001010000 a; git update-index -q --refresh; git config core.trustctime false; " +
				"git config core.checkStat minimal; echo n >a; touch -t 202001010000 a",
			cloned{files("a", "a\n"), []string{"a" + hidden}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Sh("mkdir old; echo a >a; echo b >b; echo old >old/file; echo mine >mine; echo mine >.git/info/exclude")
			w.Commit()
			k, _ := newKeeper(w)
			k.Always([]string{"named"})
			k.AlwaysLike(func(name string) bool { return name == "pick" || name == "mine" || name == "b" })
			base := snapshotOf(w, k)
			w.Sh(c.script)
			if c.want.Files == nil {
				c.want.Files = map[string]string{}
			}
			if diff := cmp.Diff(c.want, asCloned(w, k, base)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// files returns names with contents.
func files(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// Repositories of honest users, in which the committed bytes are not those of the workspace, see no difference.
func TestAsClonedOfHonestRepositories(t *testing.T) {
	for name, prepare := range map[string]string{
		"line ends":      "git config core.autocrlf true; printf 'one\\r\\n' >crlf",
		"a filter":       "git config filter.x.clean 'tr a-z A-Z'; git config filter.x.smudge 'tr A-Z a-z'; echo '*.x filter=x' >.gitattributes; echo text >t.x",
		"a submodule":    "git init -q ../sub.$$; git -C ../sub.$$ commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule -q add ../sub.$$ sub; echo s >sub/s",
		"a sparse tree":  "mkdir in out; echo i >in/i; echo o >out/o; git add .; git commit -qm x; git sparse-checkout set in",
		"no commit":      "git update-ref -d HEAD",
		"a nested one":   "git init -q nested; echo n >nested/n",
		"ignored files":  "echo env >.gitignore; echo secret >env",
		"a shallow tree": "git commit -q --allow-empty -m x; git rev-parse HEAD >.git/shallow",
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Sh("echo a >a")
			w.Commit()
			w.Sh(prepare + "\n[ '" + name + "' = 'a nested one' ] || [ '" + name + "' = 'no commit' ] || { git add -A; git commit -qm y --allow-empty; }")
			k, _ := newKeeper(w)
			base := snapshotOf(w, k)
			w.Sh("echo new >a; echo b >b")
			if diff := cmp.Diff(cloned{Files: map[string]string{}}, asCloned(w, k, base)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A name that git refuses is in no snapshot, and said to be left out.
func TestNamesThatGitRefuses(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	base := snapshotOf(w, k)
	w.Write("git~1", "x")
	w.Write("fine", "x")
	state := w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD"})
	want := []string{"git~1 is not up to date in the snapshot: git does not accept a file of that name"}
	if diff := cmp.Diff(want, state.Omitted); diff != "" {
		t.Error(diff)
	}
	files, err := k.Files(w.Context(), state.Snapshot)
	w.Must(err)
	if diff := cmp.Diff([]string{"fine", "kept"}, files); diff != "" {
		t.Error(diff)
	}
	id, left, err := k.AsCloned(w.Context(), ralph.TreeState{Snapshot: base}, state.Snapshot)
	if err != nil || id != state.Snapshot || left != nil {
		t.Errorf("got %s, %q, %v", id, left, err)
	}
}

// A repository in which git cannot add anything is an error.
func TestAsClonedOfABrokenRepository(t *testing.T) {
	for name, script := range map[string]string{
		"gone": "rm -rf .git", "index": "echo junk >.git/index", "pipe": "rm .git/index; mkfifo .git/index",
		"link": "mv .git/index .git/i; ln -s i .git/index",
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			k, _ := newKeeper(w)
			base := snapshotOf(w, k)
			w.Write("kept", "new")
			now := snapshotOf(w, k)
			w.Sh(script)
			if id, left, err := k.AsCloned(w.Context(), ralph.TreeState{Snapshot: base}, now); err == nil {
				t.Errorf("got %s, %q", id, left)
			}
		})
	}
}
