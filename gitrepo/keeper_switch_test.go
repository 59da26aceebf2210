package gitrepo_test

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
	"github.com/ralphloop/ralph/gitrepo"
)

// own are the files of the harness in these tests.
func own(name string) bool { return strings.HasPrefix(name, ".ralph/") || name == "list.md" }

func (w workspace) switched(k *gitrepo.Keeper, from, to string) ralph.Switched {
	w.Helper()
	done, err := k.Switch(w.Context(), ralph.SwitchInput{From: from, To: to, Own: own})
	w.must(err)
	return done
}

// switches wants a switch that nothing stood in the way of.
func (w workspace) switches(k *gitrepo.Keeper, from, to string) ralph.Switched {
	w.Helper()
	done := w.switched(k, from, to)
	if diff := cmp.Diff(ralph.Switched{Copy: done.Copy}, done); diff != "" || done.Copy == "" {
		w.Errorf("switched (-want +got):\n%s", diff)
	}
	return done
}

func (w workspace) merged(k *gitrepo.Keeper, base, ours, theirs string) (string, []string) {
	w.Helper()
	id, conflicts, err := k.Merge(w.Context(), ralph.MergeInput{Base: base, Ours: ours, Theirs: theirs, Own: own})
	w.must(err)
	return id, conflicts
}

// half is what work left undone, each in a folder of its own: all of them share the copies,
// which cost the most.
var half = map[string]string{
	"nothing":               "true",
	"untracked":             "echo new >new; mkdir -p far/away; echo new >far/away/new",
	"changed":               "echo more >>text; echo more >>src/deep/code",
	"deleted":               "rm text 'blank name'; rm -r src",
	"renamed":               "mv text moved; mv src lib",
	"staged":                "echo more >>text; echo new >new; git add new text; rm empty; git add -A .",
	"programs":              "chmod -x run; chmod +x empty; echo '#!/bin/sh' >tool; chmod +x tool",
	"links":                 "rm link; ln -s empty link; rm dangling; echo x >dangling; ln -s nowhere fresh; rm empty; ln -s text empty",
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
	furnish = `printf 'one\ntwo\n' >text; printf 'one\r\ntwo\r\n' >crlf; : >empty; mkdir -p src/deep; echo code >src/deep/code; echo x >'blank name'
echo '#!/bin/sh' >run; chmod +x run; ln -s src/deep link; ln -s /nowhere/at/all dangling; echo tracked >forced.log; echo clean >dirty; seq 2000 >large; git add -f forced.log`
	soil = `echo dirty >dirty; echo mine >untracked; echo ignored >noise.log; mkdir out; echo ignored >out/made`
)

// TestWorkIsSetAsideAndBroughtBack takes what was left half done out of the tree, and
// brings it back, in repositories of several kinds.
func TestWorkIsSetAsideAndBroughtBack(t *testing.T) {
	each := func(w workspace, script func(name string) string) {
		var all strings.Builder
		for name := range half {
			fmt.Fprintf(&all, "mkdir -p \"%s\"; cd \"%s\"\n%s\ncd ..\n", name, name, script(name))
		}
		w.sh(all.String())
	}
	begin := func(t *testing.T) workspace {
		w := newFolder(t)
		w.git("init", "-q", "-b", "main")
		w.write(".gitignore", "*.log\nout/\n")
		w.write(".gitattributes", "* text=auto eol=crlf\n")
		each(w, func(string) string { return furnish })
		return w
	}
	for kind, make := range map[string]func(t *testing.T) workspace{
		"repository":     func(t *testing.T) workspace { w := begin(t); w.commit(); return w },
		"no commits yet": begin,
		"worktree": func(t *testing.T) workspace {
			origin := begin(t)
			origin.commit()
			w := workspace{t, filepath.Join(newFolder(t).dir, "tree")}
			origin.git("worktree", "add", "-q", "-b", "ralph/x", w.dir)
			return w
		},
	} {
		t.Run(kind, func(t *testing.T) {
			w := make(t)
			each(w, func(string) string { return soil })
			k, _ := w.keeper()
			base, before := w.snapshot(k), w.tree()
			each(w, func(name string) string { return half[name] })
			work, after := w.snapshot(k), w.tree()

			done := w.switches(k, work, base)
			beside := func(tree, as map[string]string) map[string]string { // what is ignored stays
				tree = maps.Clone(tree)
				for _, name := range []string{"noise.log", "out/deep/er"} {
					name = filepath.Join("ignored beside", filepath.FromSlash(name))
					tree[name] = as[name]
				}
				return tree
			}
			before = beside(before, after)
			w.same("set aside", before)
			w.holds(k, done.Copy, w.export(k, w.snapshot(k)))
			w.switches(k, work, base) // once more, as after a crash
			w.same("set aside twice", before)

			ours := w.snapshot(k)
			back, conflicts := w.merged(k, base, ours, work)
			if conflicts != nil {
				t.Fatalf("conflicts in %q", conflicts)
			}
			w.switches(k, ours, back)
			w.same("brought back", after)
			w.switches(k, ours, back)
			w.same("brought back twice", after)
		})
	}
}

// TestCommittedWorkIsSetAside: the branch keeps it, and the tree changes back.
func TestCommittedWorkIsSetAside(t *testing.T) {
	w := newRepo(t)
	k, _ := w.keeper()
	base, before := w.snapshot(k), w.tree()
	w.sh("echo half >half; echo half >>kept; git add -A; git commit -qm half")
	work, refs := w.snapshot(k), w.refs()
	w.switches(k, work, base)
	w.same("set aside", before)
	if diff := cmp.Diff(refs, w.refs()); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	if got := w.git("status", "--porcelain"); got != "D half\n M kept" {
		t.Errorf("status says %q", got)
	}
}

// TestOnlyWhatDiffersIsWritten: the user's files are not touched, not even with what is in
// them, and what is ignored or the harness's own stays as it is.
func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	w := newRepo(t)
	w.write(".gitignore", "*.log\n/out/\n")
	w.write("src/code.go", "package src\n")
	w.write("list.md", "- [ ] one\n")
	w.write(".ralph/STEERING.md", "- hurry\n")
	w.commit()
	w.write("mine", "not committed\n")
	w.age("mine")
	w.age("kept")
	w.write("src/noise.log", "old\n")
	k, _ := w.keeper()
	base := w.snapshot(k)
	w.write("src/code.go", "package half\n")
	w.write("src/gen/made.go", "package gen\n")
	w.write("src/gen/made.log", "ignored\n")
	w.write("out/made", "ignored\n")
	w.write("src/noise.log", "new\n")
	w.write("list.md", "- [!] one\n")
	w.write(".ralph/STEERING.md", "")
	work := w.snapshot(k)
	stamps := func() map[string]time.Time {
		times := map[string]time.Time{}
		for name := range w.tree() {
			info, err := os.Lstat(w.path(name))
			w.must(err)
			times[name] = info.ModTime()
		}
		delete(times, filepath.Join("src", "code.go"))
		delete(times, filepath.Join("src", "gen", "made.go"))
		return times
	}
	before, want := stamps(), w.tree()
	w.switches(k, work, base)
	if diff := cmp.Diff(before, stamps()); diff != "" {
		t.Errorf("something else was written (-before +after):\n%s", diff)
	}
	want[filepath.Join("src", "code.go")] = "file package src\n"
	delete(want, filepath.Join("src", "gen", "made.go"))
	w.same("set aside", want)

	// Meanwhile the list goes on.
	w.write("list.md", "- [x] two\n")
	ours := w.snapshot(k)
	back, conflicts := w.merged(k, base, ours, work)
	if conflicts != nil {
		t.Fatalf("conflicts in %q", conflicts)
	}
	w.switches(k, ours, back)
	want["list.md"] = "file - [x] two\n"
	want[filepath.Join("src", "code.go")] = "file package half\n"
	want[filepath.Join("src", "gen", "made.go")] = "file package gen\n"
	w.same("brought back", want)
}

// TestRulesThatTheWorkChanged: what the rules of the one or the other ignore is not lost.
func TestRulesThatTheWorkChanged(t *testing.T) {
	w := newRepo(t)
	w.write(".gitignore", "/deps/\n")
	w.commit()
	w.write("deps/lib", "of the user's\n")
	k, _ := w.keeper()
	base, before := w.snapshot(k), w.tree()
	w.sh("rm .gitignore; echo half >half")
	work, after := w.snapshot(k), w.tree()
	w.switches(k, work, base)
	w.same("set aside", before)
	ours := w.snapshot(k)
	back, _ := w.merged(k, base, ours, work)
	w.switches(k, ours, back)
	w.same("brought back", after)
}

// TestRulesThatHideWhatTheWorkInstalledStay: without them it would be a part of the tree.
func TestRulesThatHideWhatTheWorkInstalledStay(t *testing.T) {
	w := newRepo(t)
	k, _ := w.keeper()
	base := w.snapshot(k)
	w.sh("echo /deps/ >.gitignore; mkdir deps; echo x >deps/lib; echo half >half; mkdir .ralph; echo '*' >.ralph/.gitignore")
	work, after := w.snapshot(k), w.tree()
	for range 2 {
		done := w.switched(k, work, base)
		if diff := cmp.Diff(ralph.Switched{Copy: done.Copy, Stayed: []string{".gitignore"}}, done); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.same("set aside", without(after, "half"))
	}
	w.holds(k, w.snapshot(k), map[string]string{"kept": "file one\n", ".gitignore": "file /deps/\n"})
	ours := w.snapshot(k)
	back, conflicts := w.merged(k, base, ours, work)
	if conflicts != nil {
		t.Fatalf("conflicts in %q", conflicts)
	}
	w.switches(k, ours, back)
	w.same("brought back", after)
}

// TestIgnoredFilesThatChecksSeeStay: they are in the copies, and no part of the tree.
func TestIgnoredFilesThatChecksSeeStay(t *testing.T) {
	w := newRepo(t)
	w.write(".gitignore", "*.cfg\n")
	w.commit()
	w.write("one.cfg", "1\n")
	w.write("two.cfg", "1\n")
	k, _ := w.keeper()
	k.AlwaysLike(func(name string) bool { return strings.HasSuffix(name, ".cfg") })
	base := w.snapshot(k)
	w.sh("echo 2 >one.cfg; rm two.cfg; echo 2 >three.cfg; echo half >half")
	work := w.snapshot(k)
	want := without(w.tree(), "half")
	if done := w.switched(k, work, base); !cmp.Equal(done.Stayed, []string{"two.cfg"}) {
		t.Errorf("switched %+v: what is not written is told", done)
	}
	w.same("set aside", want)
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
			w := newRepo(t)
			w.write(".gitignore", "*.log\n")
			w.write("gone", "gone\n")
			w.commit()
			k, _ := w.keeper()
			base := w.snapshot(k)
			w.sh("echo half >half; rm gone")
			work := w.snapshot(k)
			w.sh(tt.script)
			before := w.tree()
			got := w.switched(k, work, base)
			if diff := cmp.Diff(ralph.Switched{Others: tt.others}, got); diff != "" && name != "deleted" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.others, got.Others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
			w.same("untouched", before)
		})
	}
}

// TestASwitchThatWasCut leaves some files as they were, some as they should be, and one
// that is half written.
func TestASwitchThatWasCut(t *testing.T) {
	w := newRepo(t)
	w.write("a", "a\n")
	w.write("b/c", "c\n")
	k, dir := w.keeper()
	base, before := w.snapshot(k), w.tree()
	w.sh("rm -r b; echo b >b; echo half >a; echo half >kept; echo half >new; mkdir d; echo e >d/e")
	work := w.snapshot(k)
	w.sh("rm new b; echo a >a; printf hal >.ralph-ABCDEFGHIJKLMNOPQRSTUVWX23; mkdir b; printf c >b/.ralph-23ABCDEFGHIJKLMNOPQRSTUVWX")
	again := w.keep(dir)
	w.switches(again, work, base)
	w.same("set aside", before)

	w.restore(w.later(dir), gitrepo.RestoreInput{Snapshot: work})
	w.sh("rm new; echo mine >kept")
	if got := w.switched(w.keep(dir), work, base); !got.Begun || !cmp.Equal(got.Others, []string{"kept"}) {
		t.Errorf("somebody came between: %+v", got)
	}
}

func TestOnlyTheWorkspaceIsSwitched(t *testing.T) {
	top := rich(t)
	w := workspace{t, top.path("src")}
	k, _ := w.keeper()
	base, before := w.snapshot(k), top.tree()
	w.sh("rm -r deep; echo half >half; mkdir .ralph; echo x >.ralph/config.yaml")
	work := w.snapshot(k)
	top.write("outside", "x\n")
	want := maps.Clone(before)
	want["outside"], want[filepath.Join("src", ".ralph", "config.yaml")] = "file x\n", "file x\n"
	w.switches(k, work, base)
	top.same("set aside", want)
	w.write("half", "mine\n")
	if got := w.switched(k, work, base); !cmp.Equal(got.Others, []string{"half"}) {
		t.Errorf("got %+v", got)
	}
	ours := w.snapshot(k)
	if _, conflicts := w.merged(k, base, ours, work); !cmp.Equal(conflicts, []string{"half"}) {
		t.Errorf("conflicts in %q", conflicts)
	}
}

// TestASaveInTheLastMoment is not lost: between the comparison, which asks whose a file is,
// and its being replaced or deleted somebody writes it.
func TestASaveInTheLastMoment(t *testing.T) {
	for _, name := range []string{"kept", "new"} {
		w := newRepo(t)
		k, _ := w.keeper()
		base := w.snapshot(k)
		w.write("kept", "half\n")
		w.write("new", "half\n")
		work := w.snapshot(k)
		w.write(".ralph/note", "of the harness\n")
		done, err := k.Switch(t.Context(), ralph.SwitchInput{From: work, To: base, Own: func(file string) bool {
			if file == ".ralph/note" { // it is in neither copy
				w.write(name, "saved by somebody\n")
			}
			return own(file)
		}})
		if err == nil || !strings.Contains(err.Error(), name+": it was changed meanwhile") || !cmp.Equal(done, ralph.Switched{}) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		if now := w.tree()[name]; !strings.Contains(now, "saved by somebody") {
			t.Errorf("%s is %q", name, now)
		}
	}
}

// TestWhatStaysIsNotInTheCopy: what could not be put back is not said to be there.
func TestWhatStaysIsNotInTheCopy(t *testing.T) {
	w := newRepo(t)
	k, _ := w.keeper()
	w.write("x_test.sh", "strict\n")
	base := w.snapshot(k)
	w.sh("rm x_test.sh kept; git init -q x_test.sh; echo half >half")
	work := w.snapshot(k)
	done := w.switched(k, work, base)
	if !cmp.Equal(done.Stayed, []string{"x_test.sh"}) {
		t.Errorf("stayed %q", done.Stayed)
	}
	changes, err := k.Changes(t.Context(), done.Copy, w.snapshot(k))
	w.must(err)
	if len(changes) > 0 {
		t.Errorf("what the switch did differs from what is there by %+v", changes)
	}
	if now := w.tree(); now["kept"] == "" || now["half"] != "" {
		t.Errorf("the workspace is %q", now)
	}
}

// TestASwitchThatFails says so; nothing of the two is lost.
func TestASwitchThatFails(t *testing.T) {
	w := newRepo(t)
	k, dir := w.keeper()
	base := w.snapshot(k)
	lost := w.git("hash-object", "kept")
	w.write("kept", "half\n")
	work := w.snapshot(k)
	for _, objects := range []string{"objects", "history"} {
		w.must(os.RemoveAll(filepath.Join(dir, objects, lost[:2], lost[2:])))
	}
	before := w.tree()
	if done, err := k.Switch(t.Context(), ralph.SwitchInput{From: work, To: base, Own: own}); err == nil || !strings.Contains(err.Error(), "switch to snapshot "+base) || !cmp.Equal(done, ralph.Switched{}) {
		t.Errorf("got %+v, %v", done, err)
	}
	w.same("untouched", before)
	for _, in := range []ralph.SwitchInput{{From: work, To: "none", Own: own}, {From: "", To: base, Own: own}} {
		if done, err := k.Switch(t.Context(), in); err == nil {
			t.Errorf("%+v: %+v", in, done)
		}
	}
}
