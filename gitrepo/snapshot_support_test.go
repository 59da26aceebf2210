package gitrepo_test

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
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/process"
)

// tree is every file of a folder, as "kind content" by name. What is named .git is left out.
func (w workspace) tree() map[string]string {
	w.Helper()
	files := map[string]string{}
	w.must(filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" && entry.IsDir() {
			return fs.SkipDir
		}
		if entry.IsDir() || entry.Name() == ".git" {
			return nil
		}
		name, err := filepath.Rel(w.dir, path)
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

func (w workspace) same(what string, want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(want, w.tree()); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refs are the branches and what HEAD says.
func (w workspace) refs() string {
	w.Helper()
	head, err := os.ReadFile(w.path(".git/HEAD"))
	w.must(err)
	return w.git("for-each-ref", "--format=%(objectname) %(refname) %(symref)") + "\n" + string(head)
}

// sh plays what an agent does on a command line.
func (w workspace) sh(script string) {
	w.Helper()
	var out strings.Builder
	ended, err := process.Run(w.Context(), process.Spec{
		Argv: []string{"/bin/sh", "-ec", script}, Dir: w.dir, Env: environment(), Stdout: process.Sink{Tap: &out}, StderrToStdout: true,
	})
	if err != nil || ended.ExitCode != 0 {
		w.Fatalf("%s: %v %d: %s", script, err, ended.ExitCode, out.String())
	}
}

// keeper keeps snapshots of the workspace in a new folder.
func (w workspace) keeper() (*gitrepo.Keeper, string) {
	w.Helper()
	dir := filepath.Join(newFolder(w.TB).dir, "snapshots.git")
	return w.keep(dir), dir
}

func (w workspace) keep(dir string) *gitrepo.Keeper {
	w.Helper()
	k, err := w.find().Keep(w.Context(), dir)
	w.must(err)
	return k
}

// later is the same in another process.
func (w workspace) later(dir string) *gitrepo.Keeper {
	w.Helper()
	k, err := program().Kept(dir)
	w.must(err)
	return k
}

// snapshot takes one of which nothing may be missing.
func (w workspace) snapshot(k *gitrepo.Keeper) string {
	w.Helper()
	state := w.fingerprint(k, ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD"})
	missing := slices.DeleteFunc(slices.Clone(state.Left), func(said string) bool { return strings.Contains(said, "during this run") }) // which is no file
	if state.Snapshot == "" || len(missing) > 0 {
		w.Fatalf("snapshot %q, left %q", state.Snapshot, missing)
	}
	return state.Snapshot
}

func (w workspace) restore(k *gitrepo.Keeper, in gitrepo.RestoreInput) gitrepo.Restored {
	w.Helper()
	done, err := k.Restore(w.Context(), in)
	if err != nil {
		w.Fatalf("%+v: %v", done, err)
	}
	return done
}

// odd are names that are hard to handle.
func odd() []string {
	if runtime.GOOS != "linux" {
		return []string{"blank name", strings.Repeat("n", 255)}
	}
	return []string{
		"blank name", strings.Repeat("n", 255), "line\nbreak", "tab\tstop", `quo"te's`, `back\slash`, "not\xffutf8", "ümlaut", "*", "-dash", ":colon", "a/...",
	}
}

// rich is a repository with a bit of everything.
func rich(t testing.TB) workspace {
	t.Helper()
	return copyOf(t, "rich", enrich)
}

func enrich(w workspace) {
	w.git("init", "-q", "-b", "main")
	w.write(".gitignore", "*.log\n/out/\n")
	w.write(".gitattributes", "* text=auto eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n")
	w.write("crlf.txt", "one\r\ntwo\r\n")
	w.write("lf.txt", "one\ntwo\n")
	w.write("mixed.txt", "one\r\ntwo\n")
	w.write("who.id", "$Id$\n")
	w.write("empty", "")
	w.write("forced.log", "tracked all the same\n")
	w.write("src/deep/er/code.go", "package code\n")
	w.write("src/deep/other.go", "package deep\n")
	w.program("run.sh", "exit 0")
	w.must(os.Symlink("src/deep", w.path("link")))
	w.must(os.Symlink("/nowhere/at/all", w.path("dangling")))
	w.commit()
	w.git("add", "-f", "forced.log")
	w.git("commit", "-q", "-m", "forced")
	w.git("tag", "-a", "v1", "-m", "one")
	w.git("branch", "side")
	for i := range 3 {
		w.write("lf.txt", fmt.Sprintf("one\ntwo\n%d\n", i))
		w.commit()
	}
	w.git("branch", "other", "HEAD~1")
	w.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main")
	for _, name := range odd() {
		w.write(name, "content of "+name+"\n")
	}
	w.write("large.bin", large())
	w.write("dirty.id", "$Id: of an earlier life $\n")
	w.write("src/deep/er/code.go", "package changed\r\n")
	w.write("staged", "staged\n")
	w.git("add", "staged")
	w.write("staged", "and changed\n")
	w.write("noise.log", "ignored\n")
	w.write("out/made", "ignored\n")
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

// copied is the same workspace in another place, one folder further down, so that what
// lies beside it is the test's own.
func (w workspace) copied(t *testing.T) workspace {
	t.Helper()
	inner := workspace{t, filepath.Join(newFolder(t).dir, "inner")}
	w.TB = t
	w.sh("cp -a . '" + inner.dir + "'")
	return inner
}

// recordedRefs are the refs of now that are named in an earlier list, and HEAD.
func (w workspace) recordedRefs(earlier string) string {
	w.Helper()
	var kept []string
	for line := range strings.Lines(w.refs()) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) < 3 || strings.Contains(earlier, " "+fields[1]+" ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
