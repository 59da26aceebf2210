//go:build unix

package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
)

// pipe puts a pipe in place of a file. Whoever opens it for reading waits for ever.
func (w workspace) pipe(name string) {
	w.Helper()
	if err := os.Remove(w.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	w.must(syscall.Mkfifo(w.path(name), 0o600))
}

// TestAConfigurationThatCannotBeReadMayHoldAnything: filters are then asked for every time.
func TestAConfigurationThatCannotBeReadMayHoldAnything(t *testing.T) {
	huge := strings.Repeat("# 67 characters, so that the file is soon larger than what is read\n", 1<<14)
	cases := map[string]func(w workspace){
		"a pipe":              func(w workspace) { w.pipe(".git/config.worktree") },
		"a folder":            func(w workspace) { w.at(".git/config.worktree") },
		"a link to a device":  func(w workspace) { w.must(os.Symlink("/dev/zero", w.path(".git/config.worktree"))) },
		"more than is read":   func(w workspace) { w.write(".git/config.worktree", huge) },
		"huge and in use":     func(w workspace) { w.write(".git/config", "[core]\n\tbare = false\n"+huge) },
		"a file as it should": func(workspace) {},
	}
	for name, make := range cases {
		for _, when := range []string{"before Find", "after Find"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				w := newRepo(t)
				if when == "before Find" {
					make(w)
				}
				repo := w.find()
				if when == "after Find" {
					make(w)
				}
				w.fingerprint(repo, since)
				w.git("config", "filter.a.clean", "touch "+w.path(".git/sprung")+"; cat")
				w.write(".gitattributes", "* filter=a\n")
				w.write("kept", "two\n")
				if state := w.fingerprint(repo, ralph.TreeInput{}); state.Dirty != 2 {
					t.Errorf("%d dirty files, want 2", state.Dirty)
				}
				if _, err := os.Lstat(w.path(".git/sprung")); err == nil {
					t.Error("the filter was run")
				}
			})
		}
	}
}

func TestAPipeThatGitReadsEndsWithTheTimeout(t *testing.T) {
	for _, name := range []string{".git/config", ".git/commondir", ".git/HEAD"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRepo(t)
			git := program()
			git.Timeout = 2 * time.Second
			repo, ok, err := git.Find(t.Context(), w.dir)
			if !ok || err != nil {
				t.Fatalf("found %v, %v", ok, err)
			}
			w.pipe(name)
			if state, err := repo.Fingerprint(t.Context(), since); err == nil || !strings.Contains(err.Error(), "no end after 2s") {
				t.Errorf("got %+v, %v", state, err)
			}
		})
	}
}

func TestFilesOfTheWorkspaceThatArePipesAreNotOpened(t *testing.T) {
	w := newRepo(t)
	repo := w.find()
	base := w.git("rev-parse", "HEAD")
	before := w.fingerprint(repo, ralph.TreeInput{})
	w.pipe("new") // git does not name it at all
	if after := w.fingerprint(repo, ralph.TreeInput{}); !cmp.Equal(before, after) {
		t.Errorf("a pipe makes a difference")
	}
	if got, err := repo.Changed(t.Context(), base); err != nil || got != "no files changed" {
		t.Errorf("got %q, %v", got, err)
	}
	plain := &gitrepo.Plain{Dir: w.dir}
	alone := w.fingerprint(plain, since)
	w.pipe("kept")
	if got := changed(before, w.fingerprint(repo, since)); got != (change{Hash: true}) {
		t.Errorf("a file that became a pipe changed %+v", got)
	}
	if got := changed(alone, w.fingerprint(plain, since)); got != (change{Hash: true}) {
		t.Errorf("in a plain folder it changed %+v", got)
	}
}

// TestACanceledContextEndsGitAtOnce has a git that waits when it is asked to end, as the
// real one does for its filters.
func TestACanceledContextEndsGitAtOnce(t *testing.T) {
	bin := newFolder(t)
	bin.pipe("began")
	bin.program("git", "trap 'touch "+bin.path("asked")+"' TERM; echo >'"+bin.path("began")+"'; while :; do sleep 0.01; done")
	began, err := os.OpenFile(bin.path("began"), os.O_RDWR|syscall.O_NONBLOCK, 0)
	bin.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer cancel()
		_, _ = began.Read(make([]byte, 1)) // ends with Close, too
	}()
	git := gitrepo.Git{Env: []string{"PATH=" + bin.dir + ":/usr/bin:/bin"}}
	_, _, err = git.Find(ctx, bin.at("work").dir)
	began.Close()
	<-heard
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(bin.path("asked")); err == nil {
		t.Error("git was asked and waited for")
	}
}
