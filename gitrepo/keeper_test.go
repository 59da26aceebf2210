package gitrepo_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
)

// export is what a snapshot holds.
func (w workspace) export(k *gitrepo.Keeper, id string) map[string]string {
	w.Helper()
	to := workspace{w.TB, filepath.Join(newFolder(w.TB).dir, "copy")}
	if _, err := k.Snapshots().Export(w.Context(), id, to.dir); err != nil {
		w.Fatal(err)
	}
	return to.tree()
}

func (w workspace) holds(k *gitrepo.Keeper, id string, want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(want, w.export(k, id)); diff != "" {
		w.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestASnapshotHoldsTheTreeByteForByte(t *testing.T) {
	w := rich(t)
	k, _ := w.keeper()
	w.write(".ralph/progress.md", "a view\n")
	w.write(".ralph/config.yaml", "no view\n")
	id := w.snapshot(k)
	w.holds(k, id, without(w.tree(), append(ignored, filepath.Join(".ralph", "progress.md"))...))
	if !k.Snapshots().Has(t.Context(), id) {
		t.Error("it is not known by its name")
	}
	for _, other := range []string{"", "HEAD", strings.Repeat("0", 40), w.git("rev-parse", "HEAD")} {
		if k.Snapshots().Has(t.Context(), other) {
			t.Errorf("%q is one", other)
		}
	}
}

// TestRepositoriesOfAllKinds: whatever the repository is, the snapshot holds its files.
func TestRepositoriesOfAllKinds(t *testing.T) {
	origin := rich(t)
	origin.git("config", "uploadpack.allowFilter", "true")
	clone := func(args ...string) func(w, origin workspace) {
		return func(w, origin workspace) {
			w.git(append(append([]string{"clone", "-q"}, args...), "file://"+origin.dir, ".")...)
		}
	}
	for name, make := range map[string]func(w, origin workspace){
		"no commits": func(w, _ workspace) { w.git("init", "-q") },
		"sha256":     func(w, _ workspace) { w.git("init", "-q", "--object-format=sha256"); w.write("a", "a\n"); w.commit() },
		"shallow":    clone("--depth=1"),
		"borrowing":  clone("--shared"),
		"partial":    clone("--filter=blob:none"),
		"sparse": func(w, origin workspace) {
			clone("--sparse")(w, origin)
			w.git("sparse-checkout", "set", "--sparse-index", "src/deep")
		},
		"split index": func(w, origin workspace) { clone()(w, origin); w.git("update-index", "--split-index") },
		"no index":    func(w, origin workspace) { clone()(w, origin); w.must(os.Remove(w.path(".git/index"))) },
		"bad index":   func(w, origin workspace) { clone()(w, origin); w.write(".git/index", "rubbish") },
		"intent to add": func(w, origin workspace) {
			clone()(w, origin)
			w.write("meant.log", "x\n")
			w.git("add", "-fN", "meant.log")
		},
		"assumed unchanged": func(w, origin workspace) {
			clone()(w, origin)
			w.git("update-index", "--assume-unchanged", "empty")
			w.git("update-index", "--skip-worktree", "crlf.txt")
			w.write("empty", "not any more\n")
			w.write("crlf.txt", "other\r\n")
		},
		"conflict": func(w, origin workspace) {
			clone()(w, origin)
			w.git("checkout", "-q", "-b", "mine", "HEAD~2")
			w.write("lf.txt", "mine\n")
			w.commit()
			w.sh("git merge -q main || true")
		},
		"packed": func(w, origin workspace) { clone()(w, origin); w.git("gc", "-q"); w.git("pack-refs", "--all") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFolder(t)
			make(w, origin)
			w.write("new", "new\n")
			var k *gitrepo.Keeper
			var dir string
			if name == "bad index" { // there is no fingerprint either
				good, err := os.ReadFile(origin.path(".git/index"))
				w.must(err)
				k, dir = w.keeper()
				w.must(os.WriteFile(w.path(".git/index"), good, 0o600))
			} else {
				k, dir = w.keeper()
			}
			id, before := w.snapshot(k), w.tree()
			if name == "no index" { // and so nothing is tracked
				before = without(before, "forced.log")
			}
			w.holds(k, id, before)
			w.sh("find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +")
			w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id, Git: true})
			w.same("restored", before)
			w.git("status")
			w.git("rev-list", "--all")
		})
	}
}

func TestRepositoriesInsideOfTheWorkspace(t *testing.T) {
	w := newRepo(t)
	other := newRepo(t)
	other.write("sub.txt", "of the submodule\n")
	other.commit()
	w.git("submodule", "--quiet", "add", "file://"+other.dir, "sub")
	w.commit()
	nested := w.at("nested")
	nested.git("init", "-q")
	nested.write("file", "of the nested one\n")
	nested.write(".gitignore", "ignored\n")
	nested.write("ignored", "x\n")
	deeper := nested.at("deeper")
	deeper.git("init", "-q")
	deeper.write("file", "of the deeper one\n")
	w.at("hollow").git("init", "-q")

	k, dir := w.keeper()
	first, before := w.snapshot(k), w.tree()
	w.holds(k, first, without(before, filepath.Join("nested", "ignored")))
	nested.write("file", "changed\n")
	nested.write("new", "new\n")
	w.write("sub/new", "new\n")
	w.must(os.Remove(w.path("sub/sub.txt")))
	second, after := w.snapshot(k), w.tree()
	w.holds(k, second, without(after, filepath.Join("nested", "ignored")))

	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: first})
	w.same("the first", before)
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: second})
	w.same("the second", after)
}

func TestOnlyTheWorkspaceIsKept(t *testing.T) {
	top := rich(t)
	w := workspace{t, top.path("src")}
	top.write(".gitignore", "*.log\n/src/never\n")
	w.write("never", "ignored from above\n")
	k, dir := w.keeper()
	id, before := w.snapshot(k), top.tree()
	w.holds(k, id, without(w.tree(), "never"))
	w.sh("rm -rf deep; echo x >new; echo y >../lf.txt; rm ../crlf.txt")
	outside := top.tree()
	done := w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id})
	want := without(before, "lf.txt", "crlf.txt")
	want["lf.txt"] = outside["lf.txt"]
	top.same("restored", want)
	if done.Written != 2 || done.Deleted != 1 || done.Notes != nil {
		t.Errorf("got %+v", done)
	}
	top.sh("rm -rf src")
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id})
	top.same("restored from nothing", without(want, filepath.Join("src", "never")))
}

// TestIgnoredIsWhatTheUserIgnores has a pattern in each of the places.
func TestIgnoredIsWhatTheUserIgnores(t *testing.T) {
	for name, place := range map[string]func(w, home workspace) (env []string){
		"info/exclude": func(w, _ workspace) []string { w.write(".git/info/exclude", "secret\n"); return nil },
		"configured": func(w, home workspace) []string {
			home.write("ignore", "secret\n")
			w.git("config", "core.excludesFile", home.path("ignore"))
			return nil
		},
		"home": func(_, home workspace) []string {
			home.write(".config/git/ignore", "secret\n")
			return []string{"HOME=" + home.dir}
		},
		"xdg": func(_, home workspace) []string {
			home.write("git/ignore", "secret\n")
			return []string{"XDG_CONFIG_HOME=" + home.dir}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, home := newRepo(t), newFolder(t)
			git := gitrepo.Git{Env: append(environment(), place(w, home)...)}
			w.write("secret", "x\n")
			repo, _, err := git.Find(t.Context(), w.dir)
			w.must(err)
			k, err := repo.Keep(t.Context(), filepath.Join(newFolder(t).dir, "s"))
			w.must(err)
			w.holds(k, w.snapshot(k), map[string]string{"kept": "file one\n"})
		})
	}
}

func TestAFileThatIsTrackedLaterThoughIgnored(t *testing.T) {
	w := newRepo(t)
	w.write(".gitignore", "*.log\n")
	w.write("a.log", "a\n")
	k, dir := w.keeper()
	w.holds(k, w.snapshot(k), without(w.tree(), "a.log"))
	w.git("add", "-f", "a.log")
	w.holds(k, w.snapshot(k), w.tree())
	w.write("a.log", "changed\n")
	w.holds(k, w.snapshot(k), w.tree())
	w.write("b.log", "b\n")
	w.git("add", "-f", "b.log")
	again := w.keep(dir)
	w.holds(again, w.snapshot(again), w.tree())
}

// TestNamesOfSnapshots: the same tree has the same name, also in another process, and
// every snapshot stays in use.
func TestNamesOfSnapshots(t *testing.T) {
	w := newRepo(t)
	k, dir := w.keeper()
	taken := map[string]bool{}
	take := func(k *gitrepo.Keeper, run string, iteration int) string {
		t.Helper()
		state := w.fingerprint(k, ralph.TreeInput{Run: run, Iteration: iteration, BaseHead: "HEAD"})
		if state.Snapshot == "" || state.Left != nil {
			t.Fatalf("got %+v", state)
		}
		taken[state.Snapshot] = true
		return state.Snapshot
	}
	first := take(k, "one", 0)
	if again := take(k, "one", 1); again != first {
		t.Errorf("the same tree is %s and %s", first, again)
	}
	if again := take(w.keep(dir), "one", 1); again != first {
		t.Errorf("the same tree is %s and, later, %s", first, again)
	}
	for _, text := range []string{"a", "b", "c"} {
		w.write("kept", text)
		take(k, "one", 2)
	}
	w.restore(k, gitrepo.RestoreInput{Snapshot: first})
	take(k, "two", 2)
	w.write("kept", "d")
	take(k, "one", 2)
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: first})
	w.write("kept", "e")
	take(w.keep(dir), "../odd name", 2)
	used := (workspace{t, dir}).git("rev-list", "--objects", "--no-object-names", "--all")
	for id := range taken {
		if !strings.Contains(used, id) {
			t.Errorf("%s has no name", id)
		}
	}
	objects, err := filepath.Glob(filepath.Join(dir, "objects", "??", "*"))
	w.must(err)
	for _, path := range objects {
		if id := filepath.Base(filepath.Dir(path)) + filepath.Base(path); !strings.Contains(used, id) {
			t.Errorf("%s is out of use: %s", id, (workspace{t, dir}).git("cat-file", "-p", id))
		}
	}
}

// TestBranchesThatNoFileTellsOf: the workspace is as it was, and the work is elsewhere.
func TestBranchesThatNoFileTellsOf(t *testing.T) {
	for name, script := range map[string]string{
		"work on a branch": "git switch -q -c side; echo x >work; git add work; git commit -q -m work; git switch -q main",
		"another branch":   "git switch -q -c side",
	} {
		w := newRepo(t)
		k, dir := w.keeper()
		first := w.snapshot(k)
		w.sh(script)
		id, refs := w.snapshot(k), w.refs()
		if id == first {
			t.Errorf("%s: nothing was kept", name)
		}
		w.sh("git switch -q main; git branch -q -D side; git reflog expire --expire=now --all; git gc -q --prune=now")
		w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id, Git: true})
		if diff := cmp.Diff(refs, w.refs()); diff != "" {
			t.Errorf("%s: refs (-want +got):\n%s", name, diff)
		}
		w.git("fsck", "--connectivity-only")
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
			w := origin.copied(t)
			k, dir := w.keeper()
			w.snapshot(k)
			workspace{t, dir}.sh(damage)
			w.write("new", "new\n")
			k = w.keep(dir)
			w.holds(k, w.snapshot(k), without(w.tree(), ignored...))
		})
	}
}

// TestObjectsThatWereLost: files are read again if the repository's objects cannot be had.
func TestObjectsThatWereLost(t *testing.T) {
	w := rich(t)
	k, dir := w.keeper()
	workspace{t, dir}.sh("rm -rf history; echo in the way >history") // nothing can be linked
	state := w.fingerprint(k, ralph.TreeInput{BaseHead: "HEAD"})
	if len(state.Left) != 1 || !strings.HasPrefix(state.Left[0], "the repository's history is not in the snapshot: ") {
		t.Errorf("left %q", state.Left)
	}
	w.holds(k, state.Snapshot, without(w.tree(), ignored...))
}

func TestNamesThatGitDoesNotTake(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is the same as .git here")
	}
	w := newRepo(t)
	w.write("folder/.GIT/file", "x\n")
	w.write(".GITHUB/file", "x\n")
	k, _ := w.keeper()
	state := w.fingerprint(k, since)
	if diff := cmp.Diff([]string{"folder/.GIT/file is not in the snapshot as it is now: git takes no file of that name"}, state.Left); diff != "" {
		t.Error(diff)
	}
	w.holds(k, state.Snapshot, without(w.tree(), filepath.Join("folder", ".GIT", "file")))
	done := w.restore(k, gitrepo.RestoreInput{Snapshot: state.Snapshot})
	if done.Written+done.Deleted != 0 {
		t.Errorf("got %+v", done)
	}
}

func TestASnapshotThatFailsDoesNotFailTheFingerprint(t *testing.T) {
	w := newRepo(t)
	k, dir := w.keeper()
	want := w.fingerprint(w.find(), since)
	workspace{t, dir}.sh("rm -rf objects; echo in the way >objects")
	got := w.fingerprint(k, since)
	if got.Snapshot != "" || len(got.Left) != 1 || !strings.HasPrefix(got.Left[0], "no snapshot was kept: ") {
		t.Errorf("got %+v", got)
	}
	got.Left = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSnapshotsInsideOfTheWorkspaceAreRefused(t *testing.T) {
	w := newRepo(t)
	if _, err := w.find().Keep(t.Context(), w.path("state/snapshots.git")); err == nil || !strings.Contains(err.Error(), "it lies in the workspace") {
		t.Errorf("got %v", err)
	}
}

// TestAWorkspaceThatBecameAFolderOfAnother has the same folder of snapshots.
func TestAWorkspaceThatBecameAFolderOfAnother(t *testing.T) {
	top := newFolder(t)
	w := top.at("inner")
	w.git("init", "-q")
	w.write("file", "one\n")
	k, dir := w.keeper()
	first := w.snapshot(k)
	w.must(os.RemoveAll(w.path(".git")))
	top.git("init", "-q")
	w.write("file", "two\n")
	k = w.keep(dir)
	second, before := w.snapshot(k), top.tree()
	w.holds(k, first, map[string]string{"file": "file one\n"})
	w.holds(k, second, map[string]string{"file": "file two\n"})
	_, err := w.later(dir).Restore(t.Context(), gitrepo.RestoreInput{Snapshot: first})
	refused(t, err, gitrepo.ProblemNotRestorable)
	top.same("refused", before)
	w.write("file", "three\n")
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: second})
	top.same("restored", before)
	if patch, _, err := k.Diff(t.Context(), "", second, 1<<10); !strings.HasPrefix(patch, "A\tfile\n") {
		t.Errorf("got %q, %v", patch, err)
	}
}

func TestAnotherKindOfRepository(t *testing.T) {
	w := newRepo(t)
	k, dir := w.keeper()
	w.snapshot(k)
	w.sh("rm -rf .git; git init -q --object-format=sha256")
	if _, err := w.find().Keep(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "of a sha1 repository, and this is a sha256 one") {
		t.Errorf("got %v", err)
	}
}

func TestChangedIsTheRepositorys(t *testing.T) {
	w := newRepo(t)
	base := w.git("rev-parse", "HEAD")
	w.write("kept", "two\n")
	k, _ := w.keeper()
	if got, err := k.Changed(t.Context(), base); err != nil || got != "1 file changed, 1 insertion(+), 1 deletion(-)" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestProgramsThatAnAgentPlantsAreTold(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/pre-push", "true")
	k, _ := w.keeper()
	if left := w.fingerprint(k, ralph.TreeInput{}).Left; left != nil {
		t.Errorf("before the agent: %q", left)
	}
	w.git("config", "user.email", "a@example.com")
	w.git("config", "branch.main.remote", "origin")
	w.write("a", "1")
	if left := w.fingerprint(k, ralph.TreeInput{}).Left; left != nil {
		t.Errorf("settings that run nothing: %q", left)
	}
	w.program(".git/hooks/post-merge", "touch planted")
	w.git("config", "filter.x.clean", "touch planted; cat")
	w.git("config", "core.sshCommand", "touch planted")
	w.write("a", "2")
	want := []string{
		"hooks came into the repository during this run: post-merge; look at them before your next git command runs them",
		`the repository's configuration was changed during this run, where it can make git run programs: sshCommand = touch planted; [filter "x"]; clean = "touch planted; cat"`,
	}
	if diff := cmp.Diff(want, w.fingerprint(k, ralph.TreeInput{}).Left); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}
