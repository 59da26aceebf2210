package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// TestNothingOfTheRepositoryIsRun plants programs wherever a repository can name one.
func TestNothingOfTheRepositoryIsRun(t *testing.T) {
	w := rich(t)
	k, dir := newKeeper(w)
	snapshotOf(w, k)
	marker := filepath.Join(gittest.NewFolder(t).Dir, "sprung")
	trap := filepath.Join(gittest.NewFolder(t).Dir, "trap")
	w.Must(os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $*\" >>'"+marker+"'\ncat\n"), 0o755))
	for _, hook := range []string{
		"post-index-change", "reference-transaction", "post-checkout", "pre-commit", "fsmonitor-watchman", "pre-auto-gc",
		"post-rewrite", "update", "post-update",
	} {
		w.Must(os.Symlink(trap, w.Path(".git/hooks/"+hook)))
	}
	w.Write(".gitattributes", "* filter=trap diff=trap merge=trap text eol=crlf ident\n")
	for _, setting := range []string{
		"filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "diff.trap.command", "diff.trap.textconv",
		"merge.trap.driver", "core.fsmonitor",
		"core.pager", "core.editor", "core.sshCommand", "diff.external", "gpg.program", "credential.helper", "alias.status",
		"core.alternateRefsCommand",
	} {
		w.Git("config", setting, trap)
	}
	w.Git("config", "filter.trap.required", "true")
	w.Git("config", "core.autocrlf", "true")
	w.Git("config", "commit.gpgSign", "true")
	w.Must(os.RemoveAll(marker)) // git config may have run some of them
	w.Write("lf.txt", "changed\nand\r\nmixed\n")
	w.Write("new.id", "$ID: x $\r\n")
	before := treeOf(w)
	id := snapshotOf(w, k)
	holds(w, k, id, without(before, ignored...))
	w.Must(os.WriteFile(w.Path("lf.txt"), nil, 0o644))
	if _, _, err := k.Diff(t.Context(), id, snapshotOf(w, k), 1<<20); err != nil {
		t.Error(err)
	}
	w.Must(os.Remove(w.Path(".git/index")))
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id, Git: true})
	same(w, "restored", before)
	w.Must(os.RemoveAll(w.Path(".git")))
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id, Git: true})
	same(w, "restored from nothing", before)
	if ran, err := os.ReadFile(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was run: %s", ran)
	}
}

func TestRestoreSaysWhatItDid(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("old", "old\n")
	w.Script("run", "exit 0")
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	w.Sh("rm old; echo x >kept; chmod -x run; mkdir -p a/b; echo n >a/b/new; git branch later; git commit -qam x")
	got := restore(w, k, snapshot.RestoreInput{Snapshot: id, Git: true})
	if _, err := k.Files(t.Context(), got.Undo); err != nil {
		t.Errorf("undo is %q", got.Undo)
	}
	got.Undo = ""
	want := manifest.Restored{
		Written: 3,
		Deleted: 1,
		Refs:    1,
		Notes:   []string{"refs/heads/later is newer than the snapshot and was kept"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(w.Path("a")); err == nil {
		t.Error("an empty folder is left")
	}
}

// TestARestoreThatFailsHalfway says so, and how to go back.
func TestARestoreThatFailsHalfway(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("a", "a\n")
	w.Write("b", "b\n")
	w.Write("c", "c\n")
	k, dir := newKeeper(w)
	id := snapshotOf(w, k)
	lost := w.Git("hash-object", "b")
	w.Must(os.Remove(filepath.Join(dir, "objects", lost[:2], lost[2:])))
	w.Sh("rm a b c; echo d >d; echo changed >kept")
	after := treeOf(w)
	done, err := k.Restore(t.Context(), snapshot.RestoreInput{Snapshot: id})
	want := "1 file written, 1 file deleted and 0 refs set: restore " + done.Undo + " to undo that"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Fatalf("got %+v, %v\nwant … %s", done, err, want)
	}
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: done.Undo})
	same(w, "undone", after)
}

// TestTheWayBackIsKnownFirst: a restore that is killed can be undone.
func TestTheWayBackIsKnownFirst(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	w.Write("kept", "two\n")
	w.Write("new", "new\n")
	after, told := treeOf(w), ""
	in := snapshot.RestoreInput{Snapshot: id, Begin: func(undo string) error {
		told = undo
		holds(w, k, undo, after)
		same(w, "when it is told", after)
		return errors.New("the disk is full")
	}}
	if _, err := k.Restore(t.Context(), in); err == nil ||
		!strings.HasSuffix(err.Error(), "nothing was changed: the disk is full") {
		t.Errorf("got %v", err)
	}
	same(w, "refused", after)
	in.Begin = func(undo string) error { told = undo; return nil }
	if done := restore(w, k, in); done.Undo != told {
		t.Errorf("%s was told and %s came back", told, done.Undo)
	}
}

func TestRestoreToAFolder(t *testing.T) {
	w := rich(t)
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	want := without(treeOf(w), ignored...)
	before := treeOf(w)
	to := gittest.NewFolder(t)
	done := restore(w, k, snapshot.RestoreInput{Snapshot: id, To: to.Path("new/copy")})
	same(gittest.Workspace{TB: t, Dir: to.Path("new/copy")}, "copy", want)
	if diff := cmp.Diff(manifest.Restored{Written: len(want)}, done); diff != "" {
		t.Error(diff)
	}
	same(w, "the workspace itself", before)
	for _, in := range []snapshot.RestoreInput{
		{Snapshot: id, To: to.Path("new")}, {Snapshot: id, To: to.Path("other"),
			Git: true}, {Snapshot: strings.Repeat("a", 40)}, {Snapshot: "HEAD"}, {},
	} {
		if done, err := k.Restore(t.Context(), in); err == nil {
			t.Errorf("%+v: %+v", in, done)
		}
	}
	same(w, "the workspace itself", before)
}

// TestFilesThatAreTooLarge are neither kept nor lost.
func TestFilesThatAreTooLarge(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("grows", "small\n")
	w.Commit()
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	for _, name := range []string{"large", "grows"} {
		w.Write(name, "")
		w.Must(os.Truncate(w.Path(name), 100<<20+1))
	}
	w.Write("kept", "two\n")
	state := w.Fingerprint(k, gittest.Since)
	want := []string{
		"grows is not up to date in the snapshot: it is larger than 100 MiB",
		"large is not up to date in the snapshot: it is larger than 100 MiB",
	}
	if diff := cmp.Diff(want, state.Omitted); diff != "" {
		t.Error(diff)
	}
	holds(w, k, state.Snapshot, map[string]string{"kept": "file two\n", "grows": "file small\n"})
	done := restore(w, k, snapshot.RestoreInput{Snapshot: id})
	if done.Written != 1 || done.Deleted != 0 {
		t.Errorf("got %+v", done)
	}
	for _, name := range []string{"large", "grows"} {
		if info, err := os.Stat(w.Path(name)); err != nil || info.Size() != 100<<20+1 {
			t.Errorf("%s is lost", name)
		}
	}
	w.Must(os.Truncate(w.Path("grows"), 10))
	w.Must(os.Remove(w.Path("large")))
	holds(w, k, snapshotOf(w, k), map[string]string{"kept": "file one\n", "grows": "file " + strings.Repeat("\x00", 10)})
}

func TestIgnoredFilesStay(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	w.Write(".gitignore", "made/\n")
	w.Write("made/a", "a\n")
	w.Write("made/b", "b\n")
	done := restore(w, k, snapshot.RestoreInput{Snapshot: id})
	same(
		w,
		"restored",
		map[string]string{
			"kept":                     "file one\n",
			filepath.Join("made", "a"): "file a\n",
			filepath.Join("made", "b"): "file b\n",
		},
	)
	done.Undo = ""
	want := manifest.Restored{
		Deleted: 1,
		Notes:   []string{"not in the snapshot, but kept because git ignores or ignored them: made/a, made/b"},
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
}

// TestWhatInfoExcludeIgnored: a new repository knows nothing of it.
func TestWhatInfoExcludeIgnored(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".git/info/exclude", "secret\n")
	w.Write("secret", "precious\n")
	k, dir := newKeeper(w)
	id, before := snapshotOf(w, k), treeOf(w)
	w.Sh("rm -rf .git; git init -q; echo x >new")
	done := restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id})
	same(w, "restored", before)
	if diff := cmp.Diff([]string{"not in the snapshot, but kept because git ignores or ignored them: secret"},
		done.Notes); diff != "" {
		t.Error(diff)
	}
	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: done.Undo})
	before["new"] = "file x\n"
	same(w, "undone", before)
}

// TestObjectsThatWereForged: git does not look whether an object is what its name says.
func TestObjectsThatWereForged(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Sh(
		`echo forged >x; forged=$(git hash-object -w x | sed 's|^..|&/|')
echo two >x; two=$(git hash-object x | sed 's|^..|&/|'); rm x
mkdir -p .git/objects/${two%/*}; cp .git/objects/$forged .git/objects/$two`,
	)
	k, dir := newKeeper(w)
	snapshotOf(w, k)
	w.Write("kept", "two\n")
	id := snapshotOf(w, k)
	w.Write("kept", "three\n")
	done := restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id})
	want := []string{
		"not as in the snapshot, because something changed them or the repository's objects: kept",
	}
	if diff := cmp.Diff(want, done.Notes); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsWrittenThroughALink that is outside the workspace or elsewhere in it,
// also where git does not look.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	for _, target := range []string{"../outside", "elsewhere"} {
		t.Run(target, func(t *testing.T) {
			around := gittest.NewFolder(t)
			w := around.At("inner")
			w.Git("init", "-q")
			w.Write("folder/file", "mine\n")
			w.Write("elsewhere/file", "theirs\n")
			around.Write("outside/file", "theirs\n")
			w.Commit()
			k, _ := newKeeper(w)
			id, before := snapshotOf(w, k), treeOf(around)
			w.Sh("rm -rf folder; ln -s " + target + " folder; git rm -qr --cached folder; echo folder >.git/info/exclude")
			restore(w, k, snapshot.RestoreInput{Snapshot: id})
			same(around, "restored", before)
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
			w := gittest.Workspace{TB: t, Dir: filepath.Join(gittest.NewFolder(t).Dir, "tree")}
			home.Git("worktree", "add", "-q", "-b", "work", w.Dir)
			w.Write("new", "new\n")
			k, dir := newKeeper(w)
			id, before := snapshotOf(w, k), treeOf(w)
			tip := w.Git("rev-parse", "HEAD")
			w.Sh(disaster + "; rm -f lf.txt")
			home.Git("commit", "-q", "--allow-empty", "-m", "by somebody else")
			others := home.Git("rev-parse", "main", "side", "other", "v1")
			restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: id, Git: true})
			same(w, "restored", before)
			if got := w.Git("rev-parse", "--abbrev-ref", "HEAD") + " " + w.Git("rev-parse", "HEAD"); got != "work "+tip {
				t.Errorf("HEAD is %s, want work %s", got, tip)
			}
			if got := home.Git("rev-parse", "main", "side", "other", "v1"); got != others {
				t.Error("somebody else's branches were moved")
			}
		})
	}
	home := rich(t)
	w := gittest.Workspace{TB: t, Dir: filepath.Join(gittest.NewFolder(t).Dir, "tree")}
	home.Git("worktree", "add", "-q", "-b", "work", w.Dir)
	k, dir := newKeeper(w)
	id := snapshotOf(w, k)
	home.Git("worktree", "remove", w.Dir)
	if done, err := reopen(w, dir).Restore(t.Context(), snapshot.RestoreInput{Snapshot: id, Git: true}); err == nil ||
		!strings.Contains(err.Error(), "git worktree add") {
		t.Errorf("got %+v, %v", done, err)
	}
	if _, err := os.Lstat(w.Dir); err == nil {
		t.Error("something was written all the same")
	}
}

func TestDiffOfSnapshots(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("gone", "gone\n")
	w.Write(".gitattributes", "* -diff\n")
	w.Write("blob", "\x00\x01")
	k, _ := newKeeper(w)
	from := snapshotOf(w, k)
	w.Write("kept", "two\n")
	w.Write("blob", "\x00\x02")
	w.Write("new", "new\n")
	w.Must(os.Remove(w.Path("gone")))
	to := snapshotOf(w, k)
	got, cut, err := k.Diff(t.Context(), from, to, 1<<20)
	w.Must(err)
	for _, want := range []string{
		"M\tblob\nD\tgone\nM\tkept\nA\tnew\n\ndiff --git ", "-one\n+two\n", "-gone\n", "+new\n", "Binary files a/blob " +
			"and b/blob differ\n",
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
	if all, _, err := k.Diff(t.Context(), "", from,
		1<<20); !strings.HasPrefix(all, "A\t.gitattributes\nA\tblob\nA\tgone\nA\tkept\n\n") ||
		err != nil {
		t.Errorf("of nothing: %q, %v", all, err)
	}
	if _, _, err := k.Diff(t.Context(), from, "HEAD", 100); !errors.Is(err, manifest.ErrNoSnapshot) {
		t.Errorf("got %v", err)
	}
}

func TestOpenSnapshots(t *testing.T) {
	_, err := snapshot.Open(gittest.Program(), gittest.NewFolder(t).Path("none"))
	if !errors.Is(err, manifest.ErrNoSnapshot) {
		t.Errorf("got %v", err)
	}
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	id := w.Fingerprint(k, ralph.TreeInput{}).Snapshot
	w.Must(os.RemoveAll(w.Dir)) // a reader needs no workspace
	s, err := snapshot.Open(gittest.Program(), dir)
	w.Must(err)
	to := gittest.NewFolder(t)
	if err := s.Extract(t.Context(), id, to.Dir, nil); err != nil {
		t.Error(err)
	}
	same(to, "copy", map[string]string{"kept": "file one\n"})
}
