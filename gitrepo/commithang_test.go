//go:build unix

package gitrepo_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// hang records two process IDs and then waits forever.
const hang = `sh -c 'echo $$ >> "$PIDS"; trap "" TERM; exec sleep 600' & ` +
	`echo $$ >> "$PIDS"; echo waiting; exec sleep 600`

func TestACommitThatHangsIsKilledWithAllThatItStarted(t *testing.T) {
	cases := map[string]func(w gittest.Workspace){
		"hook": func(w gittest.Workspace) { w.Script(".git/hooks/pre-commit", hang) },
		"hook after the message": func(w gittest.Workspace) {
			w.Script(".git/hooks/commit-msg", hang)
		},
		"signature": func(w gittest.Workspace) {
			w.Script(".git/gpg", hang)
			w.Git("config", "commit.gpgSign", "true")
			w.Git("config", "gpg.program", w.Path(".git/gpg"))
		},
		"filter": func(w gittest.Workspace) {
			w.Script(".git/clean", hang)
			w.Git("config", "filter.slow.clean", w.Path(".git/clean"))
			w.Write(".gitattributes", "/new filter=slow\n")
		},
	}
	for name, prepare := range cases {
		for _, below := range []string{"", "below"} {
			t.Run(name+" "+below, func(t *testing.T) {
				t.Parallel()
				w := gittest.NewRepo(t)
				prepare(w)
				w.Write("below/file", "x")
				pids := w.Path(".git/pids")
				git := gittest.Agreeing()
				git.Env = append(git.Env, "PIDS="+pids)
				repo, ok, err := gitrepo.Find(t.Context(), git, w.Path(below))
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{Timeout: 5 * time.Second})
				w.Must(err)
				w.Write("new", "x")
				w.Write("below/new", "x")
				before := pictureOf(w)
				got := commitBy(w, c)
				want := "the commit did not finish within 5s (is a hook or a signature waiting for input?)"
				if name == "filter" {
					want = "git add did not finish within 5s (is a filter waiting for input?)"
				}
				if name == "filter" && below != "" {
					if got.Failed {
						t.Errorf("got %+v", got)
					}
					return // the filter is not for a file of this workspace
				}
				if !got.Failed || got.Commit != "" || !strings.HasPrefix(got.Output, want) {
					t.Errorf("got %+v", got)
				}
				unchanged(w, before)
				nobodyLeft(w, pids)
			})
		}
	}
}

func nobodyLeft(w gittest.Workspace, file string) {
	w.Helper()
	content, err := os.ReadFile(file)
	w.Must(err)
	pids := strings.Fields(string(content))
	if len(pids) != 2 {
		w.Errorf("%d processes wrote down who they are", len(pids))
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		w.Must(err)
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !buried(pid) {
			w.Errorf("process %d is left: %v", pid, err)
		}
	}
}

// A commit is a commit, whatever a hook does afterwards.
func TestAHookThatHangsAfterTheCommit(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/post-commit", "echo slow; exec sleep 600")
	w.Write("new", "x")
	got := commitBy(w, committerWith(w, gitrepo.CommitOptions{Timeout: 5 * time.Second}))
	if got.Failed || got.Commit != w.Git("rev-parse", "HEAD") ||
		got.Output != "the commit was made, but a later step failed\nslow" {
		t.Errorf("got %+v", got)
	}
	if status := w.Git("status", "--short"); status != "" {
		t.Errorf("left is %q", status)
	}
}

func TestACommitHasNobodyToAsk(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script(".git/hooks/pre-commit", `
if (exec < /dev/tty) 2>/dev/null; then echo there is a terminal; exit 1; fi
$GIT_EDITOR nothing || exit 1
test "$GIT_TERMINAL_PROMPT$GIT_ASKPASS$SSH_ASKPASS$SSH_ASKPASS_REQUIRE$GPG_TTY" = 0never || { env; exit 1; }`)
	git := gittest.Program()
	git.Env = append(git.Env, "GIT_EDITOR=false", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GPG_TTY=/dev/tty")
	repo, ok, err := gitrepo.Find(t.Context(), git, w.Dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
	w.Must(err)
	w.Write("new", "x")
	if got := commitBy(w, c); got.Failed {
		t.Errorf("got %+v", got)
	}
}

// buried reports whether a process is only still on the list because no parent has read how it
// ended, which is not our matter once its parent is gone.
func buried(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS == "linux" && errors.Is(err, os.ErrNotExist)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}
