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
)

// committer is one that is not patient.
func (w workspace) committer() *gitrepo.Committer {
	w.Helper()
	return w.committerWith(gitrepo.CommitOptions{LockPatience: 100 * time.Millisecond})
}

func (w workspace) committerWith(o gitrepo.CommitOptions) *gitrepo.Committer {
	w.Helper()
	c, err := w.find().Committer(w.Context(), o)
	w.must(err)
	return c
}

func (w workspace) commitBy(c *gitrepo.Committer) ralph.CommitResult {
	w.Helper()
	result, err := c.Commit(w.Context(), "subject\n\nbody\n")
	w.must(err)
	return result
}

// committed commits and fails the test if that did not work.
func (w workspace) committed() ralph.CommitResult {
	w.Helper()
	result := w.commitBy(w.committer())
	if want := (ralph.CommitResult{Commit: w.git("rev-parse", "HEAD"), Subject: "subject"}); !cmp.Equal(want, result) {
		w.Fatalf("got %+v, want %+v", result, want)
	}
	return result
}

// picture is all that a failed commit or merge must not change.
type picture struct{ Refs, Index, Files, State string }

func (w workspace) picture() picture {
	w.Helper()
	var files strings.Builder
	entries := strings.Split(w.git("ls-files", "-z", "--cached", "--others"), "\x00")
	for _, name := range entries {
		content, err := os.ReadFile(w.path(name))
		files.WriteString(name + "=" + string(content) + errorText(err) + "\n")
	}
	var state []string
	for _, name := range []string{"MERGE_HEAD", "MERGE_MSG", "ORIG_HEAD", "index.lock", "HEAD.lock"} {
		if _, err := os.Lstat(w.path(".git/" + name)); err == nil {
			state = append(state, name)
		}
	}
	return picture{
		Refs:  w.git("for-each-ref") + "\n" + w.git("rev-parse", "--symbolic-full-name", "HEAD"),
		Index: w.git("ls-files", "--stage"), Files: files.String(), State: strings.Join(state, " "),
	}
}

func errorText(err error) string {
	if err != nil {
		return "?"
	}
	return ""
}

func (w workspace) unchanged(before picture) {
	w.Helper()
	if diff := cmp.Diff(before, w.picture()); diff != "" {
		w.Errorf("(-before +after)\n%s", diff)
	}
}

func TestCommitTakesEveryChangeOfTheWorkspace(t *testing.T) {
	w := newRepo(t)
	w.write(".gitignore", "ignored\n")
	w.write("gone", "x")
	w.commit()
	w.write("kept", "two\n")
	w.write("new/file", "x")
	w.write("ignored", "x")
	w.write(".ralph/progress.md", "x")
	w.write(".ralph/PROMPT.md", "x")
	w.must(os.Remove(w.path("gone")))
	result := w.committed()
	if got, want := w.git("show", "--format=%B%an", "--no-renames", "--name-status", result.Commit), "subject\n\nbody\na\n\nA\t.ralph/PROMPT.md\nD\tgone\nM\tkept\nA\tnew/file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := w.git("status", "--short"); got != "?? .ralph/progress.md" {
		t.Errorf("left is %q", got)
	}
}

// Git complains about an ignored file that is named, even if it is named to be left out.
func TestCommitWithAnIgnoredView(t *testing.T) {
	for _, ignored := range []string{".ralph/progress.md\n", ".ralph/\n", "*.md\n"} {
		t.Run(ignored, func(t *testing.T) {
			w := newRepo(t)
			w.write(".gitignore", ignored)
			w.write(".ralph/progress.md", "x")
			w.committed()
			if got := w.git("ls-files"); got != ".gitignore\nkept" {
				t.Errorf("committed is %q", got)
			}
		})
	}
}

func TestCommitWithoutAChangeIsNone(t *testing.T) {
	w := newRepo(t)
	c := w.committer()
	w.write(".ralph/progress.md", "x")
	w.age("kept")
	before := w.picture()
	if got := w.commitBy(c); !cmp.Equal(got, ralph.CommitResult{}) {
		t.Errorf("got %+v", got)
	}
	w.unchanged(before)
}

func TestTheFirstCommit(t *testing.T) {
	w := newFolder(t)
	w.git("init", "-q", "-b", "main")
	if got := w.commitBy(w.committer()); !cmp.Equal(got, ralph.CommitResult{}) {
		t.Errorf("of nothing: got %+v", got)
	}
	w.write("file", "x")
	w.committed()
}

func TestCommitOfAWorkspaceLeavesTheRestOfTheRepositoryAlone(t *testing.T) {
	w := newRepo(t)
	w.write("below/file", "x")
	w.write("other", "x")
	w.commit()
	w.write("other", "staged")
	w.write("new", "staged")
	w.git("add", "-A")
	w.write("other", "not staged")
	w.write("below/file", "changed")
	w.write("below/.ralph/progress.md", "x")
	below := workspace{t, w.path("below")}
	result := below.committed()
	if got := w.git("show", "--format=", "--name-status", result.Commit); got != "M\tbelow/file" {
		t.Errorf("committed is %q", got)
	}
	if got := w.git("status", "--short"); got != "A  new\nMM other\n?? below/.ralph/" {
		t.Errorf("left is %q", got)
	}
}

func TestCommitInAWorktreeIsOnItsBranch(t *testing.T) {
	w := newRepo(t)
	main := w.git("rev-parse", "HEAD")
	tree, _ := w.worktree("ralph/x")
	tree.write("new", "x")
	result := tree.committed()
	if got := w.git("rev-parse", "ralph/x", "main"); got != result.Commit+"\n"+main {
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
			w := newRepo(t)
			w.write(".gitignore", "ignored\n.ralph/\n")
			w.write("below/file", "one\n")
			w.write("below/.ralph/progress.md", "x\n")
			w.commit()
			w.program(".git/hooks/pre-commit", script)
			w.write("below/file", "two\n")
			in := workspace{t, w.path(folder)}
			if got := in.commitBy(in.committer()); got.Failed || got.Commit == "" || got.Changed != changed {
				t.Errorf("%s in %q: got %+v", script, folder, got)
			}
		}
	}
}

func TestHooksFindTheUsersEnvironment(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/pre-commit", `test "$LANG $GIT_DIR$GIT_WORK_TREE$LC_ALL$GIT_ALLOW_PROTOCOL" = "xx " || { env; exit 1; }`+"\ncat >/dev/null")
	w.write("kept", "two\n")
	git := program()
	git.Env = append(git.Env, "LANG=xx", "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere")
	repo, ok, err := git.Find(t.Context(), w.dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
	w.must(err)
	if got := w.commitBy(c); got.Failed || got.Commit == "" {
		t.Errorf("got %+v", got)
	}
}

// TestACommitThatFailsChangesNothing: not even what was staged before.
var aWhile = regexp.MustCompile(`since \d+s;`)

func TestACommitThatFailsChangesNothing(t *testing.T) {
	cases := map[string]struct {
		prepare func(w workspace) // before an agent starts
		act     func(w workspace) // by the agent
		want    string            // how the output begins
		holds   string            // and what is in it
	}{
		"hook refuses": {
			prepare: func(w workspace) { w.program(".git/hooks/pre-commit", "echo no tabs please >&2; exit 3") },
			want:    "git commit was refused, as by a hook (exit 1)\n", holds: "no tabs please",
		},
		"hook changes the index and refuses": {
			prepare: func(w workspace) { w.program(".git/hooks/pre-commit", "git rm -q --cached kept; exit 1") },
			want:    "git commit was refused, as by a hook (exit 1)",
		},
		"message is refused": {
			prepare: func(w workspace) { w.program(".git/hooks/commit-msg", "cat $1; exit 1") },
			want:    "git commit was refused, as by a hook (exit 1)\n", holds: "subject\n\nbody",
		},
		"signature fails": {
			prepare: func(w workspace) {
				w.git("config", "commit.gpgSign", "true")
				w.git("config", "gpg.program", "false")
			},
			want: "git commit failed with exit 128\n", holds: "gpg failed to sign",
		},
		"a lock that stays": {
			act:  func(w workspace) { w.write(".git/index.lock", "") },
			want: "another git holds ", holds: "index.lock, since 0s; if no git is at work there, remove that file",
		},
		"a merge is under way": {
			act: func(w workspace) {
				w.git("stash", "-q")
				w.git("switch", "-q", "-c", "other")
				w.write("other", "x")
				w.commit()
				w.git("switch", "-q", "main")
				w.commit()
				w.git("merge", "-q", "--no-commit", "other")
			},
			want: "a merge is under way in ", holds: "git merge --abort",
		},
		"conflicts": {
			act: func(w workspace) {
				w.write("kept", "mine\n")
				w.git("stash", "-q")
				w.write("kept", "other\n")
				w.commit()
				w.run("git", "stash", "pop")
			},
			want: "there are unresolved conflicts in kept",
		},
		"a nested repository without a commit": {
			act:  func(w workspace) { w.at("nested").git("init", "-q") },
			want: "git add failed with exit 128\n", holds: "nested",
		},
		"another program signs": {
			act:  func(w workspace) { w.git("config", "gpg.ssh.program", w.path("evil")) },
			want: "the program that signs commits was set to another one since the start: ",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			if c.prepare != nil {
				c.prepare(w)
			}
			committer := w.committer()
			w.write("staged", "one")
			w.git("add", "-A")
			w.write("staged", "two")
			w.write("new", "x")
			if c.act != nil {
				c.act(w)
			}
			before := w.picture()
			got := w.commitBy(committer)
			got.Output = aWhile.ReplaceAllString(got.Output, "since 0s;") // on a slow machine the lock is older
			if !got.Failed || got.Commit != "" || !strings.HasPrefix(got.Output, c.want) || !strings.Contains(got.Output, c.holds) {
				t.Errorf("got %+v", got)
			}
			w.unchanged(before)
		})
	}
}

func TestACommitOfNobodyFailsAndNamesTheFix(t *testing.T) {
	w := newRepo(t)
	w.git("config", "user.useConfigOnly", "true")
	repo, ok, err := gitrepo.Git{Env: environment()[:4]}.Find(t.Context(), w.dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
	w.must(err)
	w.write("new", "x")
	before := w.picture()
	got := w.commitBy(c)
	if !got.Failed || !strings.Contains(got.Output, `git config --global user.name "Your Name" && git config --global user.email`) {
		t.Errorf("got %+v", got)
	}
	w.unchanged(before)
}

func TestTheIndexIsPutBackAlsoIfThereWasNone(t *testing.T) {
	w := newFolder(t)
	w.git("init", "-q", "-b", "main")
	w.program(".git/hooks/pre-commit", "exit 1")
	w.write("file", "x")
	if got := w.commitBy(w.committer()); !got.Failed {
		t.Errorf("got %+v", got)
	}
	if got := w.git("status", "--short"); got != "?? file" {
		t.Errorf("left is %q", got)
	}
	if _, err := os.Lstat(w.path(".git/index.lock")); err == nil {
		t.Error("a lock is left")
	}
}

func TestALockThatGoesIsWaitedFor(t *testing.T) {
	w := newRepo(t)
	c := w.committerWith(gitrepo.CommitOptions{LockPatience: time.Minute})
	w.write("new", "x")
	w.write(".git/index.lock", "")
	gone := make(chan error)
	go func() { gone <- os.Remove(w.path(".git/index.lock")) }()
	if got := w.commitBy(c); got.Failed || got.Commit == "" {
		t.Errorf("got %+v", got)
	}
	w.must(<-gone)
}

func TestHooksThatAnAgentPlantsAreNotRun(t *testing.T) {
	cases := map[string]struct {
		act  func(w workspace)
		want string
	}{
		"a new one":     {func(w workspace) { w.program(".git/hooks/post-commit", "touch .git/sprung") }, "post-commit"},
		"a gate":        {func(w workspace) { w.program(".git/hooks/pre-commit", "touch .git/sprung") }, "pre-commit"},
		"a changed one": {func(w workspace) { w.program(".git/hooks/post-merge", "touch .git/sprung") }, "post-merge"},
		"another folder": {func(w workspace) {
			w.program("hooks/pre-commit", "touch .git/sprung")
			w.git("config", "core.hooksPath", "hooks")
		}, "those of "},
		"one that is no program any more": {func(w workspace) { w.must(os.Chmod(w.path(".git/hooks/post-merge"), 0o644)) }, "post-merge"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			w.program(".git/hooks/post-merge", "true")
			committer := w.committer()
			w.write("kept", "two\n")
			c.act(w)
			got := w.commitBy(committer)
			if got.Failed || got.Commit == "" || !strings.HasPrefix(got.Output, "no hook was run, since some came or changed after the start: "+c.want) {
				t.Errorf("got %+v", got)
			}
			if _, err := os.Lstat(w.path(".git/sprung")); err == nil {
				t.Error("it was run")
			}
		})
	}
}

func TestHooksThatAnAgentRemovesAreToldOf(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/post-merge", "exit 1")
	w.program(".git/hooks/post-commit", "touch .git/run")
	c := w.committer()
	w.write("kept", "two\n")
	w.must(os.Remove(w.path(".git/hooks/post-merge")))
	if got := w.commitBy(c); got.Commit == "" || got.Output != "hooks that were there at the start are gone: post-merge" {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(w.path(".git/run")); err != nil {
		t.Error("the one that stayed was not run")
	}
}

func TestNobodyGetsPastAHookThatRefuses(t *testing.T) {
	for name, act := range map[string]func(w workspace){
		"removed":         func(w workspace) { w.must(os.Remove(w.path(".git/hooks/pre-commit"))) },
		"changed":         func(w workspace) { w.program(".git/hooks/pre-commit", "true") },
		"no program":      func(w workspace) { w.must(os.Chmod(w.path(".git/hooks/pre-commit"), 0o644)) },
		"one beside it":   func(w workspace) { w.program(".git/hooks/post-commit", "true") },
		"another folder":  func(w workspace) { w.git("config", "core.hooksPath", "elsewhere") },
		"as it was there": func(workspace) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			w.program(".git/hooks/pre-commit", "echo not like this; exit 1")
			c := w.committer()
			w.write("kept", "two\n")
			act(w)
			if got := w.commitBy(c); !got.Failed || got.Commit != "" || !strings.Contains(got.Output, "pre-commit") && !strings.Contains(got.Output, "not like this") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestHooksOfTheProjectAreRunAsTheyStand(t *testing.T) {
	w := newRepo(t)
	w.git("config", "core.hooksPath", ".husky")
	w.program(".husky/pre-commit", "exit 0")
	c := w.committer()
	w.program(".husky/pre-commit", "echo changed; exit 1")
	if got := w.commitBy(c); !got.Failed || !strings.HasSuffix(got.Output, "changed") {
		t.Errorf("got %+v", got)
	}
}

func TestFiltersThatAnAgentPlantsAreNotRunByACommit(t *testing.T) {
	w := newRepo(t)
	c := w.committer()
	w.git("config", "filter.evil.clean", "touch .git/sprung; cat")
	w.write(".gitattributes", "* filter=evil\n")
	w.write("kept", "two\n")
	if got := w.commitBy(c); got.Failed || got.Commit == "" {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(w.path(".git/sprung")); err == nil {
		t.Error("it was run")
	}
}

func TestARepositoryThatWasReplacedGetsNoCommit(t *testing.T) {
	cases := map[string]func(w workspace){
		"gone":     func(w workspace) { w.must(os.Rename(w.path(".git"), w.path("../away"))) },
		"replaced": func(w workspace) { w.write(".git", "gitdir: "+newRepo(w.TB).path(".git")+"\n") },
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFolder(t).at("repo")
			w.git("init", "-q", "-b", "main")
			w.commit()
			c := w.committer()
			w.write("new", "x")
			if name == "replaced" {
				w.must(os.Rename(w.path(".git"), w.path("../away")))
			}
			act(w)
			if got := w.commitBy(c); !got.Failed || !strings.Contains(got.Output, "is not the one that it was at the start") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestALongOutputKeepsItsEnd(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/pre-commit", `i=0; while [ $i -lt 3000 ]; do echo "line é $i"; i=$((i+1)); done; exit 1`)
	w.write("new", "x")
	got := w.commitBy(w.committer())
	_, output, _ := strings.Cut(got.Output, "\n")
	if n := len([]rune(output)); n != 4000 || !strings.HasSuffix(output, "line é 2999") {
		t.Errorf("%d characters that end with %q", n, output[max(0, len(output)-20):])
	}
}

// canceledCommit commits until a hook is under way.
func (w workspace) canceledCommit() (ralph.CommitResult, error) {
	w.Helper()
	c := w.committer()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Lstat(w.path(".git/here")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return c.Commit(ctx, "x")
}

func TestACanceledCommitIsAnErrorAndChangesNothing(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/pre-commit", "touch .git/here; exec sleep 600")
	w.write("new", "x")
	before := w.picture()
	if got, err := w.canceledCommit(); !errors.Is(err, context.Canceled) || got.Commit != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.unchanged(before)
}

func TestACommitThatIsCanceledAfterItWasMade(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/post-commit", "touch .git/here; exec sleep 600")
	w.write("new", "x")
	if got, err := w.canceledCommit(); !errors.Is(err, context.Canceled) || got.Commit != w.git("rev-parse", "HEAD") {
		t.Errorf("got %+v, %v", got, err)
	}
	if status := w.git("status", "--short"); status != "" {
		t.Errorf("left is %q", status)
	}
}
