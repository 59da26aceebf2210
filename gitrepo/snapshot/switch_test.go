package snapshot_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// own are the files of the harness in these tests.
func own(name string) bool { return strings.HasPrefix(name, ".ralph/") || name == "list.md" }

func switched(w gittest.Workspace, k *snapshot.Keeper, from, to string) ralph.Switched {
	w.Helper()
	done, err := k.Switch(w.Context(), ralph.SwitchInput{From: from, To: to, Own: own})
	w.Must(err)
	return done
}

// switches wants a switch that nothing stood in the way of.
func switches(w gittest.Workspace, k *snapshot.Keeper, from, to string) ralph.Switched {
	w.Helper()
	done := switched(w, k, from, to)
	if diff := cmp.Diff(ralph.Switched{Snapshot: done.Snapshot}, done); diff != "" || done.Snapshot == "" {
		w.Errorf("switched (-want +got):\n%s", diff)
	}
	return done
}

func mergedSnapshots(w gittest.Workspace, k *snapshot.Keeper, base, ours, theirs string) (string, []string) {
	w.Helper()
	id, conflicts, err := k.Merge(w.Context(), ralph.MergeInput{Base: base, Ours: ours, Theirs: theirs, Own: own})
	w.Must(err)
	return id, conflicts
}

// half is what work left undone, each in a folder of its own: all of them share the copies,
// which cost the most.
var half = map[string]string{
	"nothing":   "true",
	"untracked": "echo new >new; mkdir -p far/away; echo new >far/away/new",
	"changed":   "echo more >>text; echo more >>src/deep/code",
	"deleted":   "rm text 'blank name'; rm -r src",
	"renamed":   "mv text moved; mv src lib",
	"staged":    "echo more >>text; echo new >new; git add new text; rm empty; git add -A .",
	"programs":  "chmod -x run; chmod +x empty; echo '#!/bin/sh' >tool; chmod +x tool",
	"links": "rm link; ln -s empty link; rm dangling; echo x >dangling; ln -s nowhere fresh; rm " +
		"empty; ln -s text empty",
	"file to folder":        "rm text empty; mkdir -p text/below empty; echo x >text/below/x; echo y >empty/y",
	"folder to file":        "rm -r src; echo x >src",
	"folder to link":        "mv src moved; ln -s moved src",
	"link to folder":        "rm link; mkdir link; echo x >link/other",
	"tracked and ignored":   "echo more >>forced.log",
	"ignored beside":        "echo more >>noise.log; mkdir -p out/deep; echo made >out/deep/er; rm src/deep/code",
	"of the user's":         "echo theirs >>dirty; rm untracked",
	"no line is left alone": "for f in text crlf large; do echo x >$f; done",
}

// furnish fills a folder; what is dirty comes after the commit.
const (
	furnish = `printf 'one\ntwo\n' >text; printf 'one\r\ntwo\r\n' >crlf; : >empty
mkdir -p src/deep; echo code >src/deep/code; echo x >'blank name'
echo '#!/bin/sh' >run; chmod +x run; ln -s src/deep link; ln -s /nowhere/at/all dangling
echo tracked >forced.log; echo clean >dirty; seq 2000 >large; git add -f forced.log`
	soil = `echo dirty >dirty; echo mine >untracked; echo ignored >noise.log; mkdir out; echo ignored >out/made`
)

// TestWorkIsSetAsideAndBroughtBack takes what was left half done out of the tree, and
// brings it back, in repositories of several kinds.
func TestWorkIsSetAsideAndBroughtBack(t *testing.T) {
	each := func(w gittest.Workspace, script func(name string) string) {
		var all strings.Builder
		for name := range half {
			fmt.Fprintf(&all, "mkdir -p \"%s\"; cd \"%s\"\n%s\ncd ..\n", name, name, script(name))
		}
		w.Sh(all.String())
	}
	begin := func(t *testing.T) gittest.Workspace {
		w := gittest.NewFolder(t)
		w.Git("init", "-q", "-b", "main")
		w.Write(".gitignore", "*.log\nout/\n")
		w.Write(".gitattributes", "* text=auto eol=crlf\n")
		each(w, func(string) string { return furnish })
		return w
	}
	for kind, make := range map[string]func(t *testing.T) gittest.Workspace{
		"repository":     func(t *testing.T) gittest.Workspace { w := begin(t); w.Commit(); return w },
		"no commits yet": begin,
		"worktree": func(t *testing.T) gittest.Workspace {
			origin := begin(t)
			origin.Commit()
			w := gittest.Workspace{TB: t, Dir: filepath.Join(gittest.NewFolder(t).Dir, "tree")}
			origin.Git("worktree", "add", "-q", "-b", "ralph/x", w.Dir)
			return w
		},
	} {
		t.Run(kind, func(t *testing.T) {
			w := make(t)
			each(w, func(string) string { return soil })
			k, _ := newKeeper(w)
			base, before := snapshotOf(w, k), treeOf(w)
			each(w, func(name string) string { return half[name] })
			work, after := snapshotOf(w, k), treeOf(w)

			done := switches(w, k, work, base)
			beside := func(tree, as map[string]string) map[string]string { // what is ignored stays
				tree = maps.Clone(tree)
				for _, name := range []string{"noise.log", "out/deep/er"} {
					name = filepath.Join("ignored beside", filepath.FromSlash(name))
					tree[name] = as[name]
				}
				return tree
			}
			before = beside(before, after)
			same(w, "set aside", before)
			holds(w, k, done.Snapshot, exported(w, k, snapshotOf(w, k)))
			switches(w, k, work, base) // once more, as after a crash
			same(w, "set aside twice", before)

			ours := snapshotOf(w, k)
			back, conflicts := mergedSnapshots(w, k, base, ours, work)
			if conflicts != nil {
				t.Fatalf("conflicts in %q", conflicts)
			}
			switches(w, k, ours, back)
			same(w, "brought back", after)
			switches(w, k, ours, back)
			same(w, "brought back twice", after)
		})
	}
}

// TestCommittedWorkIsSetAside: the branch keeps it, and the tree changes back.
func TestCommittedWorkIsSetAside(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	base, before := snapshotOf(w, k), treeOf(w)
	w.Sh("echo half >half; echo half >>kept; git add -A; git commit -qm half")
	work, refs := snapshotOf(w, k), refsOf(w)
	switches(w, k, work, base)
	same(w, "set aside", before)
	if diff := cmp.Diff(refs, refsOf(w)); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	if got := w.Git("status", "--porcelain"); got != "D half\n M kept" {
		t.Errorf("status says %q", got)
	}
}

// TestOnlyWhatDiffersIsWritten: the user's files are not touched, not even with what is in
// them, and what is ignored or the harness's own stays as it is.
func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".gitignore", "*.log\n/out/\n")
	w.Write("src/code.go", "package src\n")
	w.Write("list.md", "- [ ] one\n")
	w.Write(".ralph/STEERING.md", "- hurry\n")
	w.Commit()
	w.Write("mine", "not committed\n")
	w.Age("mine")
	w.Age("kept")
	w.Write("src/noise.log", "old\n")
	k, _ := newKeeper(w)
	base := snapshotOf(w, k)
	w.Write("src/code.go", "package half\n")
	w.Write("src/gen/made.go", "package gen\n")
	w.Write("src/gen/made.log", "ignored\n")
	w.Write("out/made", "ignored\n")
	w.Write("src/noise.log", "new\n")
	w.Write("list.md", "- [!] one\n")
	w.Write(".ralph/STEERING.md", "")
	work := snapshotOf(w, k)
	stamps := func() map[string]time.Time {
		times := map[string]time.Time{}
		for name := range treeOf(w) {
			info, err := os.Lstat(w.Path(name))
			w.Must(err)
			times[name] = info.ModTime()
		}
		delete(times, filepath.Join("src", "code.go"))
		delete(times, filepath.Join("src", "gen", "made.go"))
		return times
	}
	before, want := stamps(), treeOf(w)
	switches(w, k, work, base)
	if diff := cmp.Diff(before, stamps()); diff != "" {
		t.Errorf("something else was written (-before +after):\n%s", diff)
	}
	want[filepath.Join("src", "code.go")] = "file package src\n"
	delete(want, filepath.Join("src", "gen", "made.go"))
	same(w, "set aside", want)

	// Meanwhile the list goes on.
	w.Write("list.md", "- [x] two\n")
	ours := snapshotOf(w, k)
	back, conflicts := mergedSnapshots(w, k, base, ours, work)
	if conflicts != nil {
		t.Fatalf("conflicts in %q", conflicts)
	}
	switches(w, k, ours, back)
	want["list.md"] = "file - [x] two\n"
	want[filepath.Join("src", "code.go")] = "file package half\n"
	want[filepath.Join("src", "gen", "made.go")] = "file package gen\n"
	same(w, "brought back", want)
}

// TestRulesThatTheWorkChanged: what the rules of the one or the other ignore is not lost.
func TestRulesThatTheWorkChanged(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".gitignore", "/deps/\n")
	w.Commit()
	w.Write("deps/lib", "of the user's\n")
	k, _ := newKeeper(w)
	base, before := snapshotOf(w, k), treeOf(w)
	w.Sh("rm .gitignore; echo half >half")
	work, after := snapshotOf(w, k), treeOf(w)
	switches(w, k, work, base)
	same(w, "set aside", before)
	ours := snapshotOf(w, k)
	back, _ := mergedSnapshots(w, k, base, ours, work)
	switches(w, k, ours, back)
	same(w, "brought back", after)
}

// TestRulesThatHideWhatTheWorkInstalledStay: without them it would be a part of the tree.
func TestRulesThatHideWhatTheWorkInstalledStay(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	base := snapshotOf(w, k)
	w.Sh(
		"echo /deps/ >.gitignore; mkdir deps; echo x >deps/lib; echo half >half; mkdir .ralph; echo '*' >.ralph/.gitignore",
	)
	work, after := snapshotOf(w, k), treeOf(w)
	for range 2 {
		done := switched(w, k, work, base)
		if diff := cmp.Diff(ralph.Switched{Snapshot: done.Snapshot, Stayed: []string{".gitignore"}}, done); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		same(w, "set aside", without(after, "half"))
	}
	holds(w, k, snapshotOf(w, k), map[string]string{"kept": "file one\n", ".gitignore": "file /deps/\n"})
	ours := snapshotOf(w, k)
	back, conflicts := mergedSnapshots(w, k, base, ours, work)
	if conflicts != nil {
		t.Fatalf("conflicts in %q", conflicts)
	}
	switches(w, k, ours, back)
	same(w, "brought back", after)
}

// TestIgnoredFilesThatChecksSeeStay: they are in the copies, and no part of the tree.
func TestIgnoredFilesThatChecksSeeStay(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write(".gitignore", "*.cfg\n")
	w.Commit()
	w.Write("one.cfg", "1\n")
	w.Write("two.cfg", "1\n")
	k, _ := newKeeper(w)
	k.AlwaysLike(func(name string) bool { return strings.HasSuffix(name, ".cfg") })
	base := snapshotOf(w, k)
	w.Sh("echo 2 >one.cfg; rm two.cfg; echo 2 >three.cfg; echo half >half")
	work := snapshotOf(w, k)
	want := without(treeOf(w), "half")
	if done := switched(w, k, work, base); !cmp.Equal(done.Stayed, []string{"two.cfg"}) {
		t.Errorf("switched %+v: what is not written is told", done)
	}
	same(w, "set aside", want)
}

// TestWhatSomebodyElseChangedIsNotLost: then nothing is touched at all.
func TestWhatSomebodyElseChangedIsNotLost(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		others []string
	}{
		"a file of the work":       {"echo mine >half", []string{"half"}},
		"another file":             {"echo mine >kept; echo mine >new", []string{"kept", "new"}},
		"deleted":                  {"rm kept half", []string{"kept"}},
		"a program now":            {"chmod +x half", []string{"half"}},
		"a folder in the place":    {"rm gone 2>/dev/null || true; mkdir gone; echo x >gone/mine", []string{"gone/mine"}},
		"ignored, and in the way":  {"mkdir gone; echo x >gone/mine.log", []string{"gone/mine.log"}},
		"ignored, in a file's way": {"echo gone >>.git/info/exclude; echo mine >gone", []string{"gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewRepo(t)
			w.Write(".gitignore", "*.log\n")
			w.Write("gone", "gone\n")
			w.Commit()
			k, _ := newKeeper(w)
			base := snapshotOf(w, k)
			w.Sh("echo half >half; rm gone")
			work := snapshotOf(w, k)
			w.Sh(tt.script)
			before := treeOf(w)
			got := switched(w, k, work, base)
			if diff := cmp.Diff(ralph.Switched{Others: tt.others}, got); diff != "" && name != "deleted" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.others, got.Others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
			same(w, "untouched", before)
		})
	}
}

// TestASwitchThatWasCut leaves some files as they were, some as they should be, and one
// that is half written.
func TestASwitchThatWasCut(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("a", "a\n")
	w.Write("b/c", "c\n")
	k, dir := newKeeper(w)
	base, before := snapshotOf(w, k), treeOf(w)
	w.Sh("rm -r b; echo b >b; echo half >a; echo half >kept; echo half >new; mkdir d; echo e >d/e")
	work := snapshotOf(w, k)
	w.Sh(
		"rm new b; echo a >a; printf hal >.ralph-ABCDEFGHIJKLMNOPQRSTUVWX23; mkdir b; printf c " +
			">b/.ralph-23ABCDEFGHIJKLMNOPQRSTUVWX",
	)
	again := keep(w, dir)
	switches(w, again, work, base)
	same(w, "set aside", before)

	restore(w, reopen(w, dir), snapshot.RestoreInput{Snapshot: work})
	w.Sh("rm new; echo mine >kept")
	if got := switched(w, keep(w, dir), work, base); !got.Begun || !cmp.Equal(got.Others, []string{"kept"}) {
		t.Errorf("somebody came between: %+v", got)
	}
}

func TestOnlyTheWorkspaceIsSwitched(t *testing.T) {
	top := rich(t)
	w := gittest.Workspace{TB: t, Dir: top.Path("src")}
	k, _ := newKeeper(w)
	base, before := snapshotOf(w, k), treeOf(top)
	w.Sh("rm -r deep; echo half >half; mkdir .ralph; echo x >.ralph/config.yaml")
	work := snapshotOf(w, k)
	top.Write("outside", "x\n")
	want := maps.Clone(before)
	want["outside"], want[filepath.Join("src", ".ralph", "config.yaml")] = "file x\n", "file x\n"
	switches(w, k, work, base)
	same(top, "set aside", want)
	w.Write("half", "mine\n")
	if got := switched(w, k, work, base); !cmp.Equal(got.Others, []string{"half"}) {
		t.Errorf("got %+v", got)
	}
	ours := snapshotOf(w, k)
	if _, conflicts := mergedSnapshots(w, k, base, ours, work); !cmp.Equal(conflicts, []string{"half"}) {
		t.Errorf("conflicts in %q", conflicts)
	}
}

// TestASaveInTheLastMoment is not lost: between the comparison, which asks whose a file is,
// and its replacement or deletion, another program writes it.
func TestASaveInTheLastMoment(t *testing.T) {
	for _, name := range []string{"kept", "new"} {
		w := gittest.NewRepo(t)
		k, _ := newKeeper(w)
		base := snapshotOf(w, k)
		w.Write("kept", "half\n")
		w.Write("new", "half\n")
		work := snapshotOf(w, k)
		w.Write(".ralph/note", "of the harness\n")
		done, err := k.Switch(t.Context(), ralph.SwitchInput{From: work, To: base, Own: func(file string) bool {
			if file == ".ralph/note" { // it is in neither copy
				w.Write(name, "saved by somebody\n")
			}
			return own(file)
		}})
		if err == nil || !strings.Contains(err.Error(), name+": it changed meanwhile") ||
			!cmp.Equal(done, ralph.Switched{}) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		if now := treeOf(w)[name]; !strings.Contains(now, "saved by somebody") {
			t.Errorf("%s is %q", name, now)
		}
	}
}

// TestWhatStaysIsNotInTheCopy: what could not be put back is not said to be there.
func TestWhatStaysIsNotInTheCopy(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	w.Write("x_test.sh", "strict\n")
	base := snapshotOf(w, k)
	w.Sh("rm x_test.sh kept; git init -q x_test.sh; echo half >half")
	work := snapshotOf(w, k)
	done := switched(w, k, work, base)
	if !cmp.Equal(done.Stayed, []string{"x_test.sh"}) {
		t.Errorf("stayed %q", done.Stayed)
	}
	changes, err := k.Changes(t.Context(), done.Snapshot, snapshotOf(w, k))
	w.Must(err)
	if len(changes) > 0 {
		t.Errorf("what the switch did differs from what is there by %+v", changes)
	}
	if now := treeOf(w); now["kept"] == "" || now["half"] != "" {
		t.Errorf("the workspace is %q", now)
	}
}

// TestASwitchThatFails says so; nothing of the two is lost.
func TestASwitchThatFails(t *testing.T) {
	w := gittest.NewRepo(t)
	k, dir := newKeeper(w)
	base := snapshotOf(w, k)
	lost := w.Git("hash-object", "kept")
	w.Write("kept", "half\n")
	work := snapshotOf(w, k)
	for _, objects := range []string{"objects", "history"} {
		w.Must(os.RemoveAll(filepath.Join(dir, objects, lost[:2], lost[2:])))
	}
	before := treeOf(w)
	if done, err := k.Switch(t.Context(),
		ralph.SwitchInput{From: work, To: base, Own: own}); err == nil ||
		!strings.Contains(err.Error(), "switch to snapshot "+base) ||
		!cmp.Equal(done, ralph.Switched{}) {
		t.Errorf("got %+v, %v", done, err)
	}
	same(w, "untouched", before)
	for _, in := range []ralph.SwitchInput{{From: work, To: "none", Own: own}, {From: "", To: base, Own: own}} {
		if done, err := k.Switch(t.Context(), in); err == nil {
			t.Errorf("%+v: %+v", in, done)
		}
	}
}
