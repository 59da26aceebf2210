package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
)

// TestNothingOfTheRepositoryIsRun plants programs wherever a repository can name one.
func TestNothingOfTheRepositoryIsRun(t *testing.T) {
	w := rich(t)
	k, dir := w.keeper()
	w.snapshot(k)
	marker := filepath.Join(newFolder(t).dir, "sprung")
	trap := filepath.Join(newFolder(t).dir, "trap")
	w.must(os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+marker+"'\ncat\n"), 0o755))
	for _, hook := range []string{
		"post-index-change", "reference-transaction", "post-checkout", "pre-commit", "fsmonitor-watchman", "pre-auto-gc", "post-rewrite", "update", "post-update",
	} {
		w.must(os.Symlink(trap, w.path(".git/hooks/"+hook)))
	}
	w.write(".gitattributes", "* filter=trap diff=trap merge=trap text eol=crlf ident\n")
	for _, setting := range []string{
		"filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "diff.trap.command", "diff.trap.textconv", "merge.trap.driver", "core.fsmonitor",
		"core.pager", "core.editor", "core.sshCommand", "diff.external", "gpg.program", "credential.helper", "alias.status", "core.alternateRefsCommand",
	} {
		w.git("config", setting, trap)
	}
	w.git("config", "filter.trap.required", "true")
	w.git("config", "core.autocrlf", "true")
	w.git("config", "commit.gpgSign", "true")
	w.must(os.RemoveAll(marker)) // git config may have run some of them
	w.write("lf.txt", "changed\nand\r\nmixed\n")
	w.write("new.id", "$Id: x $\r\n")
	before := w.tree()
	id := w.snapshot(k)
	w.holds(k, id, without(before, ignored...))
	w.must(os.WriteFile(w.path("lf.txt"), nil, 0o644))
	if _, _, err := k.Diff(t.Context(), id, w.snapshot(k), 1<<20); err != nil {
		t.Error(err)
	}
	w.must(os.Remove(w.path(".git/index")))
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id, Git: true})
	w.same("restored", before)
	w.must(os.RemoveAll(w.path(".git")))
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id, Git: true})
	w.same("restored from nothing", before)
	if ran, err := os.ReadFile(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was run: %s", ran)
	}
}

func TestRestoreSaysWhatItDid(t *testing.T) {
	w := newRepo(t)
	w.write("old", "old\n")
	w.program("run", "exit 0")
	k, _ := w.keeper()
	id := w.snapshot(k)
	w.sh("rm old; echo x >kept; chmod -x run; mkdir -p a/b; echo n >a/b/new; git branch later; git commit -qam x")
	got := w.restore(k, gitrepo.RestoreInput{Snapshot: id, Git: true})
	if !k.Snapshots().Has(t.Context(), got.Undo) {
		t.Errorf("undo is %q", got.Undo)
	}
	got.Undo = ""
	want := gitrepo.Restored{Written: 3, Deleted: 1, Refs: 1, Notes: []string{"refs/heads/later is newer than the snapshot and was left alone"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(w.path("a")); err == nil {
		t.Error("an empty folder is left")
	}
}

// TestARestoreThatFailsHalfway says so, and how to go back.
func TestARestoreThatFailsHalfway(t *testing.T) {
	w := newRepo(t)
	w.write("a", "a\n")
	w.write("b", "b\n")
	w.write("c", "c\n")
	k, dir := w.keeper()
	id := w.snapshot(k)
	lost := w.git("hash-object", "b")
	w.must(os.Remove(filepath.Join(dir, "objects", lost[:2], lost[2:])))
	w.sh("rm a b c; echo d >d; echo changed >kept")
	after := w.tree()
	done, err := k.Restore(t.Context(), gitrepo.RestoreInput{Snapshot: id})
	want := "1 file written, 1 file deleted and 0 refs set: restoring " + done.Undo + " takes it back"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Fatalf("got %+v, %v\nwant … %s", done, err, want)
	}
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: done.Undo})
	w.same("undone", after)
}

// TestTheWayBackIsKnownFirst: whoever is killed in a restore can undo it.
func TestTheWayBackIsKnownFirst(t *testing.T) {
	w := newRepo(t)
	k, _ := w.keeper()
	id := w.snapshot(k)
	w.write("kept", "two\n")
	w.write("new", "new\n")
	after, told := w.tree(), ""
	in := gitrepo.RestoreInput{Snapshot: id, Begin: func(undo string) error {
		told = undo
		w.holds(k, undo, after)
		w.same("when it is told", after)
		return errors.New("the disk is full")
	}}
	if _, err := k.Restore(t.Context(), in); err == nil || !strings.HasSuffix(err.Error(), "nothing was touched: the disk is full") {
		t.Errorf("got %v", err)
	}
	w.same("refused", after)
	in.Begin = func(undo string) error { told = undo; return nil }
	if done := w.restore(k, in); done.Undo != told {
		t.Errorf("%s was told and %s came back", told, done.Undo)
	}
}

func TestRestoreToAFolder(t *testing.T) {
	w := rich(t)
	k, _ := w.keeper()
	id := w.snapshot(k)
	want := without(w.tree(), ignored...)
	before := w.tree()
	to := newFolder(t)
	done := w.restore(k, gitrepo.RestoreInput{Snapshot: id, To: to.path("new/copy")})
	workspace{t, to.path("new/copy")}.same("copy", want)
	if diff := cmp.Diff(gitrepo.Restored{Written: len(want)}, done); diff != "" {
		t.Error(diff)
	}
	w.same("the workspace itself", before)
	for _, in := range []gitrepo.RestoreInput{
		{Snapshot: id, To: to.path("new")}, {Snapshot: id, To: to.path("other"), Git: true}, {Snapshot: strings.Repeat("a", 40)}, {Snapshot: "HEAD"}, {},
	} {
		if done, err := k.Restore(t.Context(), in); err == nil {
			t.Errorf("%+v: %+v", in, done)
		}
	}
	w.same("the workspace itself", before)
}

// TestFilesThatAreTooLarge are neither kept nor lost.
func TestFilesThatAreTooLarge(t *testing.T) {
	w := newRepo(t)
	w.write("grows", "small\n")
	w.commit()
	k, _ := w.keeper()
	id := w.snapshot(k)
	for _, name := range []string{"large", "grows"} {
		w.write(name, "")
		w.must(os.Truncate(w.path(name), 100<<20+1))
	}
	w.write("kept", "two\n")
	state := w.fingerprint(k, since)
	want := []string{
		"grows is not in the snapshot as it is now: it is larger than 100 MiB",
		"large is not in the snapshot as it is now: it is larger than 100 MiB",
	}
	if diff := cmp.Diff(want, state.Left); diff != "" {
		t.Error(diff)
	}
	w.holds(k, state.Snapshot, map[string]string{"kept": "file two\n", "grows": "file small\n"})
	done := w.restore(k, gitrepo.RestoreInput{Snapshot: id})
	if done.Written != 1 || done.Deleted != 0 {
		t.Errorf("got %+v", done)
	}
	for _, name := range []string{"large", "grows"} {
		if info, err := os.Stat(w.path(name)); err != nil || info.Size() != 100<<20+1 {
			t.Errorf("%s is lost", name)
		}
	}
	w.must(os.Truncate(w.path("grows"), 10))
	w.must(os.Remove(w.path("large")))
	w.holds(k, w.snapshot(k), map[string]string{"kept": "file one\n", "grows": "file " + strings.Repeat("\x00", 10)})
}

func TestIgnoredFilesStay(t *testing.T) {
	w := newRepo(t)
	k, _ := w.keeper()
	id := w.snapshot(k)
	w.write(".gitignore", "made/\n")
	w.write("made/a", "a\n")
	w.write("made/b", "b\n")
	done := w.restore(k, gitrepo.RestoreInput{Snapshot: id})
	w.same("restored", map[string]string{"kept": "file one\n", filepath.Join("made", "a"): "file a\n", filepath.Join("made", "b"): "file b\n"})
	done.Undo = ""
	want := gitrepo.Restored{Deleted: 1, Notes: []string{"not in the snapshot, and ignored then or until now, so left where they are: made/a, made/b"}}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
}

// TestWhatInfoExcludeIgnored: a new repository knows nothing of it.
func TestWhatInfoExcludeIgnored(t *testing.T) {
	w := newRepo(t)
	w.write(".git/info/exclude", "secret\n")
	w.write("secret", "precious\n")
	k, dir := w.keeper()
	id, before := w.snapshot(k), w.tree()
	w.sh("rm -rf .git; git init -q; echo x >new")
	done := w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id})
	w.same("restored", before)
	if diff := cmp.Diff([]string{"not in the snapshot, and ignored then or until now, so left where they are: secret"}, done.Notes); diff != "" {
		t.Error(diff)
	}
	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: done.Undo})
	before["new"] = "file x\n"
	w.same("undone", before)
}

// TestObjectsThatWereForged: git does not look whether an object is what its name says.
func TestObjectsThatWereForged(t *testing.T) {
	w := newRepo(t)
	w.sh(`echo forged >x; forged=$(git hash-object -w x | sed 's|^..|&/|'); echo two >x; two=$(git hash-object x | sed 's|^..|&/|'); rm x
mkdir -p .git/objects/${two%/*}; cp .git/objects/$forged .git/objects/$two`)
	k, dir := w.keeper()
	w.snapshot(k)
	w.write("kept", "two\n")
	id := w.snapshot(k)
	w.write("kept", "three\n")
	done := w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id})
	want := []string{"other than in the snapshot, for something wrote to them meanwhile, or to the repository's objects before: kept"}
	if diff := cmp.Diff(want, done.Notes); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsWrittenThroughALink that leads out of the workspace or elsewhere in it,
// also where git does not look.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	for _, target := range []string{"../outside", "elsewhere"} {
		t.Run(target, func(t *testing.T) {
			around := newFolder(t)
			w := around.at("inner")
			w.git("init", "-q")
			w.write("folder/file", "mine\n")
			w.write("elsewhere/file", "theirs\n")
			around.write("outside/file", "theirs\n")
			w.commit()
			k, _ := w.keeper()
			id, before := w.snapshot(k), around.tree()
			w.sh("rm -rf folder; ln -s " + target + " folder; git rm -qr --cached folder; echo folder >.git/info/exclude")
			w.restore(k, gitrepo.RestoreInput{Snapshot: id})
			around.same("restored", before)
		})
	}
}

func TestLinkedWorkingTree(t *testing.T) {
	for name, disaster := range map[string]string{
		"commits":      "git commit -q --allow-empty -m x; git branch more",
		"no .git":      "rm .git",
		".git is gone": "rm .git; ln -s /nowhere .git",
		"detached":     "git checkout -q --detach; git branch -q -D work",
	} {
		t.Run(name, func(t *testing.T) {
			home := rich(t)
			w := workspace{t, filepath.Join(newFolder(t).dir, "tree")}
			home.git("worktree", "add", "-q", "-b", "work", w.dir)
			w.write("new", "new\n")
			k, dir := w.keeper()
			id, before := w.snapshot(k), w.tree()
			tip := w.git("rev-parse", "HEAD")
			w.sh(disaster + "; rm -f lf.txt")
			home.git("commit", "-q", "--allow-empty", "-m", "by somebody else")
			others := home.git("rev-parse", "main", "side", "other", "v1")
			w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: id, Git: true})
			w.same("restored", before)
			if got := w.git("rev-parse", "--abbrev-ref", "HEAD") + " " + w.git("rev-parse", "HEAD"); got != "work "+tip {
				t.Errorf("HEAD is %s, want work %s", got, tip)
			}
			if got := home.git("rev-parse", "main", "side", "other", "v1"); got != others {
				t.Error("somebody else's branches were moved")
			}
		})
	}
	home := rich(t)
	w := workspace{t, filepath.Join(newFolder(t).dir, "tree")}
	home.git("worktree", "add", "-q", "-b", "work", w.dir)
	k, dir := w.keeper()
	id := w.snapshot(k)
	home.git("worktree", "remove", w.dir)
	if done, err := w.later(dir).Restore(t.Context(), gitrepo.RestoreInput{Snapshot: id, Git: true}); err == nil || !strings.Contains(err.Error(), "git worktree add") {
		t.Errorf("got %+v, %v", done, err)
	}
	if _, err := os.Lstat(w.dir); err == nil {
		t.Error("something was written all the same")
	}
}

func TestDiffOfSnapshots(t *testing.T) {
	w := newRepo(t)
	w.write("gone", "gone\n")
	w.write(".gitattributes", "* -diff\n")
	w.write("blob", "\x00\x01")
	k, _ := w.keeper()
	from := w.snapshot(k)
	w.write("kept", "two\n")
	w.write("blob", "\x00\x02")
	w.write("new", "new\n")
	w.must(os.Remove(w.path("gone")))
	to := w.snapshot(k)
	got, cut, err := k.Diff(t.Context(), from, to, 1<<20)
	w.must(err)
	for _, want := range []string{
		"M\tblob\nD\tgone\nM\tkept\nA\tnew\n\ndiff --git ", "-one\n+two\n", "-gone\n", "+new\n", "Binary files a/blob and b/blob differ\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if cut {
		t.Error("it is said to be cut")
	}
	for _, limit := range []int{0, 1, 10, 40, len(got) - 1} {
		part, cut, err := k.Diff(t.Context(), from, to, limit)
		if part != got[:limit] || !cut || err != nil {
			t.Errorf("%d bytes: %q, %v, %v", limit, part, cut, err)
		}
	}
	if part, cut, err := k.Diff(t.Context(), from, to, len(got)); part != got || cut || err != nil {
		t.Errorf("all bytes: %q, %v, %v", part, cut, err)
	}
	if same, cut, err := k.Diff(t.Context(), to, to, 100); same != "" || cut || err != nil {
		t.Errorf("of the same: %q, %v, %v", same, cut, err)
	}
	if all, _, err := k.Diff(t.Context(), "", from, 1<<20); !strings.HasPrefix(all, "A\t.gitattributes\nA\tblob\nA\tgone\nA\tkept\n\n") || err != nil {
		t.Errorf("of nothing: %q, %v", all, err)
	}
	if _, _, err := k.Diff(t.Context(), from, "HEAD", 100); !errors.Is(err, gitrepo.ErrNoSnapshot) {
		t.Errorf("got %v", err)
	}
}

func TestOpenSnapshots(t *testing.T) {
	if _, err := gitrepo.OpenSnapshots(program(), newFolder(t).path("none")); !errors.Is(err, gitrepo.ErrNoSnapshot) {
		t.Errorf("got %v", err)
	}
	w := newRepo(t)
	k, dir := w.keeper()
	id := w.fingerprint(k, ralph.TreeInput{}).Snapshot
	w.must(os.RemoveAll(w.dir)) // a reader needs no workspace
	s, err := gitrepo.OpenSnapshots(program(), dir)
	w.must(err)
	to := newFolder(t)
	if _, err := s.Export(t.Context(), id, to.dir); err != nil {
		t.Error(err)
	}
	to.same("copy", map[string]string{"kept": "file one\n"})
}
