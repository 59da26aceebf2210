package snapshot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestChangesThatACommitLacks(t *testing.T) {
	hidden := []string{"a (git's index hides the change"}
	missed := []string{"git's new settings core.checkstat=minimal (by them git misses changes"}
	converted := []string{"a (by new rules in .gitattributes or in git's settings"}
	replaced := []string{"git's repository (another one is in its place"}
	for name, c := range map[string]struct {
		script, changed string
		want            []string
	}{
		"nothing":                {"echo new >a", "a", nil},
		"staged":                 {"echo new >a; git add a", "a", nil},
		"skipped":                {"echo new >a; git update-index --skip-worktree a", "a", hidden},
		"unchanged":              {"echo new >a; git update-index --assume-unchanged a", "a", hidden},
		"skipped after a commit": {"echo new >a; git commit -qam new; git update-index --skip-worktree a", "a", nil},
		"another text": {
			"echo new >a; touch -t 202001010000 a; git config filter.x.clean 'echo a'; " +
				"echo 'a filter=x' >.git/info/attributes; git add a; " +
				"rm .git/info/attributes; git config --remove-section filter.x", "a", hidden,
		},
		"compared less":   {"echo new >a; git config core.checkStat minimal", "a", missed},
		"another skipped": {"echo new >a; git update-index --skip-worktree b", "a", nil},
		"filtered": {
			"echo new >a; echo 'a filter=x' >.gitattributes; git config filter.x.clean cat", "a .gitattributes",
			converted,
		},
		"filtered by git's own file": {
			"echo new >a; echo 'a filter=x' >.git/info/attributes", "a", converted,
		},
		"keyword":      {"echo '$Id$' >a; echo '* ident' >.gitattributes", "a .gitattributes", converted},
		"no keyword":   {"echo new >a; echo '* ident text=auto' >.gitattributes", "a .gitattributes", nil},
		"line ends":    {`printf 'new\r\n' >a; echo 'a text' >.gitattributes`, "a .gitattributes", converted},
		"kept ends":    {`printf 'new\r\n' >a; echo 'a eol=crlf' >.gitattributes`, "a .gitattributes", nil},
		"other ends":   {"echo new >a; echo 'a eol=crlf' >.gitattributes", "a .gitattributes", converted},
		"rules of old": {"printf 'new\\r\\n' >old.txt", "old.txt", nil},
		"unrelated rule": {
			"printf 'new\\r\\n' >old.txt; echo '*.x eol=lf' >>.gitattributes", "old.txt .gitattributes", nil,
		},
		"unrelated setting": {"printf 'new\\r\\n' >old.txt; git config user.email me@example.com", "old.txt", nil},
		"setting":           {"printf 'new\\r\\n' >a; git config core.autocrlf input", "a", converted},
		"binary":            {"printf 'x\\r\\n\\000' >a; echo '* text=auto' >.gitattributes", "a .gitattributes", nil},
		"own":               {"git init -q in; echo new >in/a", "in/a", []string{"in (a repository of its own"}},
		"another repository": {
			"git init -q ../$$; rm -rf .git; echo gitdir: $PWD/../$$/.git >.git; echo new >a", "a", replaced,
		},
		"link to another repository": {
			"git init -q ../$$; rm -rf .git; ln -s $PWD/../$$/.git .git; echo new >a", "a", replaced,
		},
		"new repository": {"rm -rf .git; git init -q; echo new >a", "a", replaced},
		"copy of the repository": {
			"git clone -q . ../$$; rm -rf .git; mv ../$$/.git .git; echo new >a", "a", nil,
		},
		"no repository": {"rm -rf .git; echo new >a", "a", []string{"git's repository (it cannot be asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Sh("echo a >a; echo b >b; echo '*.txt text' >.gitattributes; echo old >old.txt")
			w.Commit()
			k, _ := newKeeper(w)
			w.Sh(c.script)
			var changes []ralph.FileChange
			for _, file := range strings.Fields(c.changed) {
				changes = append(changes, ralph.FileChange{Name: file, Kind: ralph.FileChanged})
			}
			_, err := k.Fingerprint(w.Context(), ralph.TreeInput{Claimed: true})
			w.Must(err)
			got, err := k.Uncommitted(w.Context(), changes)
			w.Must(err)
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], ",")
				got[i], _, _ = strings.Cut(got[i], " what a commit")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestObjectsThatNoCommitLeadsTo(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Sh("echo a >a; echo old | git hash-object -w --stdin")
	w.Commit()
	k, _ := newKeeper(w)
	lost := func() []string {
		t.Helper()
		names, err := k.Unreachable(w.Context())
		w.Must(err)
		return names
	}
	if got := lost(); got != nil {
		t.Errorf("at first: %v", got)
	}
	w.Sh("echo b >b; git add b; git commit -qm more; echo c >c; git add c")
	if got := lost(); got != nil {
		t.Errorf("committed or staged: %v", got)
	}
	w.Sh("echo loose >d; git hash-object -w d")
	id := strings.TrimSpace(w.Git("hash-object", "d"))
	if diff := cmp.Diff([]string{".git/objects/" + id[:2] + "/" + id[2:]}, lost()); diff != "" {
		t.Error(diff)
	}
	w.Sh("git update-ref -d HEAD; rm -rf .git/refs .git/HEAD") // an agent may destroy it
	if got := lost(); len(got) < 2 {
		t.Errorf("in a broken repository only %v are hidden", got)
	}
}
