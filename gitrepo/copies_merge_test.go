package gitrepo_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
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
		"nothing":                {ours: "echo x >x", theirs: "true"},
		"both the same":          {ours: "echo x >x; rm b", theirs: "echo x >x; rm b"},
		"different files":        {ours: "echo x >x", theirs: "echo y >y; rm b; chmod +x c", want: map[string]string{"y": "file y\n", "b": "", "c": "program c\n"}},
		"different lines":        {ours: "sed -i s/^1$/one/ a", theirs: "sed -i s/^9$/nine/ a", want: map[string]string{"a": "file one\n2\n3\n4\n5\n6\n7\n8\nnine\n"}, old: []string{"a"}},
		"the same line":          {ours: "sed -i s/^1$/one/ a; echo y >y", theirs: "sed -i s/^1$/eins/ a; echo z >z", conflicts: []string{"a"}},
		"added twice":            {ours: "echo ours >x", theirs: "echo theirs >x", conflicts: []string{"x"}},
		"changed and deleted":    {ours: "rm a b", theirs: "sed -i s/^1$/one/ a; echo more >b", conflicts: []string{"a", "b"}},
		"a file and a folder":    {ours: "echo x >x", theirs: "mkdir x; echo y >x/y", conflicts: []string{"x"}, old: []string{"x", "x/y"}},
		"the harness's, by both": {ours: "echo ours >list.md; mkdir -p .ralph; echo a >.ralph/a", theirs: "echo theirs >list.md; mkdir -p .ralph; echo b >.ralph/a"},
	} {
		for kind, git := range map[string]gitrepo.Git{"git": program(), "old git": oldGit(t)} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newRepo(t)
				w.sh("seq 9 >a; echo b >b; echo c >c; echo list >list.md")
				repo, _, err := git.Find(t.Context(), w.dir)
				w.must(err)
				k, err := repo.Keep(t.Context(), filepath.Join(newFolder(t).dir, "snapshots.git"))
				w.must(err)
				base := w.snapshot(k)
				w.sh(tt.theirs)
				theirs := w.snapshot(k)
				w.restore(k, gitrepo.RestoreInput{Snapshot: base})
				w.sh(tt.ours)
				ours, before := w.snapshot(k), w.tree()
				conflicts := tt.conflicts
				if kind == "old git" && tt.old != nil {
					conflicts = tt.old
				}
				id, got := w.merged(k, base, ours, theirs)
				if diff := cmp.Diff(conflicts, got); diff != "" {
					t.Errorf("conflicts (-want +got):\n%s", diff)
				}
				w.same("the workspace", before)
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
				w.holds(k, id, before)
				if len(tt.want) == 0 && id != ours {
					t.Errorf("nothing came to it, and it is %s, not %s", id, ours)
				}
				if again, _ := w.merged(k, base, ours, theirs); again != id {
					t.Errorf("it has two names, %s and %s", id, again)
				}
			})
		}
	}
}

func TestMergeOfCopiesThatAreNotThere(t *testing.T) {
	w := newRepo(t)
	k, _ := w.keeper()
	id := w.snapshot(k)
	for _, in := range []ralph.MergeInput{{Base: id, Ours: id}, {Base: "x", Ours: id, Theirs: id}} {
		in.Own = own
		if got, conflicts, err := k.Merge(t.Context(), in); err == nil {
			t.Errorf("%+v: %q, %q", in, got, conflicts)
		}
	}
}
