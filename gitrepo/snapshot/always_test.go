package snapshot_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// ignoring is a workspace below the top of its repository, with ignored files.
func ignoring(t *testing.T) gittest.Workspace {
	t.Helper()
	top := gittest.NewRepo(t)
	w := top.At("inner")
	w.Write(".gitignore", ".ralph/\n*.local\n")
	w.Write("code", "one\n")
	w.Write(".ralph/config.yaml", "checks: []\n")
	w.Write(".ralph/other", "ignored\n")
	w.Write("b.local", "ignored\n")
	top.Commit()
	return w
}

func TestAlwaysKeepsWhatIsIgnored(t *testing.T) {
	w := ignoring(t)
	keeper, dir := newKeeper(w)
	keeper.Always(
		[]string{".ralph/config.yaml", "a.local", "../kept", "/etc/passwd", "", "code", ".ralph", ".ralph/progress.md"},
	)
	w.Write(".ralph/progress.md", "a view\n")
	k := kept{w, keeper}
	base := w.Fingerprint(keeper, input)
	k.wantEqual("left", []string(nil), base.Omitted)
	k.whole(
		"base",
		base.Snapshot,
		map[string]string{
			".gitignore":         "file .ralph/\n*.local\n",
			".ralph/config.yaml": "file checks: []\n",
			"code":               "file one\n",
		},
	)
	k.wantEqual("again", base, w.Fingerprint(keeper, input))

	// Each of these is seen by the copies, and by nothing else.
	before := base
	for _, step := range []struct {
		script string
		want   []string
	}{
		{"touch .ralph/config.yaml", nil},
		{"echo 'checks: [true]' >.ralph/config.yaml", []string{"changed .ralph/config.yaml"}},
		{"echo x >a.local; echo y >b.local", []string{"added a.local"}},
		{"chmod +x a.local", []string{"changed a.local"}},
		{"rm a.local; ln -s code a.local", []string{"changed a.local"}},
		{"rm a.local", []string{"deleted a.local"}},
		{"echo x >a.local", []string{"added a.local"}},
		{"rm -r .ralph; mkdir .ralph", []string{"deleted .ralph/config.yaml"}},
	} {
		w.Sh(step.script)
		now := w.Fingerprint(keeper, input)
		k.wantEqual(step.script, step.want, k.changes(before.Snapshot, now.Snapshot))
		k.wantEqual(step.script+": the rest", before.ID(), now.ID())
		k.wantEqual(step.script+": left", []string(nil), now.Omitted)
		k.wantEqual(step.script+": a new copy", step.want != nil, now.Snapshot != before.Snapshot)
		before = now
	}

	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: base.Snapshot})
	k.wantEqual("restored", "file checks: []\n", treeOf(w)[".ralph/config.yaml"])
}

// TestAlwaysSeesThroughATimeThatWasSet has a change of the same size, in the same file, at
// what looks like the same time.
func TestAlwaysSeesThroughATimeThatWasSet(t *testing.T) {
	w := ignoring(t)
	keeper, _ := newKeeper(w)
	keeper.Always([]string{"b.local"})
	old := time.Now().Add(-time.Hour)
	w.Must(os.Chtimes(w.Path("b.local"), old, old))
	k := kept{w, keeper}
	base := k.take()
	w.Write("b.local", "IGNORED\n")
	w.Must(os.Chtimes(w.Path("b.local"), old, old))
	k.wantEqual("changes", []string{"changed b.local"}, k.changes(base, k.take()))
}

// TestAlwaysAfterTheRepositoryIsGone still has what is named.
func TestAlwaysAfterTheRepositoryIsGone(t *testing.T) {
	w := ignoring(t)
	keeper, _ := newKeeper(w)
	keeper.Always([]string{"b.local"})
	base := w.Fingerprint(keeper, input)
	w.Sh("rm -rf ../.git; echo other >b.local")
	now := w.Fingerprint(keeper, input)
	k := kept{w, keeper}
	k.wantEqual("changes", []string{"changed b.local"}, k.changes(base.Snapshot, now.Snapshot))
}

// An agent that has git ignore what it adds hid it from every copy, while checks saw it.
func TestAlwaysLikeKeepsWhatAnAgentHadIgnored(t *testing.T) {
	w := ignoring(t)
	keeper, dir := newKeeper(w)
	like := func(name string) bool { return strings.HasSuffix(name, ".py") }
	keeper.Always([]string{".ralph/config.yaml"})
	keeper.AlwaysLike(like)
	k := kept{w, keeper}
	before := w.Fingerprint(keeper, input)
	for _, step := range []struct {
		script string
		want   []string
	}{
		{"echo 'x*' >>../.git/info/exclude; echo x >xx; echo x >xx.py", []string{"added xx.py"}},
		{"echo y >xx; echo y >xx.py", []string{"changed xx.py"}},
		{"mkdir -p xdir/deep node_modules; echo node_modules >>../.git/info/exclude; echo z >xdir/deep/z.py; echo z " +
			">node_modules/z.py", []string{"added xdir/deep/z.py"}},
		{"mkdir xlarge; cd xlarge; for i in $(seq 300); do echo >$i.py; done", nil},
		{"rm xx.py", []string{"deleted xx.py"}},
		{"echo 2 >.ralph/config.yaml", []string{"changed .ralph/config.yaml"}},
	} {
		w.Sh(step.script)
		now := w.Fingerprint(keeper, input)
		k.wantEqual(step.script, step.want, k.changes(before.Snapshot, now.Snapshot))
		k.wantEqual(step.script+": the rest", before.ID(), now.ID())
		before = now
	}
	k.wantEqual("ignored files", []string{"xdir/deep/z.py"}, keeper.IgnoredFiles())
	again := reopen(w, dir) // as after a crash: what is in a copy is no stranger to git any more
	again.AlwaysLike(like)
	w.Fingerprint(again, input)
	w.Sh("echo changed >xdir/deep/z.py")
	k.wantEqual(
		"later",
		[]string{"changed xdir/deep/z.py"},
		k.changes(before.Snapshot, w.Fingerprint(again, input).Snapshot),
	)
}
