package gitrepo_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
)

// workOn is a worktree with a commit that changes files; nothing in a file removes it.
func (w workspace) workOn(branch string, files map[string]string) workspace {
	w.Helper()
	tree, _ := w.worktree(branch)
	for name, text := range files {
		if text == "" {
			w.must(os.Remove(tree.path(name)))
		}
	}
	for name, text := range files {
		if text != "" {
			tree.write(name, text)
		}
	}
	tree.commit()
	return tree
}

func (w workspace) merge(git gitrepo.Git, branch string) gitrepo.MergeResult {
	w.Helper()
	repo, ok, err := git.Find(w.Context(), w.dir)
	if !ok || err != nil {
		w.Fatal(ok, err)
	}
	got, err := repo.Merge(w.Context(), branch)
	w.must(err)
	return got
}

func gits(t *testing.T) map[string]gitrepo.Git {
	return map[string]gitrepo.Git{"git as it is": program(), "old git": oldGit(t)}
}

func TestMergeBringsWorkHome(t *testing.T) {
	for name, git := range gits(t) {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			w.write("untouched", "one")
			w.commit()
			tree := w.workOn("ralph/x", map[string]string{"new": "theirs", "kept": ""})
			w.write("untouched", "changed by the user")
			w.write("untracked", "x")
			theirs := tree.git("rev-parse", "HEAD")
			want := gitrepo.MergeResult{End: gitrepo.MergeFastForward, Branch: "ralph/x", Into: "main", Commit: theirs}
			if diff := cmp.Diff(want, w.merge(git, "ralph/x")); diff != "" {
				t.Errorf("first (-want +got)\n%s", diff)
			}
			want.End = gitrepo.MergeAlready
			if diff := cmp.Diff(want, w.merge(git, "ralph/x")); diff != "" {
				t.Errorf("again (-want +got)\n%s", diff)
			}

			w.write("ours", "x")
			w.git("add", "ours")
			w.git("commit", "-q", "-m", "ours")
			ours := w.git("rev-parse", "HEAD")
			tree.write("new", "theirs again")
			theirs = tree.committedAs()
			got := w.merge(git, "ralph/x")
			want = gitrepo.MergeResult{End: gitrepo.MergeCommitted, Branch: "ralph/x", Into: "main", Commit: w.git("rev-parse", "main")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("second (-want +got)\n%s", diff)
			}
			if log := w.git("log", "-1", "--format=%P %s %an"); log != ours+" "+theirs+" Merge branch 'ralph/x' a" {
				t.Errorf("log %q", log)
			}
			if status := w.git("status", "--short"); status != "M untouched\n?? untracked" {
				t.Errorf("status %q", status)
			}
			content, err := os.ReadFile(w.path("new"))
			if string(content) != "theirs again" || err != nil {
				t.Errorf("new is %q, %v", content, err)
			}
		})
	}
}

func TestMergeInOneFileWithoutConflict(t *testing.T) {
	w := newRepo(t)
	w.write("kept", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	w.commit()
	w.workOn("ralph/x", map[string]string{"kept": "1\n2\n3\n4\n5\n6\n7\n8\ntheirs\n"})
	w.write("kept", "ours\n2\n3\n4\n5\n6\n7\n8\n9\n")
	w.commit()
	before := w.picture()
	// What cannot be known without a working tree is left to the user.
	got := w.merge(oldGit(t), "ralph/x")
	want := gitrepo.MergeResult{End: gitrepo.MergeConflict, Branch: "ralph/x", Into: "main", Files: []string{"kept"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("old git (-want +got)\n%s", diff)
	}
	w.unchanged(before)
	if got := w.merge(program(), "ralph/x"); got.End != gitrepo.MergeCommitted {
		t.Errorf("got %+v", got)
	}
	if got := w.git("show", "HEAD:kept"); got != "ours\n2\n3\n4\n5\n6\n7\n8\ntheirs" {
		t.Errorf("got %q", got)
	}
}

func TestAMergeThatCannotBeTouchesNothing(t *testing.T) {
	cases := map[string]struct {
		theirs map[string]string
		act    func(w workspace)
		end    gitrepo.MergeEnd
		files  []string
	}{
		"conflict": {map[string]string{"kept": "theirs\n", "new": "theirs\n", "fine": "x"}, func(w workspace) {
			w.write("kept", "ours\n")
			w.write("new", "ours\n")
			w.commit()
			w.write("dirty", "x")
		}, gitrepo.MergeConflict, []string{"kept", "new"}},
		"conflict with an odd name": {map[string]string{"a\n\"é": "theirs\n"}, func(w workspace) {
			w.write("a\n\"é", "ours\n")
			w.commit()
		}, gitrepo.MergeConflict, []string{"a\n\"é"}},
		"changed here, removed there": {map[string]string{"kept": ""}, func(w workspace) {
			w.write("kept", "ours\n")
			w.commit()
		}, gitrepo.MergeConflict, []string{"kept"}},
		"dirty, fast-forward": {map[string]string{"kept": "theirs\n", "fine": "x"}, func(w workspace) { w.write("kept", "not committed\n") },
			gitrepo.MergeInTheWay, []string{"kept"}},
		"staged": {map[string]string{"kept": "theirs\n"}, func(w workspace) {
			w.write("kept", "staged\n")
			w.git("add", "kept")
		}, gitrepo.MergeInTheWay, []string{"kept"}},
		"dirty, with a commit here": {map[string]string{"kept": "theirs\n"}, func(w workspace) {
			w.write("other", "x")
			w.commit()
			w.write("kept", "not committed\n")
		}, gitrepo.MergeInTheWay, []string{"kept"}},
		"untracked": {map[string]string{"new": "theirs\n"}, func(w workspace) { w.write("new", "not committed\n") },
			gitrepo.MergeInTheWay, []string{"new"}},
		"ignored": {map[string]string{"new": "theirs\n"}, func(w workspace) {
			w.write(".git/info/exclude", "new\n")
			w.write("new", "precious\n")
		}, gitrepo.MergeInTheWay, []string{"new"}},
		"a file where a folder must be": {map[string]string{"new/a": "theirs\n", "new/b": "theirs\n"}, func(w workspace) { w.write("new", "not committed\n") },
			gitrepo.MergeInTheWay, []string{"new"}},
		"a file with changes where a folder must be": {map[string]string{"kept": "", "kept/file": "theirs\n"}, func(w workspace) { w.write("kept", "not committed\n") },
			gitrepo.MergeInTheWay, []string{"kept"}},
		"a folder where a file must be": {map[string]string{"new": "theirs\n"}, func(w workspace) { w.write("new/file", "not committed\n") },
			gitrepo.MergeFailed, nil},
	}
	for name, c := range cases {
		for which, git := range gits(t) {
			t.Run(name+", "+which, func(t *testing.T) {
				w := newRepo(t)
				tree := w.workOn("ralph/x", c.theirs)
				c.act(w)
				before, there := w.picture(), tree.picture()
				got := w.merge(git, "ralph/x")
				if c.end == gitrepo.MergeFailed && got.Output == "" {
					t.Error("it does not say why")
				}
				got.Output = ""
				want := gitrepo.MergeResult{End: c.end, Branch: "ralph/x", Into: "main", Files: c.files}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				if got.End.Merged() {
					t.Error("it counts as merged")
				}
				if c.end == gitrepo.MergeFailed {
					w.must(os.Remove(w.path(".git/ORIG_HEAD"))) // git's bookmark, written before it looks
				}
				w.unchanged(before)
				tree.unchanged(there)
			})
		}
	}
}

func TestMergeSwapsFilesAndFolders(t *testing.T) {
	w := newRepo(t)
	w.write("folder/file", "x")
	w.commit()
	w.workOn("ralph/x", map[string]string{"kept": "", "kept/file": "theirs", "folder/file": ""})
	tree := workspace{t, w.beside("ralph/x")}
	w.must(os.RemoveAll(tree.path("folder")))
	tree.write("folder", "theirs")
	tree.commit()
	if got := w.merge(program(), "ralph/x"); got.End != gitrepo.MergeFastForward {
		t.Errorf("got %+v", got)
	}
	if got := w.git("ls-files"); got != "folder\nkept/file" {
		t.Errorf("got %q", got)
	}
	if status := w.git("status", "--short"); status != "" {
		t.Errorf("status %q", status)
	}
}

func TestMergeRefuses(t *testing.T) {
	cases := map[string]struct {
		act    func(w workspace)
		branch string
		want   gitrepo.ProblemKind
	}{
		"no such branch":       {func(workspace) {}, "ralph/y", gitrepo.ProblemBranchMissing},
		"no branch here":       {func(w workspace) { w.git("checkout", "-q", "--detach") }, "ralph/x", gitrepo.ProblemDetached},
		"no commit here":       {func(w workspace) { w.git("checkout", "-q", "--orphan", "new") }, "ralph/x", gitrepo.ProblemDetached},
		"another is under way": {func(w workspace) { w.write(".git/MERGE_HEAD", w.git("rev-parse", "HEAD")) }, "ralph/x", gitrepo.ProblemUnderWay},
		"locked": {func(w workspace) {
			w.write(".git/index.lock", "")
			w.age(".git/index.lock")
		}, "ralph/x", gitrepo.ProblemIndexLocked},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			w.workOn("ralph/x", map[string]string{"new": "x"})
			c.act(w)
			before := w.git("for-each-ref")
			_, err := w.find().Merge(t.Context(), c.branch)
			refused(t, err, c.want)
			if after := w.git("for-each-ref"); after != before {
				t.Errorf("before %s after %s", before, after)
			}
		})
	}
}

func TestMergeOfNobodyRefusesAndNamesTheFix(t *testing.T) {
	w := newRepo(t)
	w.workOn("ralph/x", map[string]string{"new": "x"})
	w.commit()
	w.git("config", "user.useConfigOnly", "true")
	before := w.picture()
	repo, ok, err := gitrepo.Git{Env: environment()[:4]}.Find(t.Context(), w.dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err = repo.Merge(t.Context(), "ralph/x")
	refused(t, err, gitrepo.ProblemNoIdentity, "git config --global user.name")
	w.unchanged(before)
}

func TestMergeWithASignatureThatFailsTouchesNothing(t *testing.T) {
	w := newRepo(t)
	w.workOn("ralph/x", map[string]string{"new": "x"})
	w.commit()
	w.git("config", "commit.gpgSign", "true")
	w.git("config", "gpg.program", "false")
	before := w.picture()
	if got := w.merge(program(), "ralph/x"); got.End != gitrepo.MergeFailed || !strings.Contains(got.Output, "gpg failed to sign") {
		t.Errorf("got %+v", got)
	}
	w.unchanged(before)
}

func TestMergeSaysWhatItLeavesBehind(t *testing.T) {
	w := newRepo(t)
	tree := w.workOn("ralph/x", map[string]string{"new": "x"})
	tree.write("late", "x")
	got := w.merge(program(), "ralph/x")
	if diff := cmp.Diff([]string{"1 change is in " + tree.dir + " not committed, and so not merged"}, got.Said); diff != "" || !got.End.Merged() {
		t.Errorf("got %+v (-want +got)\n%s", got, diff)
	}
}

func TestMergeRunsTheUsersHookAndStashesNothing(t *testing.T) {
	w := newRepo(t)
	w.git("config", "merge.autoStash", "true")
	w.git("config", "merge.ff", "false")
	w.program(".git/hooks/post-merge", "touch .git/merged; echo noise; exit 1")
	w.workOn("ralph/x", map[string]string{"new": "x"})
	w.write("kept", "not committed")
	if got := w.merge(program(), "ralph/x"); got.End != gitrepo.MergeFastForward {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(w.path(".git/merged")); err != nil {
		t.Error(err)
	}
	if stash := w.git("stash", "list"); stash != "" {
		t.Errorf("stash %s", stash)
	}
}

func TestMergeWithAHookThatCommits(t *testing.T) {
	for script, want := range map[string]gitrepo.MergeEnd{
		"git commit -q --allow-empty -m more":   gitrepo.MergeFastForward,
		"git reset -q --hard 'HEAD@{1}'":        gitrepo.MergeFailed,
		"git reset -q --hard ORIG_HEAD; exit 1": gitrepo.MergeFailed,
	} {
		w := newRepo(t)
		w.program(".git/hooks/post-merge", script)
		w.workOn("ralph/x", map[string]string{"new": "x"})
		got := w.merge(program(), "ralph/x")
		if got.End != want || (got.Output == "") != want.Merged() || want.Merged() && got.Commit != w.git("rev-parse", "HEAD") {
			t.Errorf("%s: got %+v", script, got)
		}
	}
}
