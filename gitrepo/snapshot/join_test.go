package snapshot_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/snapshot"
)

// TestMergeOfCopies has a script for each side, with a git of today and with an old one,
// which knows whole files only.
func TestMergeOfCopies(t *testing.T) {
	for name, tt := range map[string]struct {
		ours, theirs string
		want         map[string]string // what differs from ours; "" is deleted
		conflicts    []string
		old          []string // conflicts with an old git, if other ones
	}{
		"nothing":       {ours: "echo x >x", theirs: "true"},
		"both the same": {ours: "echo x >x; rm b", theirs: "echo x >x; rm b"},
		"different files": {ours: "echo x >x", theirs: "echo y >y; rm b; chmod +x c",
			want: map[string]string{"y": "file y\n", "b": "", "c": "program c\n"}},
		"different lines": {ours: "sed -i s/^1$/one/ a", theirs: "sed -i s/^9$/nine/ a",
			want: map[string]string{"a": "file one\n2\n3\n4\n5\n6\n7\n8\nnine\n"}, old: []string{"a"}},
		"the same line": {ours: "sed -i s/^1$/one/ a; echo y >y", theirs: "sed -i s/^1$/eins/ a; echo z >z",
			conflicts: []string{"a"}},
		"added twice": {ours: "echo ours >x", theirs: "echo theirs >x", conflicts: []string{"x"}},
		"changed and deleted": {ours: "rm a b", theirs: "sed -i s/^1$/one/ a; echo more >b",
			conflicts: []string{"a", "b"}},
		"a file and a folder": {ours: "echo x >x", theirs: "mkdir x; echo y >x/y", conflicts: []string{"x"},
			old: []string{"x", "x/y"}},
		"the harness's, by both": {ours: "echo ours >list.md; mkdir -p .ralph; echo a >.ralph/a",
			theirs: "echo theirs >list.md; mkdir -p .ralph; echo b >.ralph/a"},
	} {
		for kind, git := range map[string]git.Program{"git": gittest.Program(), "old git": gittest.OldGit(t)} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				w := gittest.NewRepo(t)
				w.Sh("seq 9 >a; echo b >b; echo c >c; echo list >list.md")
				repo, _, err := gitrepo.Find(t.Context(), git, w.Dir)
				w.Must(err)
				k, err := snapshot.New(t.Context(), repo, filepath.Join(gittest.NewFolder(t).Dir, "snapshots.git"))
				w.Must(err)
				base := snapshotOf(w, k)
				w.Sh(tt.theirs)
				theirs := snapshotOf(w, k)
				restore(w, k, snapshot.RestoreInput{Snapshot: base})
				w.Sh(tt.ours)
				ours, before := snapshotOf(w, k), treeOf(w)
				conflicts := tt.conflicts
				if kind == "old git" && tt.old != nil {
					conflicts = tt.old
				}
				id, got := mergedSnapshots(w, k, base, ours, theirs)
				if diff := cmp.Diff(conflicts, got); diff != "" {
					t.Errorf("conflicts (-want +got):\n%s", diff)
				}
				same(w, "the workspace", before)
				if conflicts != nil {
					if id != "" {
						t.Errorf("there is a copy %s", id)
					}
					return
				}
				for file, text := range tt.want {
					before[file] = text
					if text == "" {
						delete(before, file)
					}
				}
				holds(w, k, id, before)
				if len(tt.want) == 0 && id != ours {
					t.Errorf("nothing came to it, and it is %s, not %s", id, ours)
				}
				if again, _ := mergedSnapshots(w, k, base, ours, theirs); again != id {
					t.Errorf("it has two names, %s and %s", id, again)
				}
			})
		}
	}
}

func TestMergeOfCopiesThatAreNotThere(t *testing.T) {
	w := gittest.NewRepo(t)
	k, _ := newKeeper(w)
	id := snapshotOf(w, k)
	for _, in := range []ralph.MergeInput{{Base: id, Ours: id}, {Base: "x", Ours: id, Theirs: id}} {
		in.Own = own
		if got, conflicts, err := k.Merge(t.Context(), in); err == nil {
			t.Errorf("%+v: %q, %q", in, got, conflicts)
		}
	}
}
