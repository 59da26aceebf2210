package gitrepo_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestChanged(t *testing.T) {
	cases := map[string]struct {
		act  func(w gittest.Workspace)
		want string
	}{
		"nothing": {func(gittest.Workspace) {}, "no files changed"},
		"one line": {
			func(w gittest.Workspace) { w.Write("kept", "two\n") },
			"1 file changed, 1 insertion(+), 1 deletion(-)",
		},
		"removed": {
			func(w gittest.Workspace) { w.Must(os.Remove(w.Path("kept"))) },
			"1 file changed, 1 deletion(-)",
		},
		"untracked": {
			func(w gittest.Workspace) { w.Write("new", "1\n2\n3") },
			"1 file changed, 3 insertions(+), 1 new file",
		},
		"the same, staged": {
			func(w gittest.Workspace) { w.Write("new", "1\n2\n3"); w.Git("add", "-A") },
			"1 file changed, 3 insertions(+), 1 new file",
		},
		"and committed": {
			func(w gittest.Workspace) { w.Write("new", "1\n2\n3"); w.Commit() },
			"1 file changed, 3 insertions(+), 1 new file",
		},
		"binary": {
			func(w gittest.Workspace) { w.Write("new", "\x00\n\n"); w.Commit() },
			"1 file changed, 1 new file",
		},
		"view": {
			func(w gittest.Workspace) { w.Write(".ralph/progress.md", "x"); w.Git("add", "-A") },
			"no files changed",
		},
		"odd names": {func(w gittest.Workspace) {
			w.Write(":a\n\tb", "1\n")
			w.Commit()
			w.Write(": A", "2\n")
			w.Write("empty", "")
		}, "3 files changed, 2 insertions(+), 3 new files"},
		"renamed": {
			func(w gittest.Workspace) { w.Git("mv", "kept", "moved") },
			"2 files changed, 1 insertion(+), 1 deletion(-), 1 new file",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			base := w.Git("rev-parse", "HEAD")
			repo := w.Find()
			c.act(w)
			if got, err := repo.Changed(t.Context(), base); got != c.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestChangedSinceBeforeTheFirstCommit(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Git("init", "-q")
	repo := w.Find()
	w.Write("a", "1\n")
	w.Commit()
	w.Write("b", "2\n")
	if got, err := repo.Changed(t.Context(), ""); got != "2 files changed, 2 insertions(+), 2 new files" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestChangedSinceACommitThatIsGone(t *testing.T) {
	repo := gittest.NewRepo(t).Find()
	if got, err := repo.Changed(t.Context(), strings.Repeat("1", 40)); err == nil {
		t.Errorf("got %q", got)
	}
}
