package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
)

// since asks for the fingerprint alone.
var since = ralph.TreeInput{BaseHead: "HEAD"}

// change says which parts of a fingerprint differ before and after something was done.
type change struct{ Head, Hash bool }

func changed(before, after ralph.TreeState) change {
	return change{before.Head != after.Head, before.Hash != after.Hash}
}

func TestFingerprintSeesWhatCounts(t *testing.T) {
	nothing, tree := change{}, change{Hash: true}
	cases := map[string]struct {
		prepare, act func(w workspace)
		want         change
		dirty        int // afterwards
	}{
		"nothing": {act: func(workspace) {}, want: nothing},
		"edit of a tracked file": {
			act:  func(w workspace) { w.write("kept", "two\n") },
			want: tree, dirty: 1,
		},
		"repeated edit of an already dirty file": {
			prepare: func(w workspace) { w.write("kept", "two\n") },
			act:     func(w workspace) { w.write("kept", "six\n") },
			want:    tree, dirty: 1,
		},
		"repeated edit of an untracked file": {
			prepare: func(w workspace) { w.write("new", "two\n"); w.age("new") },
			act:     func(w workspace) { w.write("new", "six\n") },
			want:    tree, dirty: 1,
		},
		"touching without change": {
			prepare: func(w workspace) { w.write("kept", "two\n"); w.write("new", "x") },
			act:     func(w workspace) { w.age("kept"); w.age("new") },
			want:    nothing, dirty: 2,
		},
		"writing the same again": {
			prepare: func(w workspace) { w.write("kept", "two\n") },
			act:     func(w workspace) { w.must(os.Remove(w.path("kept"))); w.write("kept", "two\n") },
			want:    nothing, dirty: 1,
		},
		"taking an edit back": {
			act:  func(w workspace) { w.write("kept", "two\n"); w.write("kept", "one\n") },
			want: nothing,
		},
		"staging": {
			prepare: func(w workspace) { w.write("kept", "two\n"); w.write("new", "x") },
			act:     func(w workspace) { w.git("add", "-A") },
			want:    nothing, dirty: 2,
		},
		"taking a file out of the index only": {
			act:  func(w workspace) { w.git("rm", "-q", "--cached", "kept") },
			want: tree, dirty: 1,
		},
		"commit with a clean tree": {
			act:  func(w workspace) { w.commit() },
			want: change{Head: true},
		},
		"commit of an edit": {
			prepare: func(w workspace) { w.write("kept", "two\n") },
			act:     func(w workspace) { w.commit() },
			want:    change{Head: true, Hash: true},
		},
		"detaching HEAD": {
			act:  func(w workspace) { w.git("checkout", "-q", "--detach") },
			want: nothing,
		},
		"removal": {
			act:  func(w workspace) { w.must(os.Remove(w.path("kept"))) },
			want: tree, dirty: 1,
		},
		"renaming": {
			act:  func(w workspace) { w.git("mv", "kept", "moved") },
			want: tree, dirty: 2,
		},
		"making it executable": {
			act:  func(w workspace) { w.must(os.Chmod(w.path("kept"), 0o755)) },
			want: tree, dirty: 1,
		},
		"ignored file": {
			prepare: func(w workspace) { w.write(".gitignore", "*.log\n") },
			act:     func(w workspace) { w.write("x.log", "x") },
			want:    nothing, dirty: 1,
		},
		"the harness's own view": {
			act:  func(w workspace) { w.write(".ralph/progress.md", "x") },
			want: nothing,
		},
		"another file of the harness": {
			act:  func(w workspace) { w.write(".ralph/PROMPT.md", "x") },
			want: tree, dirty: 1,
		},
		"line break and quotes in a name": {
			prepare: func(w workspace) { w.write("a\n? \"b\" \x01", "two") },
			act:     func(w workspace) { w.write("a\n? \"b\" \x01", "six") },
			want:    tree, dirty: 1,
		},
		"link to another target": {
			prepare: func(w workspace) { w.must(os.Symlink("kept", w.path("link"))) },
			act: func(w workspace) {
				w.must(os.Remove(w.path("link")))
				w.must(os.Symlink("/etc/hostname", w.path("link")))
			},
			want: tree, dirty: 1,
		},
		"change behind a link that leads out": {
			prepare: func(w workspace) { w.must(os.Symlink("../outside", w.path("link"))) },
			act:     func(w workspace) { w.write("../outside", "x") },
			want:    nothing, dirty: 1,
		},
		"file replaced by a link to the same content": {
			prepare: func(w workspace) { w.write("copy", "one\n") },
			act:     func(w workspace) { w.must(os.Remove(w.path("copy"))); w.must(os.Symlink("kept", w.path("copy"))) },
			want:    tree, dirty: 1,
		},
		"same size, same times, another file": {
			prepare: func(w workspace) { w.write("new", "two"); w.age("new") },
			act: func(w workspace) {
				info, err := os.Stat(w.path("new"))
				w.must(err)
				w.write("next", "six")
				w.must(os.Chtimes(w.path("next"), info.ModTime(), info.ModTime()))
				w.must(os.Rename(w.path("next"), w.path("new")))
			},
			want: tree, dirty: 1,
		},
		"large file grows": {
			prepare: func(w workspace) { w.write("large", strings.Repeat("x", 2<<20)) },
			act:     func(w workspace) { w.write("large", strings.Repeat("x", 2<<20+1)) },
			want:    tree, dirty: 1,
		},
		"index.lock left over": {
			prepare: func(w workspace) { w.write(".git/index.lock", "") },
			act:     func(w workspace) { w.write("kept", "two\n") },
			want:    tree, dirty: 1,
		},
		"conflict": {
			prepare: func(w workspace) {
				w.git("checkout", "-q", "-b", "other")
				w.write("kept", "two\n")
				w.commit()
				w.git("checkout", "-q", "main")
				w.write("kept", "six\n")
				w.commit()
				w.git("config", "alias.try", "!git merge -q other || true")
				w.git("try")
			},
			act:  func(w workspace) { w.write("kept", "solved\n") },
			want: tree, dirty: 1,
		},
		"file in a nested repository": {
			prepare: func(w workspace) { w.at("nested").git("init", "-q"); w.write("nested/x", "two") },
			act:     func(w workspace) { w.write("nested/x", "six") },
			want:    tree, dirty: 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			if c.prepare != nil {
				c.prepare(w)
			}
			repo := w.find()
			before := w.fingerprint(repo, since)
			if again := w.fingerprint(repo, since); changed(before, again) != nothing {
				t.Errorf("the same tree is another one when it is looked at again")
			}
			c.act(w)
			after := w.fingerprint(repo, since)
			if diff := cmp.Diff(c.want, changed(before, after)); diff != "" {
				t.Errorf("changed (-want +got)\n%s", diff)
			}
			if after.Dirty != c.dirty {
				t.Errorf("%d dirty files, want %d", after.Dirty, c.dirty)
			}
			if fresh := w.fingerprint(w.find(), since); !cmp.Equal(fresh, after) {
				t.Errorf("what is remembered makes a difference\n%s", cmp.Diff(fresh, after))
			}
		})
	}
}

func TestFingerprintOfACleanTree(t *testing.T) {
	w := newRepo(t)
	want := ralph.TreeState{Known: true, Head: w.git("rev-parse", "HEAD")}
	if diff := cmp.Diff(want, w.fingerprint(w.find(), ralph.TreeInput{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFingerprintBeforeTheFirstCommit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			w := newFolder(t)
			w.git("init", "-q", "--object-format="+format)
			w.write("staged", "x // TODO\n")
			w.git("add", "-A")
			w.write("new", "y // TODO\n")
			repo := w.find()
			base := w.fingerprint(repo, ralph.TreeInput{})
			base.Hash = ""
			want := ralph.TreeState{Known: true, Dirty: 2, Unfinished: []string{"new: y // TODO", "staged: x // TODO"}}
			if diff := cmp.Diff(want, base); diff != "" {
				t.Errorf("base (-want +got)\n%s", diff)
			}
			w.write("later", "z // TODO\n")
			head := w.committedAs()
			want = ralph.TreeState{Known: true, Head: head, Unfinished: []string{"later: z // TODO", "new: y // TODO", "staged: x // TODO"}}
			if diff := cmp.Diff(want, w.fingerprint(repo, ralph.TreeInput{Claimed: true})); diff != "" {
				t.Errorf("claim after the first commit (-want +got)\n%s", diff)
			}
		})
	}
}

func TestFingerprintOfASubfolderLooksNoFurther(t *testing.T) {
	w := newRepo(t)
	below := w.at("below")
	below.write("file", "one\n")
	w.commit()
	repo := below.find()
	before := w.fingerprint(repo, since)
	w.write("kept", "two // TODO\n")
	w.write("new", "x // TODO\n")
	below.write(".ralph/progress.md", "x")
	if after := w.fingerprint(repo, ralph.TreeInput{}); !cmp.Equal(before, after) {
		t.Errorf("a change outside was seen\n%s", cmp.Diff(before, after))
	}
	below.write("file", "two // TODO\n")
	after := w.fingerprint(repo, ralph.TreeInput{})
	if diff := cmp.Diff(change{Hash: true}, changed(before, after)); diff != "" {
		t.Errorf("changed (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"file: two // TODO"}, after.Unfinished); diff != "" {
		t.Errorf("unfinished (-want +got)\n%s", diff)
	}
	if whole := w.fingerprint(repo.Whole(), since); whole.Dirty != 4 {
		t.Errorf("the whole repository has %d dirty files", whole.Dirty)
	}
}

func TestFingerprintSeesInsideASubmodule(t *testing.T) {
	w := newRepo(t)
	w.git("submodule", "--quiet", "add", newRepo(t).dir, "sub")
	w.commit()
	sub := w.at("sub")
	repo := w.find()
	states := []ralph.TreeState{w.fingerprint(repo, since)}
	for _, text := range []string{"two\n", "six\n"} {
		sub.write("kept", text)
		states = append(states, w.fingerprint(repo, since))
	}
	sub.write("untracked", "x")
	states = append(states, w.fingerprint(repo, since))
	sub.commit()
	states = append(states, w.fingerprint(repo, since))
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
	outer := newRepo(t)
	w := outer.at("inner")
	w.git("init", "-q")
	w.write("file", "x")
	head := w.committedAs()
	repo := w.find()
	w.must(os.Rename(w.path(".git"), outer.path("away")))
	if state, err := repo.Fingerprint(t.Context(), since); err == nil {
		t.Errorf("without its git folder it saw %+v", state)
	}
	w.must(os.Rename(outer.path("away"), w.path(".git")))
	if state := w.fingerprint(repo, since); state.Head != head {
		t.Errorf("HEAD is %s, want %s", state.Head, head)
	}
}

func TestFingerprintRunsNothingOfTheRepository(t *testing.T) {
	w := newRepo(t)
	repo := w.find()
	trap := "touch " + w.path(".git/sprung")
	w.write(".gitattributes", "* filter=a diff=b\nkept filter=c=d\n")
	w.write(".git/hooks/post-index-change", "#!/bin/sh\n"+trap+"\n")
	w.must(os.Chmod(w.path(".git/hooks/post-index-change"), 0o755))
	config := [][]string{
		{"filter.a.clean", trap + "; cat"}, {"filter.a.required", "true"}, {"filter.c=d.clean", trap + "; cat"},
		{"core.fsmonitor", trap}, {"diff.external", trap}, {"diff.b.command", trap}, {"diff.b.textconv", trap}, {"core.pager", trap},
	}
	for _, setting := range config {
		w.git("config", setting[0], setting[1])
	}
	w.write("kept", "two\n")
	w.write("new", "x\n")
	state := w.fingerprint(repo, ralph.TreeInput{})
	if _, err := repo.Changed(t.Context(), state.Head); err != nil {
		t.Fatal(err)
	}
	if state.Dirty != 3 {
		t.Errorf("%d dirty files, want 3", state.Dirty)
	}
	if _, err := os.Lstat(w.path(".git/sprung")); err == nil {
		t.Error("something of the repository was run")
	}
}

func TestFingerprintUsesTheUsersOwnFilters(t *testing.T) {
	w := newRepo(t)
	w.git("config", "filter.upper.clean", "tr a-z A-Z")
	w.write(".gitattributes", "text filter=upper\n")
	w.write("text", "x\n")
	w.commit()
	repo := w.find()
	w.git("config", "filter.other.clean", "false")
	w.write("text", "X\n") // the same to the filter
	if state := w.fingerprint(repo, since); state.Dirty != 0 {
		t.Errorf("got %+v", state)
	}
}

func TestFingerprintTakesNoLockAndWritesNothing(t *testing.T) {
	w := newRepo(t)
	repo := w.find()
	w.write("kept", "one\n") // stat differs, content does not: git would like to refresh the index
	w.age("kept")
	index, err := os.ReadFile(w.path(".git/index"))
	w.must(err)
	w.fingerprint(repo, since)
	after, err := os.ReadFile(w.path(".git/index"))
	w.must(err)
	if string(index) != string(after) {
		t.Error("the index was written")
	}
}

func TestGitThatHangsIsEnded(t *testing.T) {
	bin := newFolder(t)
	bin.program("git", "exec sleep 600")
	git := gitrepo.Git{Env: []string{"PATH=" + bin.dir + ":/usr/bin:/bin"}, Timeout: 10 * time.Millisecond}
	if _, ok, err := git.Find(t.Context(), newFolder(t).dir); ok || err == nil || !strings.Contains(err.Error(), "run git rev-parse: no end after 10ms") {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFingerprintEndsWithItsContext(t *testing.T) {
	if state, err := newRepo(t).find().Fingerprint(canceled(t), since); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", state, err)
	}
}
