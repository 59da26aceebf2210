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
)

// hang writes down who it is, twice, and waits for ever.
const hang = `sh -c 'echo $$ >> "$PIDS"; trap "" TERM; exec sleep 600' & echo $$ >> "$PIDS"; echo waiting; exec sleep 600`

func TestACommitThatHangsIsKilledWithAllThatItStarted(t *testing.T) {
	cases := map[string]func(w workspace){
		"hook": func(w workspace) { w.program(".git/hooks/pre-commit", hang) },
		"hook after the message": func(w workspace) {
			w.program(".git/hooks/commit-msg", hang)
		},
		"signature": func(w workspace) {
			w.program(".git/gpg", hang)
			w.git("config", "commit.gpgSign", "true")
			w.git("config", "gpg.program", w.path(".git/gpg"))
		},
		"filter": func(w workspace) {
			w.program(".git/clean", hang)
			w.git("config", "filter.slow.clean", w.path(".git/clean"))
			w.write(".gitattributes", "/new filter=slow\n")
		},
	}
	for name, prepare := range cases {
		for _, below := range []string{"", "below"} {
			t.Run(name+" "+below, func(t *testing.T) {
				t.Parallel()
				w := newRepo(t)
				prepare(w)
				w.write("below/file", "x")
				pids := w.path(".git/pids")
				git := program()
				git.Env = append(git.Env, "PIDS="+pids)
				repo, ok, err := git.Find(t.Context(), w.path(below))
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{Timeout: 5 * time.Second})
				w.must(err)
				w.write("new", "x")
				w.write("below/new", "x")
				before := w.picture()
				got := w.commitBy(c)
				want := "the commit did not end within 5s (a hook or a signature that waits for somebody?)"
				if name == "filter" {
					want = "git add did not end within 5s (a filter that waits for somebody?)"
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
				w.unchanged(before)
				w.nobodyLeft(pids)
			})
		}
	}
}

func (w workspace) nobodyLeft(file string) {
	w.Helper()
	content, err := os.ReadFile(file)
	w.must(err)
	pids := strings.Fields(string(content))
	if len(pids) != 2 {
		w.Errorf("%d processes wrote down who they are", len(pids))
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		w.must(err)
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !buried(pid) {
			w.Errorf("process %d is left: %v", pid, err)
		}
	}
}

// A commit is a commit, whatever a hook does afterwards.
func TestAHookThatHangsAfterTheCommit(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/post-commit", "echo slow; exec sleep 600")
	w.write("new", "x")
	got := w.commitBy(w.committerWith(gitrepo.CommitOptions{Timeout: 5 * time.Second}))
	if got.Failed || got.Commit != w.git("rev-parse", "HEAD") || got.Output != "the commit was made, but what came after it did not end well\nslow" {
		t.Errorf("got %+v", got)
	}
	if status := w.git("status", "--short"); status != "" {
		t.Errorf("left is %q", status)
	}
}

func TestACommitHasNobodyToAsk(t *testing.T) {
	w := newRepo(t)
	w.program(".git/hooks/pre-commit", `
if (exec < /dev/tty) 2>/dev/null; then echo there is a terminal; exit 1; fi
$GIT_EDITOR nothing || exit 1
test "$GIT_TERMINAL_PROMPT$GIT_ASKPASS$SSH_ASKPASS$SSH_ASKPASS_REQUIRE$GPG_TTY" = 0never || { env; exit 1; }`)
	git := program()
	git.Env = append(git.Env, "GIT_EDITOR=false", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GPG_TTY=/dev/tty")
	repo, ok, err := git.Find(t.Context(), w.dir)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	c, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
	w.must(err)
	w.write("new", "x")
	if got := w.commitBy(c); got.Failed {
		t.Errorf("got %+v", got)
	}
}

// buried reports whether a process is only still on the list because nobody asked how it
// ended, which is not our matter once its parent is gone.
func buried(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS == "linux" && errors.Is(err, os.ErrNotExist)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}
