package snapshot_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// without is a tree less some files.
func without(tree map[string]string, names ...string) map[string]string {
	rest := map[string]string{}
	for name, text := range tree {
		rest[name] = text
	}
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// odd are names that are hard to handle.
func odd() []string {
	if runtime.GOOS != "linux" {
		return []string{"blank name", strings.Repeat("n", 255)}
	}
	return []string{
		"blank name",
		strings.Repeat("n", 255),
		"line\nbreak",
		"tab\tstop",
		`quo"te's`,
		`back\slash`,
		"not\xffutf8",
		"ümlaut",
		"*",
		"-dash",
		":colon",
		"a/...",
	}
}

// rich is a repository with a bit of everything.
func rich(t testing.TB) gittest.Workspace {
	t.Helper()
	return gittest.CopyOf(t, "rich", enrich)
}

func enrich(w gittest.Workspace) {
	w.Git("init", "-q", "-b", "main")
	w.Write(".gitignore", "*.log\n/out/\n")
	w.Write(".gitattributes", "* text=auto eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n")
	w.Write("crlf.txt", "one\r\ntwo\r\n")
	w.Write("lf.txt", "one\ntwo\n")
	w.Write("mixed.txt", "one\r\ntwo\n")
	w.Write("who.id", "$ID$\n")
	w.Write("empty", "")
	w.Write("forced.log", "tracked all the same\n")
	w.Write("src/deep/er/code.go", "package code\n")
	w.Write("src/deep/other.go", "package deep\n")
	w.Script("run.sh", "exit 0")
	w.Must(os.Symlink("src/deep", w.Path("link")))
	w.Must(os.Symlink("/nowhere/at/all", w.Path("dangling")))
	w.Commit()
	w.Git("add", "-f", "forced.log")
	w.Git("commit", "-q", "-m", "forced")
	w.Git("tag", "-a", "v1", "-m", "one")
	w.Git("branch", "side")
	for i := range 3 {
		w.Write("lf.txt", fmt.Sprintf("one\ntwo\n%d\n", i))
		w.Commit()
	}
	w.Git("branch", "other", "HEAD~1")
	w.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main")
	for _, name := range odd() {
		w.Write(name, "content of "+name+"\n")
	}
	w.Write("large.bin", large())
	w.Write("dirty.id", "$ID: of an earlier life $\n")
	w.Write("src/deep/er/code.go", "package changed\r\n")
	w.Write("staged", "staged\n")
	w.Git("add", "staged")
	w.Write("staged", "and changed\n")
	w.Write("noise.log", "ignored\n")
	w.Write("out/made", "ignored\n")
}

// large is more than fits into one read, with zeros and line breaks in it.
func large() string {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d\x00%x\n", i, i*i)
	}
	return text.String()
}

// ignored are the files of a rich repository that no snapshot holds.
var ignored = []string{"noise.log", filepath.Join("out", "made")}

// treeOf is every file of a folder, as "kind content" by name. What is named .git is left out.
func treeOf(w gittest.Workspace) map[string]string {
	w.Helper()
	files := map[string]string{}
	w.Must(filepath.WalkDir(w.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" && entry.IsDir() {
			return fs.SkipDir
		}
		if entry.IsDir() || entry.Name() == ".git" {
			return nil
		}
		name, err := filepath.Rel(w.Dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[name] = "link " + target
			return err
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			kind := "file "
			if info.Mode()&0o100 != 0 {
				kind = "program "
			}
			files[name] = kind + string(text)
			return err
		}
		files[name] = info.Mode().Type().String()
		return nil
	}))
	return files
}

func same(w gittest.Workspace, what string, want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(want, treeOf(w)); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refsOf are the branches and what HEAD says.
func refsOf(w gittest.Workspace) string {
	w.Helper()
	head, err := os.ReadFile(w.Path(".git/HEAD"))
	w.Must(err)
	return w.Git("for-each-ref", "--format=%(objectname) %(refname) %(symref)") + "\n" + string(head)
}

// newKeeper keeps snapshots of the workspace in a new folder.
func newKeeper(w gittest.Workspace) (*snapshot.Keeper, string) {
	w.Helper()
	dir := filepath.Join(gittest.NewFolder(w.TB).Dir, "snapshots.git")
	return keep(w, dir), dir
}

func keep(w gittest.Workspace, dir string) *snapshot.Keeper {
	w.Helper()
	k, err := snapshot.New(w.Context(), w.Find(), dir)
	w.Must(err)
	return k
}

// reopen is the same in another process.
func reopen(w gittest.Workspace, dir string) *snapshot.Keeper {
	w.Helper()
	k, err := snapshot.Reopen(gittest.Program(), dir)
	w.Must(err)
	return k
}

// snapshotOf takes one of which nothing may be missing.
func snapshotOf(w gittest.Workspace, k *snapshot.Keeper) string {
	w.Helper()
	state := w.Fingerprint(k, ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD"})
	// Which is no file.
	missing := slices.DeleteFunc(
		slices.Clone(state.Omitted),
		func(said string) bool { return strings.Contains(said, "during this run") },
	)
	if state.Snapshot == "" || len(missing) > 0 {
		w.Fatalf("snapshot %q, left %q", state.Snapshot, missing)
	}
	return state.Snapshot
}

func restore(w gittest.Workspace, k *snapshot.Keeper, in snapshot.RestoreInput) manifest.Restored {
	w.Helper()
	done, err := k.Restore(w.Context(), in)
	if err != nil {
		w.Fatalf("%+v: %v", done, err)
	}
	return done
}

// copied is the same workspace in another place, one folder further down, so that what
// lies beside it is the test's own.
func copied(w gittest.Workspace, t *testing.T) gittest.Workspace {
	t.Helper()
	inner := gittest.Workspace{TB: t, Dir: filepath.Join(gittest.NewFolder(t).Dir, "inner")}
	w.TB = t
	w.Sh("cp -a . '" + inner.Dir + "'")
	return inner
}

// recordedRefs are the refs of now that are named in an earlier list, and HEAD.
func recordedRefs(w gittest.Workspace, earlier string) string {
	w.Helper()
	var kept []string
	for line := range strings.Lines(refsOf(w)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) < 3 || strings.Contains(earlier, " "+fields[1]+" ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
