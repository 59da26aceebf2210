package snapshot_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

// What is not committed is as in the commit: changed, removed and new files, whatever the index says. Ignored files
// stay.
func TestSnapshotAsCommitted(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Sh("echo a >a; echo b >b; mkdir d; echo c >d/c; echo same >same; echo ignored >.gitignore")
	w.Commit()
	k, _ := newKeeper(w)
	head := w.Git("rev-parse", "HEAD")[:40]
	clean, err := k.Fingerprint(w.Context(), ralph.TreeInput{})
	w.Must(err)
	if got, err := k.AsCommitted(w.Context(), clean.Snapshot, head); err != nil || got != clean.Snapshot {
		t.Errorf("without changes: got %s, %v, want %s", got, err, clean.Snapshot)
	}
	w.Sh("echo new >a; git update-index --assume-unchanged a; rm b; rm -r d; echo d >d; echo e >e; git add e")
	w.Sh("echo i >ignored")
	now, err := k.Fingerprint(w.Context(), ralph.TreeInput{})
	w.Must(err)
	got, err := k.AsCommitted(w.Context(), now.Snapshot, head)
	w.Must(err)
	changes, err := k.Changes(w.Context(), clean.Snapshot, got)
	w.Must(err)
	if len(changes) > 0 {
		t.Errorf("differs from the commit: %v", changes)
	}
	changes, err = k.Changes(w.Context(), got, now.Snapshot)
	w.Must(err)
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "d", "d/c", "e"}, names); diff != "" {
		t.Error(diff)
	}
}
