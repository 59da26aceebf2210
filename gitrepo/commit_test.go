package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// committer is one that is not patient.
func newCommitter(w gittest.Workspace) *gitrepo.Committer {
	w.Helper()
	return committerWith(w, gitrepo.CommitOptions{LockPatience: 100 * time.Millisecond})
}

func committerWith(w gittest.Workspace, o gitrepo.CommitOptions) *gitrepo.Committer {
	w.Helper()
	c, err := w.Find().Committer(w.Context(), o)
	w.Must(err)
	return c
}

func commitBy(w gittest.Workspace, c *gitrepo.Committer) ralph.CommitResult {
	w.Helper()
	result, err := c.Commit(w.Context(), "subject\n\nbody\n")
	w.Must(err)
	return result
}

// committed commits and fails the test if that did not work.
func commitNow(w gittest.Workspace) ralph.CommitResult {
	w.Helper()
	result := commitBy(w, newCommitter(w))
	if want := (ralph.CommitResult{Commit: w.Git("rev-parse", "HEAD"), Subject: "subject"}); !cmp.Equal(want, result) {
		w.Fatalf("got %+v, want %+v", result, want)
	}
	return result
}

// picture is all that a failed commit or merge must not change.
type picture struct{ Refs, Index, Files, State string }

func pictureOf(w gittest.Workspace) picture {
	w.Helper()
	var files strings.Builder
	entries := strings.Split(w.Git("ls-files", "-z", "--cached", "--others"), "\x00")
	for _, name := range entries {
		content, err := os.ReadFile(w.Path(name))
		files.WriteString(name + "=" + string(content) + errorText(err) + "\n")
	}
	var state []string
	for _, name := range []string{"MERGE_HEAD", "MERGE_MSG", "ORIG_HEAD", "index.lock", "HEAD.lock"} {
		if _, err := os.Lstat(w.Path(".git/" + name)); err == nil {
			state = append(state, name)
		}
	}
	return picture{
		Refs:  w.Git("for-each-ref") + "\n" + w.Git("rev-parse", "--symbolic-full-name", "HEAD"),
		Index: w.Git("ls-files", "--stage"), Files: files.String(), State: strings.Join(state, " "),
	}
}

func errorText(err error) string {
	if err != nil {
		return "?"
	}
	return ""
}

func unchanged(w gittest.Workspace, before picture) {
	w.Helper()
	if diff := cmp.Diff(before, pictureOf(w)); diff != "" {
		w.Errorf("(-before +after)\n%s", diff)
	}
}

func TestCommitTakesEveryChangeOfTheWorkspace(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".gitignore", "ignored\n")
	w.Write("gone", "x")
	w.Commit()
	w.Write("kept", "two\n")
	w.Write("new/file", "x")
	w.Write("ignored", "x")
	w.Write(".ralph/progress.md", "x")
	w.Write(".ralph/PROMPT.md", "x")
	w.Must(os.Remove(w.Path("gone")))
	result := commitNow(w)
	if got, want := w.Git("show", "--format=%B%an", "--no-renames", "--name-status",
		result.Commit), "subject\n\nbody\na\n\nA\t.ralph/PROMPT.md\nD\tgone\nM\tkept\nA\tnew/file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := w.Git("status", "--short"); got != "?? .ralph/progress.md" {
		t.Errorf("left is %q", got)
	}
}

// Git complains about an ignored file that is named, even if it is named to be left out.
func TestCommitWithAnIgnoredView(t *testing.T) {
	for _, ignored := range []string{".ralph/progress.md\n", ".ralph/\n", "*.md\n"} {
		t.Run(ignored, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Write(".gitignore", ignored)
			w.Write(".ralph/progress.md", "x")
			commitNow(w)
			if got := w.Git("ls-files"); got != ".gitignore\nkept" {
				t.Errorf("committed is %q", got)
			}
		})
	}
}

func TestCommitWithoutAChangeIsNone(t *testing.T) {
	w := gittest.NewRepo(t)
	c := newCommitter(w)
	w.Write(".ralph/progress.md", "x")
	w.Age("kept")
	before := pictureOf(w)
	if got := commitBy(w, c); !cmp.Equal(got, ralph.CommitResult{}) {
		t.Errorf("got %+v", got)
	}
	unchanged(w, before)
}

func TestTheFirstCommit(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Git("init", "-q", "-b", "main")
	if got := commitBy(w, newCommitter(w)); !cmp.Equal(got, ralph.CommitResult{}) {
		t.Errorf("of nothing: got %+v", got)
	}
	w.Write("file", "x")
	commitNow(w)
}

func TestCommitOfAWorkspaceLeavesTheRestOfTheRepositoryAlone(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("below/file", "x")
	w.Write("other", "x")
	w.Commit()
	w.Write("other", "staged")
	w.Write("new", "staged")
	w.Git("add", "-A")
	w.Write("other", "not staged")
	w.Write("below/file", "changed")
	w.Write("below/.ralph/progress.md", "x")
	below := gittest.Workspace{TB: t, Dir: w.Path("below")}
	result := commitNow(below)
	if got := w.Git("show", "--format=", "--name-status", result.Commit); got != "M\tbelow/file" {
		t.Errorf("committed is %q", got)
	}
	if got := w.Git("status", "--short"); got != "A  new\nMM other\n?? below/.ralph/" {
		t.Errorf("left is %q", got)
	}
}

func TestCommitInAWorktreeIsOnItsBranch(t *testing.T) {
	w := gittest.NewRepo(t)
	main := w.Git("rev-parse", "HEAD")
	tree, _ := addWorktree(w, "ralph/x")
	tree.Write("new", "x")
	result := commitNow(tree)
	if got := w.Git("rev-parse", "ralph/x", "main"); got != result.Commit+"\n"+main {
		t.Errorf("got %q", got)
	}
}

// TestAHookThatChangesFilesAndIsContent: what was checked before is not what is there.
func TestAHookThatChangesFilesAndIsContent(t *testing.T) {
	for script, changed := range map[string]bool{
		"echo noise; touch below/file":                      false,
		"echo formatted >below/file; git add below/file":    true,
		"echo not staged >below/file":                       true,
		"echo new >below/new":                               true,
		"rm below/file":                                     true,
		"chmod +x below/file":                               true,
		"git rm -q --cached below/file":                     true,
		"echo x >below/.ralph/progress.md; echo x >ignored": false,
	} {
		for _, folder := range []string{"", "below"} {
			w := gittest.NewRepo(t)
			w.Write(".gitignore", "ignored\n.ralph/\n")
			w.Write("below/file", "one\n")
			w.Write("below/.ralph/progress.md", "x\n")
			w.Commit()
			w.Script(".git/hooks/pre-commit", script)
			w.Write("below/file", "two\n")
			in := gittest.Workspace{TB: t, Dir: w.Path(folder)}
			if got := commitBy(in, newCommitter(in)); got.Failed || got.Commit == "" || got.Changed != changed {
				t.Errorf("%s in %q: got %+v", script, folder, got)
			}
		}
	}
}

func TestHooksFindTheUsersEnvironment(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(
		".git/hooks/pre-commit",
		`test "$LANG $LANGUAGE $GIT_DIR$GIT_WORK_TREE$LC_ALL$GIT_ALLOW_PROTOCOL" = "xx en " || { env; exit 1; }`+
			"\ncat >/dev/null",
	)
	w.Write("kept", "two\n")
	git := gittest.Program()
	git.Env = append(git.Env, "LANG=xx", "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere")
	repo, ok, err := gitrepo.Find(t.Context(), git, w.Dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
	w.Must(err)
	if got := commitBy(w, c); got.Failed || got.Commit == "" {
		t.Errorf("got %+v", got)
	}
}

// TestACommitThatFailsChangesNothing: not even what was staged before.
var aWhile = regexp.MustCompile(`for \d+s;`)

func TestACommitThatFailsChangesNothing(t *testing.T) {
	cases := map[string]struct {
		prepare func(w gittest.Workspace) // before an agent starts
		act     func(w gittest.Workspace) // by the agent
		want    string                    // how the output begins
		holds   string                    // and what is in it
	}{
		"hook refuses": {
			prepare: func(w gittest.Workspace) { w.Script(".git/hooks/pre-commit", "echo no tabs please >&2; exit 3") },
			want:    "git commit was refused, probably by a hook (exit 1)\n", holds: "no tabs please",
		},
		"hook changes the index and refuses": {
			prepare: func(w gittest.Workspace) { w.Script(".git/hooks/pre-commit", "git rm -q --cached kept; exit 1") },
			want:    "git commit was refused, probably by a hook (exit 1)",
		},
		"message is refused": {
			prepare: func(w gittest.Workspace) { w.Script(".git/hooks/commit-msg", "cat $1; exit 1") },
			want:    "git commit was refused, probably by a hook (exit 1)\n", holds: "subject\n\nbody",
		},
		"signature fails": {
			prepare: func(w gittest.Workspace) {
				w.Git("config", "commit.gpgSign", "true")
				w.Git("config", "gpg.program", "false")
			},
			want: "git commit failed with exit 128\n", holds: "gpg failed to sign",
		},
		"a lock that stays": {
			act:  func(w gittest.Workspace) { w.Write(".git/index.lock", "") },
			want: "another git process has held ", holds: "index.lock for 0s; if no git process is running, remove that file",
		},
		"a merge is under way": {
			act: func(w gittest.Workspace) {
				w.Git("stash", "-q")
				w.Git("switch", "-q", "-c", "other")
				w.Write("other", "x")
				w.Commit()
				w.Git("switch", "-q", "main")
				w.Commit()
				w.Git("merge", "-q", "--no-commit", "other")
			},
			want: "a merge is in progress in ", holds: "git merge --abort",
		},
		"conflicts": {
			act: func(w gittest.Workspace) {
				w.Write("kept", "mine\n")
				w.Git("stash", "-q")
				w.Write("kept", "other\n")
				w.Commit()
				runProgram(w, "git", "stash", "pop")
			},
			want: "there are unresolved conflicts in kept",
		},
		"a nested repository without a commit": {
			act:  func(w gittest.Workspace) { w.At("nested").Git("init", "-q") },
			want: "git add failed with exit 128\n", holds: "nested",
		},
		"another program signs": {
			act:  func(w gittest.Workspace) { w.Git("config", "gpg.ssh.program", w.Path("evil")) },
			want: "the commit signing program changed since the start: ",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			if c.prepare != nil {
				c.prepare(w)
			}
			committer, err := w.FindBy(gittest.Agreeing()).
				Committer(t.Context(), gitrepo.CommitOptions{LockPatience: 100 * time.Millisecond})
			w.Must(err)
			w.Write("staged", "one")
			w.Git("add", "-A")
			w.Write("staged", "two")
			w.Write("new", "x")
			if c.act != nil {
				c.act(w)
			}
			before := pictureOf(w)
			got := commitBy(w, committer)
			got.Output = aWhile.ReplaceAllString(got.Output, "for 0s;") // on a slow machine the lock is older
			if !got.Failed || got.Commit != "" || !strings.HasPrefix(got.Output, c.want) ||
				!strings.Contains(got.Output, c.holds) {
				t.Errorf("got %+v", got)
			}
			unchanged(w, before)
		})
	}
}

func TestACommitOfNobodyFailsAndNamesTheFix(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "user.useConfigOnly", "true")
	repo, ok, err := gitrepo.Find(t.Context(), git.Program{Env: gittest.Environment()[:4]}, w.Dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
	w.Must(err)
	w.Write("new", "x")
	before := pictureOf(w)
	got := commitBy(w, c)
	if !got.Failed ||
		!strings.Contains(got.Output, `git config --global user.name "Your Name" && git config --global user.email`) {
		t.Errorf("got %+v", got)
	}
	unchanged(w, before)
}

func TestTheIndexIsPutBackAlsoIfThereWasNone(t *testing.T) {
	w := gittest.NewFolder(t)
	w.Git("init", "-q", "-b", "main")
	w.Script(".git/hooks/pre-commit", "exit 1")
	w.Write("file", "x")
	if got := commitBy(w, newCommitter(w)); !got.Failed {
		t.Errorf("got %+v", got)
	}
	if got := w.Git("status", "--short"); got != "?? file" {
		t.Errorf("left is %q", got)
	}
	if _, err := os.Lstat(w.Path(".git/index.lock")); err == nil {
		t.Error("a lock is left")
	}
}

func TestALockThatGoesIsWaitedFor(t *testing.T) {
	w := gittest.NewRepo(t)
	c := committerWith(w, gitrepo.CommitOptions{LockPatience: time.Minute})
	w.Write("new", "x")
	w.Write(".git/index.lock", "")
	gone := make(chan error)
	go func() { gone <- os.Remove(w.Path(".git/index.lock")) }()
	if got := commitBy(w, c); got.Failed || got.Commit == "" {
		t.Errorf("got %+v", got)
	}
	w.Must(<-gone)
}

func TestHooksThatAnAgentPlantsAreNotRun(t *testing.T) {
	cases := map[string]struct {
		act  func(w gittest.Workspace)
		want string
	}{
		"a new one": {
			func(w gittest.Workspace) { w.Script(".git/hooks/post-commit", "touch .git/sprung") },
			"post-commit",
		},
		"a gate":        {func(w gittest.Workspace) { w.Script(".git/hooks/pre-commit", "touch .git/sprung") }, "pre-commit"},
		"a changed one": {func(w gittest.Workspace) { w.Script(".git/hooks/post-merge", "touch .git/sprung") }, "post-merge"},
		"another folder": {func(w gittest.Workspace) {
			w.Script("hooks/pre-commit", "touch .git/sprung")
			w.Git("config", "core.hooksPath", "hooks")
		}, "those of "},
		"one that is no program any more": {
			func(w gittest.Workspace) { w.Must(os.Chmod(w.Path(".git/hooks/post-merge"), 0o644)) },
			"post-merge",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Script(".git/hooks/post-merge", "true")
			committer := newCommitter(w)
			w.Write("kept", "two\n")
			c.act(w)
			got := commitBy(w, committer)
			if got.Failed || got.Commit == "" ||
				!strings.HasPrefix(got.Output, "no hooks ran because some were added or changed after the start: "+c.want) {
				t.Errorf("got %+v", got)
			}
			if _, err := os.Lstat(w.Path(".git/sprung")); err == nil {
				t.Error("it was run")
			}
		})
	}
}

func TestHooksThatAnAgentRemovesAreToldOf(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/post-merge", "exit 1")
	w.Script(".git/hooks/post-commit", "touch .git/run")
	c := newCommitter(w)
	w.Write("kept", "two\n")
	w.Must(os.Remove(w.Path(".git/hooks/post-merge")))
	if got := commitBy(w, c); got.Commit == "" || got.Output != "hooks removed since the start: post-merge" {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(w.Path(".git/run")); err != nil {
		t.Error("the one that stayed was not run")
	}
}

func TestNobodyGetsPastAHookThatRefuses(t *testing.T) {
	for name, act := range map[string]func(w gittest.Workspace){
		"removed":         func(w gittest.Workspace) { w.Must(os.Remove(w.Path(".git/hooks/pre-commit"))) },
		"changed":         func(w gittest.Workspace) { w.Script(".git/hooks/pre-commit", "true") },
		"no program":      func(w gittest.Workspace) { w.Must(os.Chmod(w.Path(".git/hooks/pre-commit"), 0o644)) },
		"one beside it":   func(w gittest.Workspace) { w.Script(".git/hooks/post-commit", "true") },
		"another folder":  func(w gittest.Workspace) { w.Git("config", "core.hooksPath", "elsewhere") },
		"as it was there": func(gittest.Workspace) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Script(".git/hooks/pre-commit", "echo not like this; exit 1")
			c := newCommitter(w)
			w.Write("kept", "two\n")
			act(w)
			if got := commitBy(w, c); !got.Failed || got.Commit != "" ||
				!strings.Contains(got.Output, "pre-commit") && !strings.Contains(got.Output, "not like this") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestHooksOfTheProjectAreRunAsTheyStand(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "core.hooksPath", ".husky")
	w.Script(".husky/pre-commit", "exit 0")
	c := newCommitter(w)
	w.Script(".husky/pre-commit", "echo changed; exit 1")
	if got := commitBy(w, c); !got.Failed || !strings.HasSuffix(got.Output, "changed") {
		t.Errorf("got %+v", got)
	}
}

func TestFiltersThatAnAgentPlantsAreNotRunByACommit(t *testing.T) {
	w := gittest.NewRepo(t)
	c := newCommitter(w)
	w.Git("config", "filter.evil.clean", "touch .git/sprung; cat")
	w.Write(".gitattributes", "* filter=evil\n")
	w.Write("kept", "two\n")
	if got := commitBy(w, c); got.Failed || got.Commit == "" {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(w.Path(".git/sprung")); err == nil {
		t.Error("it was run")
	}
}

func TestARepositoryThatWasReplacedGetsNoCommit(t *testing.T) {
	cases := map[string]func(w gittest.Workspace){
		"gone":     func(w gittest.Workspace) { w.Must(os.Rename(w.Path(".git"), w.Path("../away"))) },
		"replaced": func(w gittest.Workspace) { w.Write(".git", "gitdir: "+gittest.NewRepo(w.TB).Path(".git")+"\n") },
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewFolder(t).At("repo")
			w.Git("init", "-q", "-b", "main")
			w.Commit()
			c := newCommitter(w)
			w.Write("new", "x")
			if name == "replaced" {
				w.Must(os.Rename(w.Path(".git"), w.Path("../away")))
			}
			act(w)
			if got := commitBy(w, c); !got.Failed || !strings.Contains(got.Output, "is no longer the one from the start") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestALongOutputKeepsItsEnd(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/pre-commit", `i=0; while [ $i -lt 3000 ]; do echo "line é $i"; i=$((i+1)); done; exit 1`)
	w.Write("new", "x")
	got := commitBy(w, newCommitter(w))
	_, output, _ := strings.Cut(got.Output, "\n")
	if n := len([]rune(output)); n != 4000 || !strings.HasSuffix(output, "line é 2999") {
		t.Errorf("%d characters that end with %q", n, output[max(0, len(output)-20):])
	}
}

// canceledCommit commits until a hook is under way.
func canceledCommit(w gittest.Workspace) (ralph.CommitResult, error) {
	w.Helper()
	c := newCommitter(w)
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Lstat(w.Path(".git/here")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return c.Commit(ctx, "x")
}

func TestACanceledCommitIsAnErrorAndChangesNothing(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/pre-commit", "touch .git/here; exec sleep 600")
	w.Write("new", "x")
	before := pictureOf(w)
	if got, err := canceledCommit(w); !errors.Is(err, context.Canceled) || got.Commit != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	unchanged(w, before)
}

func TestACommitThatIsCanceledAfterItWasMade(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/post-commit", "touch .git/here; exec sleep 600")
	w.Write("new", "x")
	if got, err := canceledCommit(w); !errors.Is(err, context.Canceled) || got.Commit != w.Git("rev-parse", "HEAD") {
		t.Errorf("got %+v, %v", got, err)
	}
	if status := w.Git("status", "--short"); status != "" {
		t.Errorf("left is %q", status)
	}
}
