package gitrepo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// change says which parts of a fingerprint differ before and after something was done.
type change struct{ Head, Hash bool }

func changed(before, after ralph.TreeState) change {
	return change{before.Head != after.Head, before.Hash != after.Hash}
}

func TestFingerprintSeesWhatCounts(t *testing.T) {
	nothing, tree := change{}, change{Hash: true}
	cases := map[string]struct {
		prepare, act func(w gittest.Workspace)
		want         change
		dirty        int // afterwards
	}{
		"nothing": {act: func(gittest.Workspace) {}, want: nothing},
		"edit of a tracked file": {
			act:  func(w gittest.Workspace) { w.Write("kept", "two\n") },
			want: tree, dirty: 1,
		},
		"repeated edit of an already dirty file": {
			prepare: func(w gittest.Workspace) { w.Write("kept", "two\n") },
			act:     func(w gittest.Workspace) { w.Write("kept", "six\n") },
			want:    tree, dirty: 1,
		},
		"repeated edit of an untracked file": {
			prepare: func(w gittest.Workspace) { w.Write("new", "two\n"); w.Age("new") },
			act:     func(w gittest.Workspace) { w.Write("new", "six\n") },
			want:    tree, dirty: 1,
		},
		"touching without change": {
			prepare: func(w gittest.Workspace) { w.Write("kept", "two\n"); w.Write("new", "x") },
			act:     func(w gittest.Workspace) { w.Age("kept"); w.Age("new") },
			want:    nothing, dirty: 2,
		},
		"writing the same again": {
			prepare: func(w gittest.Workspace) { w.Write("kept", "two\n") },
			act:     func(w gittest.Workspace) { w.Must(os.Remove(w.Path("kept"))); w.Write("kept", "two\n") },
			want:    nothing, dirty: 1,
		},
		"taking an edit back": {
			act:  func(w gittest.Workspace) { w.Write("kept", "two\n"); w.Write("kept", "one\n") },
			want: nothing,
		},
		"staging": {
			prepare: func(w gittest.Workspace) { w.Write("kept", "two\n"); w.Write("new", "x") },
			act:     func(w gittest.Workspace) { w.Git("add", "-A") },
			want:    nothing, dirty: 2,
		},
		"taking a file out of the index only": {
			act:  func(w gittest.Workspace) { w.Git("rm", "-q", "--cached", "kept") },
			want: tree, dirty: 1,
		},
		"commit with a clean tree": {
			act:  func(w gittest.Workspace) { w.Commit() },
			want: change{Head: true},
		},
		"commit of an edit": {
			prepare: func(w gittest.Workspace) { w.Write("kept", "two\n") },
			act:     func(w gittest.Workspace) { w.Commit() },
			want:    change{Head: true, Hash: true},
		},
		"detaching HEAD": {
			act:  func(w gittest.Workspace) { w.Git("checkout", "-q", "--detach") },
			want: nothing,
		},
		"removal": {
			act:  func(w gittest.Workspace) { w.Must(os.Remove(w.Path("kept"))) },
			want: tree, dirty: 1,
		},
		"renaming": {
			act:  func(w gittest.Workspace) { w.Git("mv", "kept", "moved") },
			want: tree, dirty: 2,
		},
		"making it executable": {
			act:  func(w gittest.Workspace) { w.Must(os.Chmod(w.Path("kept"), 0o755)) },
			want: tree, dirty: 1,
		},
		"ignored file": {
			prepare: func(w gittest.Workspace) { w.Write(".gitignore", "*.log\n") },
			act:     func(w gittest.Workspace) { w.Write("x.log", "x") },
			want:    nothing, dirty: 1,
		},
		"the harness's own view": {
			act:  func(w gittest.Workspace) { w.Write(".ralph/progress.md", "x") },
			want: nothing,
		},
		"another file of the harness": {
			act:  func(w gittest.Workspace) { w.Write(".ralph/PROMPT.md", "x") },
			want: tree, dirty: 1,
		},
		"line break and quotes in a name": {
			prepare: func(w gittest.Workspace) { w.Write("a\n? \"b\" \x01", "two") },
			act:     func(w gittest.Workspace) { w.Write("a\n? \"b\" \x01", "six") },
			want:    tree, dirty: 1,
		},
		"link to another target": {
			prepare: func(w gittest.Workspace) { w.Must(os.Symlink("kept", w.Path("link"))) },
			act: func(w gittest.Workspace) {
				w.Must(os.Remove(w.Path("link")))
				w.Must(os.Symlink("/etc/hostname", w.Path("link")))
			},
			want: tree, dirty: 1,
		},
		"change behind a link that leads out": {
			prepare: func(w gittest.Workspace) { w.Must(os.Symlink("../outside", w.Path("link"))) },
			act:     func(w gittest.Workspace) { w.Write("../outside", "x") },
			want:    nothing, dirty: 1,
		},
		"file replaced by a link to the same content": {
			prepare: func(w gittest.Workspace) { w.Write("copy", "one\n") },
			act: func(w gittest.Workspace) {
				w.Must(os.Remove(w.Path("copy")))
				w.Must(os.Symlink("kept", w.Path("copy")))
			},
			want: tree, dirty: 1,
		},
		"same size, same times, another file": {
			prepare: func(w gittest.Workspace) { w.Write("new", "two"); w.Age("new") },
			act: func(w gittest.Workspace) {
				info, err := os.Stat(w.Path("new"))
				w.Must(err)
				w.Write("next", "six")
				w.Must(os.Chtimes(w.Path("next"), info.ModTime(), info.ModTime()))
				w.Must(os.Rename(w.Path("next"), w.Path("new")))
			},
			want: tree, dirty: 1,
		},
		"large file grows": {
			prepare: func(w gittest.Workspace) { w.Write("large", strings.Repeat("x", 2<<20)) },
			act:     func(w gittest.Workspace) { w.Write("large", strings.Repeat("x", 2<<20+1)) },
			want:    tree, dirty: 1,
		},
		"index.lock left over": {
			prepare: func(w gittest.Workspace) { w.Write(".git/index.lock", "") },
			act:     func(w gittest.Workspace) { w.Write("kept", "two\n") },
			want:    tree, dirty: 1,
		},
		"conflict": {
			prepare: func(w gittest.Workspace) {
				w.Git("checkout", "-q", "-b", "other")
				w.Write("kept", "two\n")
				w.Commit()
				w.Git("checkout", "-q", "main")
				w.Write("kept", "six\n")
				w.Commit()
				w.Git("config", "alias.try", "!git merge -q other || true")
				w.Git("try")
			},
			act:  func(w gittest.Workspace) { w.Write("kept", "solved\n") },
			want: tree, dirty: 1,
		},
		"file in a nested repository": {
			prepare: func(w gittest.Workspace) { w.At("nested").Git("init", "-q"); w.Write("nested/x", "two") },
			act:     func(w gittest.Workspace) { w.Write("nested/x", "six") },
			want:    tree, dirty: 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			if c.prepare != nil {
				c.prepare(w)
			}
			repo := w.Find()
			before := w.Fingerprint(repo, gittest.Since)
			if again := w.Fingerprint(repo, gittest.Since); changed(before, again) != nothing {
				t.Errorf("the same tree is another one when it is looked at again")
			}
			c.act(w)
			after := w.Fingerprint(repo, gittest.Since)
			if diff := cmp.Diff(c.want, changed(before, after)); diff != "" {
				t.Errorf("changed (-want +got)\n%s", diff)
			}
			if after.Dirty != c.dirty {
				t.Errorf("%d dirty files, want %d", after.Dirty, c.dirty)
			}
			if fresh := w.Fingerprint(w.Find(), gittest.Since); !cmp.Equal(fresh, after) {
				t.Errorf("what is remembered makes a difference\n%s", cmp.Diff(fresh, after))
			}
		})
	}
}

func TestFingerprintOfACleanTree(t *testing.T) {
	w := gittest.NewRepo(t)
	want := ralph.TreeState{Known: true, Head: w.Git("rev-parse", "HEAD")}
	if diff := cmp.Diff(want, w.Fingerprint(w.Find(), ralph.TreeInput{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFingerprintBeforeTheFirstCommit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			w := gittest.NewFolder(t)
			w.Git("init", "-q", "--object-format="+format)
			w.Write("staged", "x // TODO\n")
			w.Git("add", "-A")
			w.Write("new", "y // TODO\n")
			repo := w.Find()
			base := w.Fingerprint(repo, ralph.TreeInput{})
			base.Hash = ""
			for i, file := range base.Uncommitted {
				_, base.Uncommitted[i], _ = strings.Cut(file, " ")
			}
			want := ralph.TreeState{
				Known: true, Dirty: 2, Unfinished: []string{"new: y // TODO", "staged: x // TODO"},
				Uncommitted: []string{"new", "staged"},
			}
			if diff := cmp.Diff(want, base); diff != "" {
				t.Errorf("base (-want +got)\n%s", diff)
			}
			w.Write("later", "z // TODO\n")
			head := committedAs(w)
			want = ralph.TreeState{
				Known:      true,
				Head:       head,
				Unfinished: []string{"later: z // TODO", "new: y // TODO", "staged: x // TODO"},
			}
			if diff := cmp.Diff(want, w.Fingerprint(repo, ralph.TreeInput{Claimed: true})); diff != "" {
				t.Errorf("claim after the first commit (-want +got)\n%s", diff)
			}
		})
	}
}

func TestFingerprintOfASubfolderLooksNoFurther(t *testing.T) {
	w := gittest.NewRepo(t)
	below := w.At("below")
	below.Write("file", "one\n")
	w.Commit()
	repo := below.Find()
	before := w.Fingerprint(repo, gittest.Since)
	w.Write("kept", "two // TODO\n")
	w.Write("new", "x // TODO\n")
	below.Write(".ralph/progress.md", "x")
	if after := w.Fingerprint(repo, ralph.TreeInput{}); !cmp.Equal(before, after) {
		t.Errorf("a change outside was seen\n%s", cmp.Diff(before, after))
	}
	below.Write("file", "two // TODO\n")
	after := w.Fingerprint(repo, ralph.TreeInput{})
	if diff := cmp.Diff(change{Hash: true}, changed(before, after)); diff != "" {
		t.Errorf("changed (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"file: two // TODO"}, after.Unfinished); diff != "" {
		t.Errorf("unfinished (-want +got)\n%s", diff)
	}
	if whole := w.Fingerprint(repo.Whole(), gittest.Since); whole.Dirty != 4 {
		t.Errorf("the whole repository has %d dirty files", whole.Dirty)
	}
}

func TestFingerprintSeesInsideASubmodule(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("submodule", "--quiet", "add", gittest.NewRepo(t).Dir, "sub")
	w.Commit()
	sub := w.At("sub")
	repo := w.Find()
	states := []ralph.TreeState{w.Fingerprint(repo, gittest.Since)}
	for _, text := range []string{"two\n", "six\n"} {
		sub.Write("kept", text)
		states = append(states, w.Fingerprint(repo, gittest.Since))
	}
	sub.Write("untracked", "x")
	states = append(states, w.Fingerprint(repo, gittest.Since))
	sub.Commit()
	states = append(states, w.Fingerprint(repo, gittest.Since))
	if diff := cmp.Diff([]int{0, 1, 1, 1, 1}, dirtyOf(states)); diff != "" {
		t.Errorf("dirty (-want +got)\n%s", diff)
	}
	for i := 1; i < 4; i++ {
		if changed(states[i-1], states[i]) != (change{Hash: true}) {
			t.Errorf("step %d was not seen", i)
		}
	}
}

func dirtyOf(states []ralph.TreeState) []int {
	var counts []int
	for _, s := range states {
		counts = append(counts, s.Dirty)
	}
	return counts
}

func TestFingerprintStaysWithItsRepository(t *testing.T) {
	outer := gittest.NewRepo(t)
	w := outer.At("inner")
	w.Git("init", "-q")
	w.Write("file", "x")
	head := committedAs(w)
	repo := w.Find()
	w.Must(os.Rename(w.Path(".git"), outer.Path("away")))
	if state, err := repo.Fingerprint(t.Context(), gittest.Since); err == nil {
		t.Errorf("without its git folder it saw %+v", state)
	}
	w.Must(os.Rename(outer.Path("away"), w.Path(".git")))
	if state := w.Fingerprint(repo, gittest.Since); state.Head != head {
		t.Errorf("HEAD is %s, want %s", state.Head, head)
	}
}

func TestFingerprintRunsNothingOfTheRepository(t *testing.T) {
	w := gittest.NewRepo(t)
	repo := w.Find()
	trap := "touch " + w.Path(".git/sprung")
	w.Write(".gitattributes", "* filter=a diff=b\nkept filter=c=d\n")
	w.Write(".git/hooks/post-index-change", "#!/bin/sh\n"+trap+"\n")
	w.Must(os.Chmod(w.Path(".git/hooks/post-index-change"), 0o755))
	config := [][]string{
		{"filter.a.clean", trap + "; cat"},
		{"filter.a.required", "true"},
		{"filter.c=d.clean", trap + "; cat"},
		{
			"core.fsmonitor",
			trap,
		},
		{"diff.external", trap},
		{"diff.b.command", trap},
		{"diff.b.textconv", trap},
		{"core.pager", trap},
	}
	for _, setting := range config {
		w.Git("config", setting[0], setting[1])
	}
	w.Write("kept", "two\n")
	w.Write("new", "x\n")
	state := w.Fingerprint(repo, ralph.TreeInput{})
	if _, err := repo.Changed(t.Context(), state.Head); err != nil {
		t.Fatal(err)
	}
	if state.Dirty != 3 {
		t.Errorf("%d dirty files, want 3", state.Dirty)
	}
	if _, err := os.Lstat(w.Path(".git/sprung")); err == nil {
		t.Error("something of the repository was run")
	}
}

func TestFingerprintUsesTheUsersOwnFilters(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "filter.upper.clean", "tr a-z A-Z")
	w.Write(".gitattributes", "text filter=upper\n")
	w.Write("text", "x\n")
	w.Commit()
	repo := w.Find()
	list, err := repo.Configured(t.Context())
	w.Must(err)
	repo.Agree(list)
	w.Git("config", "filter.other.clean", "false")
	w.Write("text", "xX\n")
	w.Git("add", "text")
	w.Git("commit", "-qm", "more")
	w.Write("text", "Xx\n") // the same to the filter
	if state := w.Fingerprint(repo, gittest.Since); state.Dirty != 0 {
		t.Errorf("got %+v", state)
	}
}

func TestFingerprintTakesNoLockAndWritesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	repo := w.Find()
	w.Write("kept", "one\n") // stat differs, content does not: git would like to refresh the index
	w.Age("kept")
	index, err := os.ReadFile(w.Path(".git/index"))
	w.Must(err)
	w.Fingerprint(repo, gittest.Since)
	after, err := os.ReadFile(w.Path(".git/index"))
	w.Must(err)
	if string(index) != string(after) {
		t.Error("the index was written")
	}
}

func TestGitThatHangsIsEnded(t *testing.T) {
	bin := gittest.NewFolder(t)
	bin.Script("git", "exec sleep 600")
	git := git.Program{Env: []string{"PATH=" + bin.Dir + ":/usr/bin:/bin"}, Timeout: 10 * time.Millisecond}
	if _, ok, err := gitrepo.Find(t.Context(), git, gittest.NewFolder(t).Dir); ok || err == nil ||
		!strings.Contains(err.Error(), "run git rev-parse: not finished after 10ms") {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFingerprintEndsWithItsContext(t *testing.T) {
	if state, err := gittest.NewRepo(t).
		Find().
		Fingerprint(gittest.Canceled(t), gittest.Since); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("got %+v, %v", state, err)
	}
}

// A file that was only touched is not changed, and to find that out does not write the user's index.
func TestLookingDoesNotWriteTheIndex(t *testing.T) {
	w := gittest.NewRepo(t)
	repo := w.Find()
	head := strings.TrimSpace(w.Git("rev-parse", "HEAD"))
	old := time.Now().Add(-time.Hour)
	w.Must(os.Chtimes(w.Path("kept"), old, old))
	index, err := os.ReadFile(w.Path(".git/index"))
	w.Must(err)
	if changed, err := repo.Changed(t.Context(), head); changed != "no files changed" || err != nil {
		t.Errorf("changed: %s, %v", changed, err)
	}
	w.Fingerprint(repo, ralph.TreeInput{BaseHead: head, Claimed: true})
	if now, err := os.ReadFile(w.Path(".git/index")); err != nil || !bytes.Equal(now, index) {
		t.Errorf("the index was written: %v", err)
	}
}

func TestStampOfARepository(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(w gittest.Workspace)
		last string // "" if nothing changed
	}{
		"nothing":            {func(gittest.Workspace) {}, ""},
		"the same again":     {func(w gittest.Workspace) { w.Write("kept", "one\n") }, "kept"},
		"new and removed":    {func(w gittest.Workspace) { w.Write("x", ""); w.Must(os.Remove(w.Path("x"))) }, "."},
		"an untracked file":  {func(w gittest.Workspace) { w.Write("a/new", "two") }, "a/new"},
		"an ignored file":    {func(w gittest.Workspace) { w.Write("a/x.log", "two") }, ""},
		"an ignored folder":  {func(w gittest.Workspace) { w.Write("out/new", "two") }, ""},
		"git's own files":    {func(w gittest.Workspace) { w.Git("update-index", "--refresh") }, ""},
		"a tracked cache":    {func(w gittest.Workspace) { w.Write("target/x", "two") }, "target/x"},
		"the harness's view": {func(w gittest.Workspace) { w.Write(".ralph/progress.md", "two") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			for _, file := range []string{"a/new", "a/x.log", "out/x", "target/x", ".ralph/progress.md"} {
				w.Write(file, "one")
			}
			w.Write(".gitignore", "*.log\nout/\n")
			repo := w.Find()
			none := func(string) bool { return false }
			before, err := repo.Stamp(t.Context(), none)
			w.Must(err)
			time.Sleep(20 * time.Millisecond) // times of files are coarse
			test.act(w)
			after, err := repo.Stamp(t.Context(), none)
			w.Must(err)
			if (before.ID == after.ID) != (test.last == "") || test.last != "" && after.Last != test.last {
				t.Errorf("%+v, then %+v", before, after)
			}
		})
	}
}
