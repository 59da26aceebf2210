package gitrepo_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// lfsClean writes what Git LFS commits in place of a file.
const lfsClean = `f=$(mktemp); cat >"$f"; ` +
	`printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' ` +
	`"$(sha256sum <"$f" | cut -d' ' -f1)" "$(wc -c <"$f" | tr -d ' ')"; rm "$f"; touch "$(dirname "$0")/cleaned"`

// withLFS returns a repository with a file under a filter, and the file that the filter leaves.
func withLFS(t *testing.T) (gittest.Workspace, string) {
	t.Helper()
	w := gittest.NewRepo(t)
	cleaned := w.Path(".git/cleaned")
	w.Script(".git/clean", lfsClean)
	w.Git("config", "filter.lfs.clean", w.Path(".git/clean"))
	w.Write(".gitattributes", "*.bin filter=lfs\n")
	w.Write("a.bin", "content")
	w.Commit()
	w.Must(os.Remove(cleaned))
	w.Write("a.bin", "content") // git has to look at it again
	return w, cleaned
}

func ran(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func TestB15WithoutConsentAFileUnderLFSIsAsCommitted(t *testing.T) {
	w, cleaned := withLFS(t)
	repo := w.Find()
	head := w.Git("rev-parse", "HEAD")
	state := w.Fingerprint(repo, ralph.TreeInput{BaseHead: head[:40], Claimed: true})
	changed, err := repo.Changed(t.Context(), head[:40])
	w.Must(err)
	if state.Dirty != 0 || changed != "no files changed" || ran(cleaned) {
		t.Errorf("%d changed, %q, filter ran: %v", state.Dirty, changed, ran(cleaned))
	}
	w.Write("a.bin", "another")
	if state = w.Fingerprint(repo, gittest.Since); state.Dirty != 1 || ran(cleaned) {
		t.Errorf("%d changed, filter ran: %v", state.Dirty, ran(cleaned))
	}
}

func TestB15WithoutConsentNothingUnderAFilterIsCommitted(t *testing.T) {
	w, cleaned := withLFS(t)
	committer := newCommitter(w)
	w.Write("new.bin", "raw")
	got := commitBy(w, committer)
	want := ralph.CommitResult{Failed: true, Output: "" +
		"new.bin goes through the filter lfs, to which you have not agreed; " +
		"pass --trust, or run once on a terminal"}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || ran(cleaned) {
		t.Errorf("got %+v, filter ran: %v", got, ran(cleaned))
	}
	problems, err := w.Find().Ready(t.Context(), gitrepo.Needs{Worktree: true})
	w.Must(err)
	if len(problems) != 2 || problems[0].Kind != gitrepo.ProblemNotAgreed || !problems[0].Stops {
		t.Errorf("got %+v", problems)
	}
}

func TestB15ConsentIsForTheProgramAsItWas(t *testing.T) {
	for name, change := range map[string]func(gittest.Workspace){
		"nothing": func(gittest.Workspace) {},
		"program": func(w gittest.Workspace) { w.Script(".git/clean", "touch \"$(dirname \"$0\")/cleaned\"; cat") },
		"command": func(w gittest.Workspace) { w.Git("config", "filter.lfs.clean", w.Path(".git/clean")+" -x") },
		"smudge":  func(w gittest.Workspace) { w.Git("config", "filter.lfs.smudge", "cat") },
		"included": func(w gittest.Workspace) {
			w.Git("config", "include.path", "more")
			w.Write(".git/more", "[filter \"lfs\"]\nprocess=x\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, cleaned := withLFS(t)
			repo := w.Find()
			list, err := repo.Configured(t.Context())
			w.Must(err)
			if len(list) != 1 || list[0].Name != "filter lfs" || list[0].Agreed {
				t.Fatalf("got %+v", list)
			}
			repo.Agree(list)
			change(w)
			if state := w.Fingerprint(repo, gittest.Since); state.Dirty != 0 || ran(cleaned) != (name == "nothing") {
				t.Errorf("%d changed, filter ran: %v", state.Dirty, ran(cleaned))
			}
		})
	}
}
