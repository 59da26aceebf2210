package snapshot_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func iteration(n int) ralph.TreeInput {
	return ralph.TreeInput{Run: "run", Iteration: n, BaseHead: "HEAD"}
}

func claimed(n int) ralph.TreeInput {
	in := iteration(n)
	in.Claimed = true
	return in
}

// An agent that has git pass a test over, and weakens it, had the copy of the base taken for that
// of its tree.
func TestAClaimIsNotHiddenByTheUsersIndex(t *testing.T) {
	for name, hide := range map[string]string{
		"skip-worktree":    "git update-index --skip-worktree a_test; echo weak >a_test",
		"assume-unchanged": "echo weak >a_test; git update-index --assume-unchanged a_test",
		"deleted":          "git update-index --skip-worktree a_test; rm a_test",
		"settings": "git update-index --skip-worktree a_test; echo weak >a_test; git config core.trustctime " +
			"false; git config core.checkStat minimal",
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Write("a_test", "strict\n")
			w.Commit()
			keeper, _ := newKeeper(w)
			k := kept{w, keeper}
			base := w.Fingerprint(keeper, ralph.TreeInput{Run: "run"})
			w.Sh(hide)
			now := w.Fingerprint(keeper, claimed(1))
			want := "changed a_test"
			if name == "deleted" {
				want = "deleted a_test"
			}
			k.wantEqual("changes", []string{want}, k.changes(base.Snapshot, now.Snapshot))
			if now.ID() == base.ID() {
				t.Error("the tree has the name of the base")
			}
			k.wantEqual("again, unclaimed", now.ID(), w.Fingerprint(keeper, iteration(1)).ID())
			k.wantEqual("the next iteration", now.ID(), w.Fingerprint(keeper, iteration(2)).ID())
			w.Write("a_test", "strict\n")
			k.wantEqual("put back", base.ID(), w.Fingerprint(keeper, iteration(3)).ID())
		})
	}
}

// The copy after an iteration without a claim is what a later process compares with: what it lacks
// would be taken for the user's work.
func TestFlagsInTheUsersIndexAreSeenWithoutAClaim(t *testing.T) {
	w := gittest.NewRepo(t)
	keeper, _ := newKeeper(w)
	k := kept{w, keeper}
	base := w.Fingerprint(keeper, iteration(0))
	w.Sh("git update-index --skip-worktree kept; echo two >kept")
	now := w.Fingerprint(keeper, iteration(1))
	k.wantEqual("changes", []string{"changed kept"}, k.changes(base.Snapshot, now.Snapshot))
}

// A file that is changed while a claim is judged makes another tree, also behind a flag.
func TestWhatIsSwappedWhileAClaimIsJudged(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("update-index", "--skip-worktree", "kept") // the user's own
	keeper, _ := newKeeper(w)
	w.Fingerprint(keeper, iteration(0))
	now := w.Fingerprint(keeper, claimed(1))
	w.Write("kept", "two\n")
	if after := w.Fingerprint(keeper, iteration(1)); after.ID() == now.ID() {
		t.Error("it has the same name")
	}
}

// Git compares times by the second. A file that is written in the second in which it was taken and
// gets its old time back looks the same to it.
func TestAClaimSeesThroughATimeThatWasSet(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("when a file was last written to is not known here")
	}
	w := gittest.NewRepo(t)
	keeper, _ := newKeeper(w)
	k := kept{w, keeper}
	old := time.Now().Add(-time.Hour)
	for range 5 { // the second may be over in between; then git sees it by itself
		w.Write("kept", "one\n")
		w.Must(os.Chtimes(w.Path("kept"), old, old))
		base := w.Fingerprint(keeper, claimed(1))
		w.Write("kept", "two\n")
		w.Must(os.Chtimes(w.Path("kept"), old, old))
		now := w.Fingerprint(keeper, claimed(2))
		k.wantEqual("changes", []string{"changed kept"}, k.changes(base.Snapshot, now.Snapshot))
	}
}

// What an honest tree has that git does not tell of must not make it look changed.
func TestAnHonestTreeKeepsItsNameWhenClaimed(t *testing.T) {
	for name, prepare := range map[string]string{
		"nothing special": "",
		"flags": "git update-index --skip-worktree kept; git update-index --assume-unchanged code; echo mine " +
			">kept",
		"sparse":           "mkdir far; echo x >far/x; git add far; git commit -q -m far; git sparse-checkout set near",
		"line ends":        `echo '* text=auto' >.gitattributes; git add .; git commit -q -m x; printf 'one\r\n' >kept`,
		"times not for us": "git config core.trustctime false; git config core.checkStat minimal; touch kept",
		"ignored":          "echo '*.log' >.gitignore; echo x >a.log; echo y >forced.log; git add -f forced.log",
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Write("code", "one\n")
			w.Commit()
			w.Sh(prepare)
			keeper, _ := newKeeper(w)
			keeper.AlwaysLike(func(name string) bool { return strings.HasSuffix(name, ".log") })
			k := kept{w, keeper}
			git := w.Fingerprint(w.Find(), iteration(1)).ID()
			base := w.Fingerprint(keeper, iteration(0))
			k.wantEqual("base", git, base.ID())
			w.Sh("touch kept code; echo other >a.ignored.log; git status >/dev/null; echo '*.ignored.log' >.git/info/exclude")
			for _, in := range []ralph.TreeInput{iteration(1), claimed(1), iteration(1), claimed(2), iteration(3)} {
				w.Sh("date +%s%N >a.ignored.log")
				k.wantEqual("the name", git, w.Fingerprint(keeper, in).ID())
			}
		})
	}
}
