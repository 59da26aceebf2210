package gitrepo_test

import (
	"fmt"
	"os"
	"strings"
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

// withSigner returns a repository with a submodule whose commits are to be signed by a program, and the
// file that this program leaves.
func withSigner(t *testing.T) (gittest.Workspace, string) {
	t.Helper()
	w := withSubmodule(t)
	w.Script(".git/sign", `touch "$(dirname "$0")/signed"; exit 1`)
	w.Git("config", "gpg.program", w.Path(".git/sign"))
	w.Git("config", "commit.gpgSign", "true")
	return w, w.Path(".git/signed")
}

func TestB15ASubmoduleDoesNotDecideWhetherCommitsAreSigned(t *testing.T) {
	w, signed := withSigner(t)
	w.Git("-C", "sub", "config", "commit.gpgSign", "false")
	w.Git("-C", "sub", "config", "gpg.ssh.program", "other")
	refused := "commits are signed by gpg.program=" + w.Path(".git/sign") +
		", to which you have not agreed; pass --trust, or run once on a terminal"

	w.Write("new", "new")
	got := commitBy(w, newCommitter(w))
	if want := (ralph.CommitResult{Failed: true, Output: refused}); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v", got)
	}
	w.Sh(`git -c commit.gpgSign=false commit --quiet --allow-empty -m ours
git -c commit.gpgSign=false branch topic HEAD~1
git worktree add --quiet .git/topic topic
git -C .git/topic -c commit.gpgSign=false commit --quiet --allow-empty -m theirs`)
	_, err := w.Find().Merge(t.Context(), "topic")
	gittest.Refused(t, err, gitrepo.ProblemNotAgreed, refused)
	if ran(signed) {
		t.Error("the program ran")
	}
}

func TestB15ConsentIsForAProgramInASubmodule(t *testing.T) {
	w := withSubmodule(t)
	w.Script("sub/clean", "cat")
	w.Script("clean", "cat")
	w.Write("sub/.gitattributes", "* filter=up\n")
	w.Write(".gitattributes", "kept filter=up\n")
	w.Git("-C", "sub", "config", "filter.up.clean", "./clean")
	repo := w.Find()
	list, err := repo.Configured(t.Context())
	w.Must(err)
	if len(list) != 1 || fmt.Sprint(list[0].Settings) != "[filter.up.clean=./clean]" {
		t.Fatalf("got %+v", list)
	}
	repo.Agree(list)
	w.Fingerprint(repo, gittest.Since)
	w.Script("sub/clean", "touch ran; cat")
	w.Fingerprint(repo, gittest.Since)
	if ran(w.Path("sub/ran")) {
		t.Error("the program changed and ran")
	}
}

func TestB15AFilterOfAnyNameNeedsConsent(t *testing.T) {
	for _, name := range []string{"crypt.v2", "a=b", "é", "\xff", "", "a:b", `q"q`, "set.", "-"} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			cleaned := w.Path(".git/cleaned")
			w.Script(".git/clean", `touch "$(dirname "$0")/cleaned"; tr a-z A-Z`)
			w.Git("config", "filter."+name+".clean", w.Path(".git/clean"))
			w.Write(".gitattributes", "*.bin filter="+name+"\n")
			w.Write("sub/a.bin", "content")
			w.Write("sub/plain", "content")
			w.Commit()
			w.Must(os.Remove(cleaned))
			w.Write("sub/new.bin", "secret")
			w.Dir = w.Path("sub")
			list, err := w.Find().Configured(t.Context())
			w.Must(err)
			if len(list) != 1 || list[0].Name != "filter "+name {
				t.Fatalf("got %+v", list)
			}
			got := commitBy(w, newCommitter(w))
			if !got.Failed || !strings.HasPrefix(got.Output, "sub/new.bin goes through the filter ") || ran(cleaned) {
				t.Errorf("got %+v, filter ran: %v", got, ran(cleaned))
			}
			repo := w.Find()
			repo.Agree(list)
			committer, err := repo.Committer(t.Context(), gitrepo.CommitOptions{})
			w.Must(err)
			if got := commitBy(w, committer); got.Failed || w.Git("show", "HEAD:sub/new.bin") != "SECRET" {
				t.Errorf("got %+v, committed %q", got, w.Git("show", "HEAD:sub/new.bin"))
			}
		})
	}
}

// Git has hooks in settings since version 2.54, and core.hooksPath does not concern them.
func TestB15HooksInSettingsAreDisabledUnlessTheyAreTheUsers(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Git("config", "hook.lint.command", "true")
	committer := newCommitter(w)
	w.Write("new", "new")
	if got := commitBy(w, committer); got.Failed || got.Output != "" {
		t.Errorf("got %+v", got)
	}
	w.Git("config", "hook.a=b.command", "evil")
	for _, key := range []string{"hook.lint.enabled", "hook.a=b.enabled"} {
		if value, err := w.Find().Ask(t.Context(), "config", "--get", key); value != "false\n" || err != nil {
			t.Errorf("%s is %q, %v", key, value, err)
		}
	}
	w.Write("new", "newer")
	want := "no hooks ran because some were added or changed after the start: those in git's settings"
	if got := commitBy(w, committer); got.Failed || got.Output != want {
		t.Errorf("got %+v", got)
	}
}

func TestB15ConsentIsNotForAProgramOfTheSameNameInAWorktree(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Script("clean", "cat")
	w.Write(".gitattributes", "kept filter=up\n")
	w.Git("config", "filter.up.clean", "./clean")
	w.Commit()
	repo := w.Find()
	list, err := repo.Configured(t.Context())
	w.Must(err)
	repo.Agree(list)
	made, _, err := repo.Worktrees().Add(t.Context(), gitrepo.WorktreeInput{
		Path: gittest.NewFolder(t).Path("tree"), Branch: "ralph/x",
	})
	w.Must(err)
	there := gittest.Workspace{TB: t, Dir: made.Path}
	there.Script("clean", "touch ran; cat")
	there.Write("kept", "two\n")
	if _, err = repo.Worktrees().Uncommitted(t.Context(), "ralph/x"); err != nil || ran(there.Path("ran")) {
		t.Errorf("error %v, ran: %v", err, ran(there.Path("ran")))
	}
}
