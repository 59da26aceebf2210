package snapshot_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// export is what a snapshot holds.
func exported(w gittest.Workspace, k *snapshot.Keeper, id string) map[string]string {
	w.Helper()
	to := gittest.Workspace{TB: w.TB, Dir: filepath.Join(gittest.NewFolder(w.TB).Dir, "copy")}
	if err := k.Store.Extract(w.Context(), id, to.Dir, nil); err != nil {
		w.Fatal(err)
	}
	return treeOf(to)
}

func holds(w gittest.Workspace, k *snapshot.Keeper, id string, want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(want, exported(w, k, id)); diff != "" {
		w.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestASnapshotHoldsTheTreeByteForByte(t *testing.T) {
	w := rich(t)
	k, _ := newKeeper(w)
	w.Write(".ralph/progress.md", "a view\n")
	w.Write(".ralph/config.yaml", "no view\n")
	id := snapshotOf(w, k)
	holds(w, k, id, without(treeOf(w), append(ignored, filepath.Join(".ralph", "progress.md"))...))
	if _, err := k.Files(t.Context(), id); err != nil {
		t.Error("it is not known by its name")
	}
	for _, other := range []string{"", "HEAD", strings.Repeat("0", 40), w.Git("rev-parse", "HEAD")} {
		if _, err := k.Files(t.Context(), other); err == nil {
			t.Errorf("%q is one", other)
		}
	}
}

// TestRepositoriesOfAllKinds: whatever the repository is, the snapshot holds its files.
func TestRepositoriesOfAllKinds(t *testing.T) {
	origin := rich(t)
	origin.Git("config", "uploadpack.allowFilter", "true")
	clone := func(args ...string) func(w, origin gittest.Workspace) {
		return func(w, origin gittest.Workspace) {
			w.Git(append(append([]string{"clone", "-q"}, args...), "file://"+origin.Dir, ".")...)
		}
	}
	for name, make := range map[string]func(w, origin gittest.Workspace){
		"no commits": func(w, _ gittest.Workspace) { w.Git("init", "-q") },
		"sha256": func(w, _ gittest.Workspace) {
			w.Git("init", "-q", "--object-format=sha256")
			w.Write("a", "a\n")
			w.Commit()
		},
		"shallow":   clone("--depth=1"),
		"borrowing": clone("--shared"),
		"partial":   clone("--filter=blob:none"),
		"sparse": func(w, origin gittest.Workspace) {
			clone("--sparse")(w, origin)
			w.Git("sparse-checkout", "set", "--sparse-index", "src/deep")
		},
		"split index": func(w, origin gittest.Workspace) { clone()(w, origin); w.Git("update-index", "--split-index") },
		"no index":    func(w, origin gittest.Workspace) { clone()(w, origin); w.Must(os.Remove(w.Path(".git/index"))) },
		"bad index":   func(w, origin gittest.Workspace) { clone()(w, origin); w.Write(".git/index", "rubbish") },
		"intent to add": func(w, origin gittest.Workspace) {
			clone()(w, origin)
			w.Write("meant.log", "x\n")
			w.Git("add", "-fN", "meant.log")
		},
		"assumed unchanged": func(w, origin gittest.Workspace) {
			clone()(w, origin)
			w.Git("update-index", "--assume-unchanged", "empty")
			w.Git("update-index", "--skip-worktree", "crlf.txt")
			w.Write("empty", "not any more\n")
			w.Write("crlf.txt", "other\r\n")
		},
		"conflict": func(w, origin gittest.Workspace) {
			clone()(w, origin)
			w.Git("checkout", "-q", "-b", "mine", "HEAD~2")
			w.Write("lf.txt", "mine\n")
			w.Commit()
			w.Sh("git merge -q main || true")
		},
		"packed": func(w, origin gittest.Workspace) { clone()(w, origin); w.Git("gc", "-q"); w.Git("pack-refs", "--all") },
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewFolder(t)
			make(w, origin)
			w.Write("new", "new\n")
			var k *snapshot.Keeper
			var dir string
			if name == "bad index" { // there is no fingerprint either
				good, err := os.ReadFile(origin.Path(".git/index"))
				w.Must(err)
				k, dir = newKeeper(w)
				w.Must(os.WriteFile(w.Path(".git/index"), good, 0o600))
			} else {
				k, dir = newKeeper(w)
			}
			id, before := snapshotOf(w, k), treeOf(w)
			if name == "no index" { // and so nothing is tracked
				before = without(before, "forced.log")
			}
			holds(w, k, id, before)
			w.Sh("find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +")
			restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id, Git: true})
			same(w, "restored", before)
			w.Git("status")
			w.Git("rev-list", "--all")
		})
	}
}

func TestRepositoriesInsideOfTheWorkspace(t *testing.T) {
	w := gittest.NewRepo(t)
	other := gittest.NewRepo(t)
	other.Write("sub.txt", "of the submodule\n")
	other.Commit()
	w.Git("submodule", "--quiet", "add", "file://"+other.Dir, "sub")
	w.Commit()
	nested := w.At("nested")
	nested.Git("init", "-q")
	nested.Write("file", "of the nested one\n")
	nested.Write(".gitignore", "ignored\n")
	nested.Write("ignored", "x\n")
	deeper := nested.At("deeper")
	deeper.Git("init", "-q")
	deeper.Write("file", "of the deeper one\n")
	w.At("hollow").Git("init", "-q")

	k, dir := newKeeper(w)
	first, before := snapshotOf(w, k), treeOf(w)
	holds(w, k, first, without(before, filepath.Join("nested", "ignored")))
	nested.Write("file", "changed\n")
	nested.Write("new", "new\n")
	w.Write("sub/new", "new\n")
	w.Must(os.Remove(w.Path("sub/sub.txt")))
	second, after := snapshotOf(w, k), treeOf(w)
	holds(w, k, second, without(after, filepath.Join("nested", "ignored")))

	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: first})
	same(w, "the first", before)
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: second})
	same(w, "the second", after)
}

func TestOnlyTheWorkspaceIsKept(t *testing.T) {
	top := rich(t)
	w := gittest.Workspace{TB: t, Dir: top.Path("src")}
	top.Write(".gitignore", "*.log\n/src/never\n")
	w.Write("never", "ignored from above\n")
	k, dir := newKeeper(w)
	id, before := snapshotOf(w, k), treeOf(top)
	holds(w, k, id, without(treeOf(w), "never"))
	w.Sh("rm -rf deep; echo x >new; echo y >../lf.txt; rm ../crlf.txt")
	outside := treeOf(top)
	done := restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id})
	want := without(before, "lf.txt", "crlf.txt")
	want["lf.txt"] = outside["lf.txt"]
	same(top, "restored", want)
	if done.Written != 2 || done.Deleted != 1 || done.Notes != nil {
		t.Errorf("got %+v", done)
	}
	top.Sh("rm -rf src")
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id})
	same(top, "restored from nothing", without(want, filepath.Join("src", "never")))
}

// TestIgnoredIsWhatTheUserIgnores has a pattern in each of the places.
func TestIgnoredIsWhatTheUserIgnores(t *testing.T) {
	for name, place := range map[string]func(w, home gittest.Workspace) (env []string){
		"info/exclude": func(w, _ gittest.Workspace) []string { w.Write(".git/info/exclude", "secret\n"); return nil },
		"configured": func(w, home gittest.Workspace) []string {
			home.Write("ignore", "secret\n")
			w.Git("config", "core.excludesFile", home.Path("ignore"))
			return nil
		},
		"home": func(_, home gittest.Workspace) []string {
			home.Write(".config/git/ignore", "secret\n")
			return []string{"HOME=" + home.Dir}
		},
		"xdg": func(_, home gittest.Workspace) []string {
			home.Write("git/ignore", "secret\n")
			return []string{"XDG_CONFIG_HOME=" + home.Dir}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, home := gittest.NewRepo(t), gittest.NewFolder(t)
			git := git.Program{Env: append(gittest.Environment(), place(w, home)...)}
			w.Write("secret", "x\n")
			repo, _, err := gitrepo.Find(t.Context(), git, w.Dir)
			w.Must(err)
			k, err := snapshot.New(t.Context(), repo, filepath.Join(gittest.NewFolder(t).Dir, "s"))
			w.Must(err)
			holds(w, k, snapshotOf(w, k), map[string]string{"kept": "file one\n"})
		})
	}
}

func TestAFileThatIsTrackedLaterThoughIgnored(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".gitignore", "*.log\n")
	w.Write("a.log", "a\n")
	k, dir := newKeeper(w)
	holds(w, k, snapshotOf(w, k), without(treeOf(w), "a.log"))
	w.Git("add", "-f", "a.log")
	holds(w, k, snapshotOf(w, k), treeOf(w))
	w.Write("a.log", "changed\n")
	holds(w, k, snapshotOf(w, k), treeOf(w))
	w.Write("b.log", "b\n")
	w.Git("add", "-f", "b.log")
	again := keep(w, dir)
	holds(w, again, snapshotOf(w, again), treeOf(w))
}

// TestNamesOfSnapshots: the same tree has the same name, also in another process, and
// every snapshot stays in use.
func TestNamesOfSnapshots(t *testing.T) {
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	taken := map[string]bool{}
	take := func(k *snapshot.Keeper, run string, iteration int) string {
		t.Helper()
		state := w.Fingerprint(k, ralph.TreeInput{Run: run, Iteration: iteration, BaseHead: "HEAD"})
		if state.Snapshot == "" || state.Omitted != nil {
			t.Fatalf("got %+v", state)
		}
		taken[state.Snapshot] = true
		return state.Snapshot
	}
	first := take(k, "one", 0)
	if again := take(k, "one", 1); again != first {
		t.Errorf("the same tree is %s and %s", first, again)
	}
	if again := take(keep(w, dir), "one", 1); again != first {
		t.Errorf("the same tree is %s and, later, %s", first, again)
	}
	for _, text := range []string{"a", "b", "c"} {
		w.Write("kept", text)
		take(k, "one", 2)
	}
	restore(w, k, snapshot.RestoreInput{Snapshot: first})
	take(k, "two", 2)
	w.Write("kept", "d")
	take(k, "one", 2)
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: first})
	w.Write("kept", "e")
	take(keep(w, dir), "../odd name", 2)
	used := (gittest.Workspace{TB: t, Dir: dir}).Git("rev-list", "--objects", "--no-object-names", "--all")
	for id := range taken {
		if !strings.Contains(used, id) {
			t.Errorf("%s has no name", id)
		}
	}
	objects, err := filepath.Glob(filepath.Join(dir, "objects", "??", "*"))
	w.Must(err)
	for _, path := range objects {
		if id := filepath.Base(filepath.Dir(path)) + filepath.Base(path); !strings.Contains(used, id) {
			t.Errorf("%s is out of use: %s", id, (gittest.Workspace{TB: t, Dir: dir}).Git("cat-file", "-p", id))
		}
	}
}

// TestBranchesThatNoFileTellsOf: the workspace is as it was, and the work is elsewhere.
func TestBranchesThatNoFileTellsOf(t *testing.T) {
	for name, script := range map[string]string{
		"work on a branch": "git switch -q -c side; echo x >work; git add work; git commit -q -m work; git switch -q main",
		"another branch":   "git switch -q -c side",
	} {
		w := gittest.NewRepo(t)
		k, dir := newKeeper(w)
		first := snapshotOf(w, k)
		w.Sh(script)
		id, refs := snapshotOf(w, k), refsOf(w)
		if id == first {
			t.Errorf("%s: nothing was kept", name)
		}
		w.Sh("git switch -q main; git branch -q -D side; git reflog expire --expire=now --all; git gc -q --prune=now")
		restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id, Git: true})
		if diff := cmp.Diff(refs, refsOf(w)); diff != "" {
			t.Errorf("%s: refs (-want +got):\n%s", name, diff)
		}
		w.Git("fsck", "--connectivity-only")
	}
}

func TestAStateThatWasDamaged(t *testing.T) {
	origin := rich(t)
	for name, damage := range map[string]string{
		"a lock":        "touch index.lock",
		"index":         "echo rubbish >index",
		"empty index":   ": >index",
		"no index":      "rm index",
		"empty HEAD":    ": >HEAD",
		"no HEAD":       "rm HEAD",
		"lost snapshot": "echo 0123456789012345678901234567890123456789 >HEAD",
		"history":       "rm -rf history linked",
		"configuration": "echo '[core' >config",
		"attributes":    "rm info/attributes",
	} {
		t.Run(name, func(t *testing.T) {
			w := copied(origin, t)
			k, dir := newKeeper(w)
			snapshotOf(w, k)
			gittest.Workspace{TB: t, Dir: dir}.Sh(damage)
			w.Write("new", "new\n")
			k = keep(w, dir)
			holds(w, k, snapshotOf(w, k), without(treeOf(w), ignored...))
		})
	}
}

// TestObjectsThatWereLost: files are read again if the repository's objects cannot be had.
func TestObjectsThatWereLost(t *testing.T) {
	w := rich(t)
	k, dir := newKeeper(w)
	gittest.Workspace{TB: t, Dir: dir}.Sh("rm -rf history; echo in the way >history") // nothing can be linked
	state := w.Fingerprint(k, ralph.TreeInput{BaseHead: "HEAD"})
	if len(state.Omitted) != 1 ||
		!strings.HasPrefix(state.Omitted[0], "the repository's history is not in the snapshot: ") {
		t.Errorf("left %q", state.Omitted)
	}
	holds(w, k, state.Snapshot, without(treeOf(w), ignored...))
}

func TestNamesThatGitDoesNotTake(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is the same as .git here")
	}
	w := gittest.NewRepo(t)
	w.Write("folder/.GIT/file", "x\n")
	w.Write(".GITHUB/file", "x\n")
	k, _ := newKeeper(w)
	state := w.Fingerprint(k, gittest.Since)
	if diff := cmp.Diff([]string{"folder/.GIT/file is not up to date in the snapshot: git does not accept a file of " +
		"that name"},
		state.Omitted); diff != "" {
		t.Error(diff)
	}
	holds(w, k, state.Snapshot, without(treeOf(w), filepath.Join("folder", ".GIT", "file")))
	done := restore(w, k, snapshot.RestoreInput{Snapshot: state.Snapshot})
	if done.Written+done.Deleted != 0 {
		t.Errorf("got %+v", done)
	}
}

func TestASnapshotThatFailsDoesNotFailTheFingerprint(t *testing.T) {
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	want := w.Fingerprint(w.Find(), gittest.Since)
	gittest.Workspace{TB: t, Dir: dir}.Sh("rm -rf objects; echo in the way >objects")
	got := w.Fingerprint(k, gittest.Since)
	if got.Snapshot != "" || len(got.Omitted) != 1 || !strings.HasPrefix(got.Omitted[0], "no snapshot was kept: ") {
		t.Errorf("got %+v", got)
	}
	got.Omitted = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSnapshotsInsideOfTheWorkspaceAreRefused(t *testing.T) {
	w := gittest.NewRepo(t)
	if _, err := snapshot.New(t.Context(), w.Find(), w.Path("state/snapshots.git")); err == nil ||
		!strings.Contains(err.Error(), "it is in the workspace") {
		t.Errorf("got %v", err)
	}
}

// TestAWorkspaceThatBecameAFolderOfAnother has the same folder of snapshots.
func TestAWorkspaceThatBecameAFolderOfAnother(t *testing.T) {
	top := gittest.NewFolder(t)
	w := top.At("inner")
	w.Git("init", "-q")
	w.Write("file", "one\n")
	k, dir := newKeeper(w)
	first := snapshotOf(w, k)
	w.Must(os.RemoveAll(w.Path(".git")))
	top.Git("init", "-q")
	w.Write("file", "two\n")
	k = keep(w, dir)
	second, before := snapshotOf(w, k), treeOf(top)
	holds(w, k, first, map[string]string{"file": "file one\n"})
	holds(w, k, second, map[string]string{"file": "file two\n"})
	_, err := reopen(w, dir).Restore(t.Context(), snapshot.RestoreInput{Snapshot: first})
	gittest.Refused(t, err, gitrepo.ProblemNotRestorable)
	same(top, "refused", before)
	w.Write("file", "three\n")
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: second})
	same(top, "restored", before)
	if patch, _, err := k.Diff(t.Context(), "", second, 1<<10); !strings.HasPrefix(patch, "A\tfile\n") {
		t.Errorf("got %q, %v", patch, err)
	}
}

func TestAnotherKindOfRepository(t *testing.T) {
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	snapshotOf(w, k)
	w.Sh("rm -rf .git; git init -q --object-format=sha256")
	if _, err := snapshot.New(t.Context(), w.Find(), dir); err == nil ||
		!strings.Contains(err.Error(), "of a sha1 repository, but this is a sha256 repository") {
		t.Errorf("got %v", err)
	}
}

func TestChangedIsTheRepositorys(t *testing.T) {
	w := gittest.NewRepo(t)
	base := w.Git("rev-parse", "HEAD")
	w.Write("kept", "two\n")
	k, _ := newKeeper(w)
	if got, err := k.Changed(t.Context(), base); err != nil || got != "1 file changed, 1 insertion(+), 1 deletion(-)" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestProgramsThatAnAgentPlantsAreTold(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/pre-push", "true")
	k, _ := newKeeper(w)
	if left := w.Fingerprint(k, ralph.TreeInput{}).Omitted; left != nil {
		t.Errorf("before the agent: %q", left)
	}
	w.Git("config", "user.email", "a@example.com")
	w.Git("config", "branch.main.remote", "origin")
	w.Write("a", "1")
	if left := w.Fingerprint(k, ralph.TreeInput{}).Omitted; left != nil {
		t.Errorf("settings that run nothing: %q", left)
	}
	w.Script(".git/hooks/post-merge", "touch planted")
	w.Git("config", "filter.x.clean", "touch planted; cat")
	w.Git("config", "core.sshCommand", "touch planted")
	w.Write("a", "2")
	want := []string{
		"hooks were added to the repository during this run: post-merge; review them before your next git command runs them",
		`the repository's configuration changed during this run and may make git run programs: ` +
			`sshCommand = touch planted; [filter "x"]; clean = "touch planted; cat"`,
	}
	if diff := cmp.Diff(want, w.Fingerprint(k, ralph.TreeInput{}).Omitted); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}
