package runlog

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

func TestRemovedRunsAreGone(t *testing.T) {
	store := openStore(t)
	for _, run := range []string{"R1", "R2"} {
		told := &script{run: run}
		told.start()
		plantScript(t, store, told)
	}
	if err := store.Remove("R1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Remove("../R2"); err == nil {
		t.Error("a path was removed")
	}
	runs, err := store.Runs()
	if err != nil || len(runs) != 1 || runs[0].Run != "R2" {
		t.Errorf("runs %v, %v", runs, err)
	}
	if left := store.Leftovers(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Finding B18: what a kill leaves in the state is found again.
func TestLeftovers(t *testing.T) {
	store := openStore(t)
	told := &script{run: "R1"}
	told.start()
	plantScript(t, store, told)
	if _, err := store.SendMessage(ralph.Message{Kind: ralph.MessageSteer, Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	place := func(folder string, at time.Time) string {
		t.Helper()
		path := filepath.Join(folder, atomicfile.TempName())
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := []string{
		place(filepath.Join(store.Dir(), "runs"), time.Now()),
		place(store.WorktreesDir(), time.Now()),
		place(store.RunDir("R1"), time.Now()),
		place(store.Dir(), old),
		place(messagesDir(store.Dir()), old),
	}
	place(messagesDir(store.Dir()), time.Now()) // a message that is being sent
	if diff := cmp.Diff(want, store.Leftovers()); diff != "" {
		t.Error(diff)
	}
}

func TestSizeOfARun(t *testing.T) {
	store := openStore(t)
	told := &script{run: "R1"}
	told.start()
	plantScript(t, store, told)
	grow := func() {
		t.Helper()
		path := filepath.Join(store.RunDir("R1"), "iterations", atomicfile.TempName())
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := store.Size(listed(t, store, "R1"))
	grow()
	second := store.Size(listed(t, store, "R1"))
	if second < first+100_000 {
		t.Errorf("a run at work takes %d bytes, and %d later", first, second)
	}
	told.stop(ralph.Blocked)
	plantScript(t, store, told)
	ended := store.Size(listed(t, store, "R1"))
	if ended < second {
		t.Errorf("%d bytes at work, %d at the end", second, ended)
	}
	grow() // which nothing does without a resume
	if again := store.Size(listed(t, store, "R1")); again != ended {
		t.Errorf("%d bytes, then %d without a change of the log", ended, again)
	}
	told.add(0, ralph.EvRunResumed, ralph.RunResumed{Agent: "codex"})
	told.stop(ralph.Blocked)
	plantScript(t, store, told)
	if resumed := store.Size(listed(t, store, "R1")); resumed < ended+100_000 {
		t.Errorf("%d bytes, %d after a resume", ended, resumed)
	}
}

func TestALockKnowsThatTheLastHolderDied(t *testing.T) {
	store := openStore(t)
	for _, died := range []bool{false, true, false} {
		lock, err := store.Lock(Owner{PID: os.Getpid(), Run: "R1"})
		if err != nil {
			t.Fatal(err)
		}
		if lock.AfterDeath() != died {
			t.Errorf("died: %v, want %v", lock.AfterDeath(), died)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		if !died { // the record stays, as after a kill
			if err := writeOwner(store.lockPath(), Owner{PID: 1, Run: "R0"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// plantScript writes the log of a script, or writes it anew.
func plantScript(t *testing.T, s *Store, told *script) {
	t.Helper()
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	text, _ := logText(t, told.events)
	plant(t, s, told.run, text)
}
