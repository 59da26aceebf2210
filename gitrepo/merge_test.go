package gitrepo_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// workOn is a worktree with a commit that changes files; nothing in a file removes it.
func workOn(w gittest.Workspace, branch string, files map[string]string) gittest.Workspace {
	w.Helper()
	tree, _ := addWorktree(w, branch)
	for name, text := range files {
		if text == "" {
			w.Must(os.Remove(tree.Path(name)))
		}
	}
	for name, text := range files {
		if text != "" {
			tree.Write(name, text)
		}
	}
	tree.Commit()
	return tree
}

func mergeBy(w gittest.Workspace, git git.Program, branch string) gitrepo.MergeResult {
	w.Helper()
	repo, ok, err := gitrepo.Find(w.Context(), git, w.Dir)
	if !ok || err != nil {
		w.Fatal(ok, err)
	}
	got, err := repo.Merge(w.Context(), branch)
	w.Must(err)
	return got
}

func gits(t *testing.T) map[string]git.Program {
	return map[string]git.Program{"git as it is": gittest.Program(), "old git": gittest.OldGit(t)}
}

func TestMergeBringsWorkHome(t *testing.T) {
	for name, git := range gits(t) {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Write("untouched", "one")
			w.Commit()
			tree := workOn(w, "ralph/x", map[string]string{"new": "theirs", "kept": ""})
			w.Write("untouched", "changed by the user")
			w.Write("untracked", "x")
			theirs := tree.Git("rev-parse", "HEAD")
			want := gitrepo.MergeResult{End: gitrepo.MergeFastForward, Branch: "ralph/x", Into: "main", Commit: theirs}
			if diff := cmp.Diff(want, mergeBy(w, git, "ralph/x")); diff != "" {
				t.Errorf("first (-want +got)\n%s", diff)
			}
			want.End = gitrepo.MergeAlready
			if diff := cmp.Diff(want, mergeBy(w, git, "ralph/x")); diff != "" {
				t.Errorf("again (-want +got)\n%s", diff)
			}

			w.Write("ours", "x")
			w.Git("add", "ours")
			w.Git("commit", "-q", "-m", "ours")
			ours := w.Git("rev-parse", "HEAD")
			tree.Write("new", "theirs again")
			theirs = committedAs(tree)
			got := mergeBy(w, git, "ralph/x")
			want = gitrepo.MergeResult{
				End:    gitrepo.MergeCommitted,
				Branch: "ralph/x",
				Into:   "main",
				Commit: w.Git("rev-parse", "main"),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("second (-want +got)\n%s", diff)
			}
			if log := w.Git("log", "-1", "--format=%P %s %an"); log != ours+" "+theirs+" Merge branch 'ralph/x' a" {
				t.Errorf("log %q", log)
			}
			if status := w.Git("status", "--short"); status != "M untouched\n?? untracked" {
				t.Errorf("status %q", status)
			}
			content, err := os.ReadFile(w.Path("new"))
			if string(content) != "theirs again" || err != nil {
				t.Errorf("new is %q, %v", content, err)
			}
		})
	}
}

func TestMergeInOneFileWithoutConflict(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("kept", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	w.Commit()
	workOn(w, "ralph/x", map[string]string{"kept": "1\n2\n3\n4\n5\n6\n7\n8\ntheirs\n"})
	w.Write("kept", "ours\n2\n3\n4\n5\n6\n7\n8\n9\n")
	w.Commit()
	before := pictureOf(w)
	// What cannot be known without a working tree is left to the user.
	got := mergeBy(w, gittest.OldGit(t), "ralph/x")
	want := gitrepo.MergeResult{End: gitrepo.MergeConflict, Branch: "ralph/x", Into: "main", Files: []string{"kept"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("old git (-want +got)\n%s", diff)
	}
	unchanged(w, before)
	if got := mergeBy(w, gittest.Program(), "ralph/x"); got.End != gitrepo.MergeCommitted {
		t.Errorf("got %+v", got)
	}
	if got := w.Git("show", "HEAD:kept"); got != "ours\n2\n3\n4\n5\n6\n7\n8\ntheirs" {
		t.Errorf("got %q", got)
	}
}

func TestAMergeThatCannotBeTouchesNothing(t *testing.T) {
	cases := map[string]struct {
		theirs map[string]string
		act    func(w gittest.Workspace)
		end    gitrepo.MergeEnd
		files  []string
	}{
		"conflict": {map[string]string{"kept": "theirs\n", "new": "theirs\n", "fine": "x"}, func(w gittest.Workspace) {
			w.Write("kept", "ours\n")
			w.Write("new", "ours\n")
			w.Commit()
			w.Write("dirty", "x")
		}, gitrepo.MergeConflict, []string{"kept", "new"}},
		"conflict with an odd name": {map[string]string{"a\n\"é": "theirs\n"}, func(w gittest.Workspace) {
			w.Write("a\n\"é", "ours\n")
			w.Commit()
		}, gitrepo.MergeConflict, []string{"a\n\"é"}},
		"changed here, removed there": {map[string]string{"kept": ""}, func(w gittest.Workspace) {
			w.Write("kept", "ours\n")
			w.Commit()
		}, gitrepo.MergeConflict, []string{"kept"}},
		"dirty, fast-forward": {
			map[string]string{"kept": "theirs\n", "fine": "x"},
			func(w gittest.Workspace) { w.Write("kept", "not committed\n") },
			gitrepo.MergeInTheWay,
			[]string{"kept"},
		},
		"staged": {map[string]string{"kept": "theirs\n"}, func(w gittest.Workspace) {
			w.Write("kept", "staged\n")
			w.Git("add", "kept")
		}, gitrepo.MergeInTheWay, []string{"kept"}},
		"dirty, with a commit here": {map[string]string{"kept": "theirs\n"}, func(w gittest.Workspace) {
			w.Write("other", "x")
			w.Commit()
			w.Write("kept", "not committed\n")
		}, gitrepo.MergeInTheWay, []string{"kept"}},
		"untracked": {map[string]string{"new": "theirs\n"}, func(w gittest.Workspace) { w.Write("new", "not committed\n") },
			gitrepo.MergeInTheWay, []string{"new"}},
		"ignored": {map[string]string{"new": "theirs\n"}, func(w gittest.Workspace) {
			w.Write(".git/info/exclude", "new\n")
			w.Write("new", "precious\n")
		}, gitrepo.MergeInTheWay, []string{"new"}},
		"a file where a folder must be": {
			map[string]string{"new/a": "theirs\n", "new/b": "theirs\n"},
			func(w gittest.Workspace) { w.Write("new", "not committed\n") },
			gitrepo.MergeInTheWay,
			[]string{"new"},
		},
		"a file with changes where a folder must be": {
			map[string]string{"kept": "", "kept/file": "theirs\n"},
			func(w gittest.Workspace) { w.Write("kept", "not committed\n") },
			gitrepo.MergeInTheWay,
			[]string{"kept"},
		},
		"a folder where a file must be": {
			map[string]string{"new": "theirs\n"},
			func(w gittest.Workspace) { w.Write("new/file", "not committed\n") },
			gitrepo.MergeFailed,
			nil,
		},
	}
	for name, c := range cases {
		for which, git := range gits(t) {
			t.Run(name+", "+which, func(t *testing.T) {
				w := gittest.NewRepo(t)
				tree := workOn(w, "ralph/x", c.theirs)
				c.act(w)
				before, there := pictureOf(w), pictureOf(tree)
				got := mergeBy(w, git, "ralph/x")
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
					w.Must(os.Remove(w.Path(".git/ORIG_HEAD"))) // git's bookmark, written before it looks
				}
				unchanged(w, before)
				unchanged(tree, there)
			})
		}
	}
}

func TestMergeSwapsFilesAndFolders(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("folder/file", "x")
	w.Commit()
	workOn(w, "ralph/x", map[string]string{"kept": "", "kept/file": "theirs", "folder/file": ""})
	tree := gittest.Workspace{TB: t, Dir: beside(w, "ralph/x")}
	w.Must(os.RemoveAll(tree.Path("folder")))
	tree.Write("folder", "theirs")
	tree.Commit()
	if got := mergeBy(w, gittest.Program(), "ralph/x"); got.End != gitrepo.MergeFastForward {
		t.Errorf("got %+v", got)
	}
	if got := w.Git("ls-files"); got != "folder\nkept/file" {
		t.Errorf("got %q", got)
	}
	if status := w.Git("status", "--short"); status != "" {
		t.Errorf("status %q", status)
	}
}

func TestMergeRefuses(t *testing.T) {
	cases := map[string]struct {
		act    func(w gittest.Workspace)
		branch string
		want   gitrepo.ProblemKind
	}{
		"no such branch": {func(gittest.Workspace) {}, "ralph/y", gitrepo.ProblemBranchMissing},
		"no branch here": {
			func(w gittest.Workspace) { w.Git("checkout", "-q", "--detach") },
			"ralph/x",
			gitrepo.ProblemDetached,
		},
		"no commit here": {
			func(w gittest.Workspace) { w.Git("checkout", "-q", "--orphan", "new") },
			"ralph/x",
			gitrepo.ProblemDetached,
		},
		"another is under way": {
			func(w gittest.Workspace) { w.Write(".git/MERGE_HEAD", w.Git("rev-parse", "HEAD")) },
			"ralph/x",
			gitrepo.ProblemUnderWay,
		},
		"locked": {func(w gittest.Workspace) {
			w.Write(".git/index.lock", "")
			w.Age(".git/index.lock")
		}, "ralph/x", gitrepo.ProblemIndexLocked},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			workOn(w, "ralph/x", map[string]string{"new": "x"})
			c.act(w)
			before := w.Git("for-each-ref")
			_, err := w.Find().Merge(t.Context(), c.branch)
			gittest.Refused(t, err, c.want)
			if after := w.Git("for-each-ref"); after != before {
				t.Errorf("before %s after %s", before, after)
			}
		})
	}
}

func TestMergeOfNobodyRefusesAndNamesTheFix(t *testing.T) {
	w := gittest.NewRepo(t)
	workOn(w, "ralph/x", map[string]string{"new": "x"})
	w.Commit()
	w.Git("config", "user.useConfigOnly", "true")
	before := pictureOf(w)
	repo, ok, err := gitrepo.Find(t.Context(), git.Program{Env: gittest.Environment()[:4]}, w.Dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	_, err = repo.Merge(t.Context(), "ralph/x")
	gittest.Refused(t, err, gitrepo.ProblemNoIdentity, "git config --global user.name")
	unchanged(w, before)
}

func TestMergeWithASignatureThatFailsTouchesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	workOn(w, "ralph/x", map[string]string{"new": "x"})
	w.Commit()
	w.Git("config", "commit.gpgSign", "true")
	w.Git("config", "gpg.program", "false")
	before := pictureOf(w)
	if got := mergeBy(w, gittest.Agreeing(), "ralph/x"); got.End != gitrepo.MergeFailed ||
		!strings.Contains(got.Output, "gpg failed to sign") {
		t.Errorf("got %+v", got)
	}
	unchanged(w, before)
}

func TestWhatAMergeWouldLeaveBehind(t *testing.T) {
	w := gittest.NewRepo(t)
	tree := workOn(w, "ralph/x", map[string]string{"new": "x"})
	tree.Write("late", "x")
	for branch, want := range map[string]int{"ralph/x": 1, "ralph/none": 0, "main": 0} {
		got, err := w.Find().Worktrees().Uncommitted(t.Context(), branch)
		w.Must(err)
		if got != want {
			t.Errorf("%s: %d changes, want %d", branch, got, want)
		}
	}
}

func TestMergeRunsTheUsersHookAndStashesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "merge.autoStash", "true")
	w.Git("config", "merge.ff", "false")
	w.Script(".git/hooks/post-merge", "touch .git/merged; echo noise; exit 1")
	workOn(w, "ralph/x", map[string]string{"new": "x"})
	w.Write("kept", "not committed")
	if got := mergeBy(w, gittest.Program(), "ralph/x"); got.End != gitrepo.MergeFastForward {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(w.Path(".git/merged")); err != nil {
		t.Error(err)
	}
	if stash := w.Git("stash", "list"); stash != "" {
		t.Errorf("stash %s", stash)
	}
}

func TestMergeWithAHookThatCommits(t *testing.T) {
	for script, want := range map[string]gitrepo.MergeEnd{
		"git commit -q --allow-empty -m more":   gitrepo.MergeFastForward,
		"git reset -q --hard 'HEAD@{1}'":        gitrepo.MergeFailed,
		"git reset -q --hard ORIG_HEAD; exit 1": gitrepo.MergeFailed,
	} {
		w := gittest.NewRepo(t)
		w.Script(".git/hooks/post-merge", script)
		workOn(w, "ralph/x", map[string]string{"new": "x"})
		got := mergeBy(w, gittest.Program(), "ralph/x")
		if got.End != want || (got.Output == "") != want.Merged() ||
			want.Merged() && got.Commit != w.Git("rev-parse", "HEAD") {
			t.Errorf("%s: got %+v", script, got)
		}
	}
}
