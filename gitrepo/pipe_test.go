//go:build unix

package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/plain"
)

// TestAConfigurationThatCannotBeReadMayHoldAnything: filters are then asked for every time.
func TestAConfigurationThatCannotBeReadMayHoldAnything(t *testing.T) {
	huge := strings.Repeat("# 67 characters, so that the file is soon larger than what is read\n", 1<<14)
	cases := map[string]func(w gittest.Workspace){
		"a pipe":              func(w gittest.Workspace) { gittest.MakePipe(w, ".git/config.worktree") },
		"a folder":            func(w gittest.Workspace) { w.At(".git/config.worktree") },
		"a link to a device":  func(w gittest.Workspace) { w.Must(os.Symlink("/dev/zero", w.Path(".git/config.worktree"))) },
		"more than is read":   func(w gittest.Workspace) { w.Write(".git/config.worktree", huge) },
		"huge and in use":     func(w gittest.Workspace) { w.Write(".git/config", "[core]\n\tbare = false\n"+huge) },
		"a file as it should": func(gittest.Workspace) {},
	}
	for name, make := range cases {
		for _, when := range []string{"before Find", "after Find"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				w := gittest.NewRepo(t)
				if when == "before Find" {
					make(w)
				}
				repo := w.Find()
				if when == "after Find" {
					make(w)
				}
				w.Fingerprint(repo, gittest.Since)
				w.Git("config", "filter.a.clean", "touch "+w.Path(".git/sprung")+"; cat")
				w.Write(".gitattributes", "* filter=a\n")
				w.Write("kept", "two\n")
				if state := w.Fingerprint(repo, ralph.TreeInput{}); state.Dirty != 2 {
					t.Errorf("%d dirty files, want 2", state.Dirty)
				}
				if _, err := os.Lstat(w.Path(".git/sprung")); err == nil {
					t.Error("the filter was run")
				}
			})
		}
	}
}

// Finding B3: git waits for a writer of a pipe in place of one of its files. It finds the pipe empty
// instead, long before its timeout, and says what is wrong with an empty file, if anything.
func TestAPipeThatGitReadsHangsNothing(t *testing.T) {
	for name, want := range map[string]string{
		".git/config": "", ".git/info/exclude": "", ".gitignore": "", ".gitattributes": "", "folder/.gitignore": "",
		".git/commondir": "failed to read", ".git/HEAD": "not a git repository",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := gittest.NewRepo(t)
			w.Write("folder/file", "")
			repo := w.Find()
			gittest.MakePipe(w, name)
			state, err := repo.Fingerprint(t.Context(), gittest.Since)
			if want == "" && (err != nil || !state.Known) ||
				want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %+v, %v", state, err)
			}
		})
	}
}

func TestFilesOfTheWorkspaceThatArePipesAreNotOpened(t *testing.T) {
	w := gittest.NewRepo(t)
	repo := w.Find()
	base := w.Git("rev-parse", "HEAD")
	before := w.Fingerprint(repo, ralph.TreeInput{})
	gittest.MakePipe(w, "new") // git does not name it at all
	if after := w.Fingerprint(repo, ralph.TreeInput{}); !cmp.Equal(before, after) {
		t.Errorf("a pipe makes a difference")
	}
	if got, err := repo.Changed(t.Context(), base); err != nil || got != "no files changed" {
		t.Errorf("got %q, %v", got, err)
	}
	plain := &plain.Tree{Dir: w.Dir}
	alone := w.Fingerprint(plain, gittest.Since)
	gittest.MakePipe(w, "kept")
	if got := changed(before, w.Fingerprint(repo, gittest.Since)); got != (change{Hash: true}) {
		t.Errorf("a file that became a pipe changed %+v", got)
	}
	if got := changed(alone, w.Fingerprint(plain, gittest.Since)); got != (change{Hash: true}) {
		t.Errorf("in a plain folder it changed %+v", got)
	}
}

// TestACanceledContextEndsGitAtOnce has a git that waits when it is asked to end, as the
// real one does for its filters.
func TestACanceledContextEndsGitAtOnce(t *testing.T) {
	bin := gittest.NewFolder(t)
	gittest.MakePipe(bin, "began")
	bin.Script(
		"git",
		"trap 'touch "+bin.Path("asked")+"' TERM; echo >'"+bin.Path("began")+"'; while :; do sleep 0.01; done",
	)
	began, err := os.OpenFile(bin.Path("began"), os.O_RDWR|syscall.O_NONBLOCK, 0)
	bin.Must(err)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer cancel()
		_, _ = began.Read(make([]byte, 1)) // ends with Close, too
	}()
	git := git.Program{Env: []string{"PATH=" + bin.Dir + ":/usr/bin:/bin"}}
	_, _, err = gitrepo.Find(ctx, git, bin.At("work").Dir)
	began.Close()
	<-heard
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(bin.Path("asked")); err == nil {
		t.Error("git was asked and waited for")
	}
}
