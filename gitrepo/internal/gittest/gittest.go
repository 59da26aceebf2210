// Package gittest creates repositories for the tests of gitrepo and its packages, and plays the
// agent in them.
package gittest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/internal/process"
)

// Since requests only the fingerprint.
var Since = ralph.TreeInput{BaseHead: "HEAD"}

// Main runs the tests of a package, for its TestMain. It adopts orphans, as the program does for a
// run. Then one system call shows that a git process left nothing behind. Without that, everything
// in /proc is read twice for each of some thousand calls, which was most of the time of these
// tests.
func Main(m *testing.M) int {
	err := process.OwnOrphans()
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		models.dir, err = os.MkdirTemp("", "models-")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(models.dir)
	return m.Run()
}

// Environment returns git's whole environment in these tests: nothing of the user's, no fsync and
// no maintenance.
func Environment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1",
		"HOME=" + os.DevNull,
		"GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=core.fsync",
		"GIT_CONFIG_VALUE_0=none",
		"GIT_CONFIG_KEY_1=maintenance.auto",
		"GIT_CONFIG_VALUE_1=false",
	}
}

// Program returns git in that environment.
func Program() git.Program { return git.Program{Env: Environment()} }

// Workspace is a folder in which a test plays the agent.
type Workspace struct {
	testing.TB
	Dir string
}

// NewFolder returns an empty folder.
func NewFolder(t testing.TB) Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	w := Workspace{t, dir}
	w.Must(err)
	return w
}

// NewRepo returns a repository with one commit that contains the file "kept".
func NewRepo(t testing.TB) Workspace {
	t.Helper()
	return CopyOf(t, "small", func(w Workspace) {
		w.Git("init", "-q", "-b", "main")
		w.Write("kept", "one\n")
		w.Commit()
	})
}

// models contains a repository of each kind that CopyOf copies, while the tests run.
var models struct {
	sync.Mutex
	dir string
}

// CopyOf returns a copy of the repository of this name, which is created once: some hundred tests
// start with one, and a copy needs only one git call.
func CopyOf(t testing.TB, name string, fill func(model Workspace)) Workspace {
	t.Helper()
	models.Lock()
	defer models.Unlock()
	model, w := Workspace{t, filepath.Join(models.dir, name)}, NewFolder(t)
	if _, err := os.Lstat(model.Dir); err != nil {
		begun := NewFolder(t).At("model") // it becomes a model only if nothing failed
		fill(begun)
		w.Must(os.Rename(begun.Dir, model.Dir))
	}
	model.Sh("exec cp -a . '" + w.Dir + "'")
	w.Git("update-index", "-q", "--refresh") // the copied files have other inodes
	return w
}

// At returns a folder below the workspace, and creates it.
func (w Workspace) At(name string) Workspace {
	w.Helper()
	below := Workspace{w.TB, filepath.Join(w.Dir, name)}
	w.Must(os.MkdirAll(below.Dir, 0o755))
	return below
}

// Git runs git in the workspace, as a user would, and returns its output.
func (w Workspace) Git(args ...string) string {
	w.Helper()
	return w.run(append([]string{"git", "-c", "protocol.file.allow=always"}, args...)...)
}

// Sh runs a shell script in the workspace, as an agent would.
func (w Workspace) Sh(script string) {
	w.Helper()
	w.run("/bin/sh", "-ec", script)
}

func (w Workspace) run(argv ...string) string {
	w.Helper()
	var out strings.Builder
	ended, err := process.Run(
		w.Context(),
		process.Spec{Argv: argv, Dir: w.Dir, Env: Environment(), Stdout: process.Sink{Tap: &out}, StderrToStdout: true},
	)
	if err != nil || ended.State != process.Exited || ended.ExitCode != 0 {
		w.Fatalf("%q: %v %v %d: %s", argv, err, ended.StartError, ended.ExitCode, out.String())
	}
	return strings.TrimSpace(out.String())
}

// Commit commits everything.
func (w Workspace) Commit() {
	w.Helper()
	w.Git("add", "-A")
	w.Git("commit", "-q", "--allow-empty", "-m", "x")
}

// Path returns the path of a file in the workspace.
func (w Workspace) Path(name string) string { return filepath.Join(w.Dir, filepath.FromSlash(name)) }

func (w Workspace) Write(name, text string) {
	w.Helper()
	w.Must(os.MkdirAll(filepath.Dir(w.Path(name)), 0o755))
	w.Must(os.WriteFile(w.Path(name), []byte(text), 0o644))
}

// Script writes an executable shell script.
func (w Workspace) Script(name, script string) {
	w.Helper()
	w.Write(name, "#!/bin/sh\n"+script+"\n")
	w.Must(os.Chmod(w.Path(name), 0o755))
}

// Age makes a file look old enough for its hash to be cached.
func (w Workspace) Age(name string) {
	w.Helper()
	old := time.Now().Add(-time.Hour)
	w.Must(os.Chtimes(w.Path(name), old, old))
}

// Must fails the test on an error.
func (w Workspace) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Agreeing returns the git program of a user who agrees to every program that git starts.
func Agreeing() gitrepo.Git {
	program := Program()
	program.Agreed = func(string, string) bool { return true }
	return program
}

// Find returns the repository of the workspace.
func (w Workspace) Find() *gitrepo.Repo {
	w.Helper()
	return w.FindBy(Program())
}

// FindBy is Find with another git program.
func (w Workspace) FindBy(program gitrepo.Git) *gitrepo.Repo {
	w.Helper()
	repo, ok, err := gitrepo.Find(w.Context(), program, w.Dir)
	if !ok || err != nil {
		w.Fatalf("found %v, %v", ok, err)
	}
	return repo
}

// Fingerprint returns the fingerprint of a tree, or fails the test.
func (w Workspace) Fingerprint(tree ralph.Tree, in ralph.TreeInput) ralph.TreeState {
	w.Helper()
	state, err := tree.Fingerprint(w.Context(), in)
	w.Must(err)
	return state
}

// Canceled returns a canceled context.
func Canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Refused checks that an error is a Problem of a kind and contains certain texts.
func Refused(t *testing.T, err error, kind gitrepo.ProblemKind, holds ...string) {
	t.Helper()
	p, ok := errors.AsType[*gitrepo.Problem](err)
	if !ok || p.Kind != kind || !p.Stops {
		t.Fatalf("got %v (%+v), want a problem of kind %s", err, p, kind)
	}
	for _, part := range holds {
		if !strings.Contains(p.Error(), part) {
			t.Errorf("%q does not say %q", p.Error(), part)
		}
	}
}

// OldGit returns a git that lacks options newer than 2.35.
func OldGit(t *testing.T) git.Program {
	t.Helper()
	bin := NewFolder(t)
	bin.Script(
		"git",
		`case " $* " in *" merge-tree --write-tree "*|*" worktree list --porcelain -z "*) echo usage >&2; exit 129;; esac
PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin; exec git "$@"`,
	)
	return git.Program{Env: append(Environment(), "PATH="+bin.Dir)}
}
