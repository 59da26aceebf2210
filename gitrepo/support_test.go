package gitrepo_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/process"
)

// environment is all that git gets in these tests: nothing of the user's, and no waiting for a disk or housekeeping that nobody looks at.
func environment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME=" + os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none", "GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
	}
}

func program() gitrepo.Git { return gitrepo.Git{Env: environment()} }

// workspace is a folder on which a test plays the agent.
type workspace struct {
	testing.TB
	dir string
}

func newFolder(t testing.TB) workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return workspace{t, dir}
}

// newRepo is a repository with one commit that holds the file "kept".
func newRepo(t testing.TB) workspace {
	t.Helper()
	return copyOf(t, "small", func(w workspace) {
		w.git("init", "-q", "-b", "main")
		w.write("kept", "one\n")
		w.commit()
	})
}

// models has a repository of each kind that copyOf gives out, for as long as the tests run.
var models struct {
	sync.Mutex
	dir string
}

// copyOf is a repository like the one of this name, which is made once: some hundred tests begin with one, and a copy needs one git.
func copyOf(t testing.TB, name string, fill func(model workspace)) workspace {
	t.Helper()
	models.Lock()
	defer models.Unlock()
	model, w := workspace{t, filepath.Join(models.dir, name)}, newFolder(t)
	if _, err := os.Lstat(model.dir); err != nil {
		begun := newFolder(t).at("model") // which is a model only when nothing failed
		fill(begun)
		w.must(os.Rename(begun.dir, model.dir))
	}
	model.sh("exec cp -a . '" + w.dir + "'")
	w.git("update-index", "-q", "--refresh") // the index knows other files
	return w
}

// at is a folder below.
func (w workspace) at(name string) workspace {
	w.Helper()
	dir := filepath.Join(w.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	return workspace{w.TB, dir}
}

func (w workspace) git(args ...string) string {
	w.Helper()
	var out bytes.Buffer
	argv := append([]string{"git", "-c", "protocol.file.allow=always"}, args...)
	ended, err := process.Run(w.Context(), process.Spec{
		Argv: argv, Dir: w.dir, Env: environment(), Stdout: process.Sink{Tap: &out}, StderrToStdout: true,
	})
	if err != nil || ended.State != process.Exited || ended.ExitCode != 0 {
		w.Fatalf("git %v: %v %v %d: %s", args, err, ended.StartError, ended.ExitCode, out.String())
	}
	return strings.TrimSpace(out.String())
}

func (w workspace) commit() {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", "x")
}

// committedAs is commit, and the name of what was committed.
func (w workspace) committedAs() string {
	w.Helper()
	w.commit()
	return w.git("rev-parse", "HEAD")
}

func (w workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w workspace) write(name, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// program makes a program of a shell script.
func (w workspace) program(name, script string) {
	w.Helper()
	w.write(name, "#!/bin/sh\n"+script+"\n")
	w.must(os.Chmod(w.path(name), 0o755))
}

// age makes a file look old enough to be remembered.
func (w workspace) age(name string) {
	w.Helper()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(w.path(name), old, old); err != nil {
		w.Fatal(err)
	}
}

func (w workspace) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w workspace) find() *gitrepo.Repo {
	w.Helper()
	repo, ok, err := program().Find(w.Context(), w.dir)
	if !ok || err != nil {
		w.Fatalf("found %v, %v", ok, err)
	}
	return repo
}

func (w workspace) fingerprint(tree ralph.Tree, in ralph.TreeInput) ralph.TreeState {
	w.Helper()
	state, err := tree.Fingerprint(w.Context(), in)
	if err != nil {
		w.Fatal(err)
	}
	return state
}
