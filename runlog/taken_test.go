package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/process"
)

func TestRunIsTakenUntilTheLastConversationIsClosed(t *testing.T) {
	store, err := Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.Create("01K9")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	identity, _ := process.Identity(os.Getpid())
	owner := Owner{PID: os.Getpid(), Run: "01K9", Identity: identity}
	dead := Owner{PID: os.Getpid(), Run: "01K9", Identity: "another process that had this number"}
	var releases []func() error
	for _, who := range []Owner{owner, dead} {
		release, err := MarkTaken(twin(store), who)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
		if diff := cmp.Diff([]Owner{owner}, Takers(store)); diff != "" {
			t.Error(diff)
		}
	}
	for _, release := range releases {
		if !IsTaken(store, "01K9") || OpenTaken(store) != "01K9" {
			t.Error("an open conversation is not seen")
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if IsTaken(store, "01K9") || IsTaken(store, "missing") || Takers(store) != nil || OpenTaken(store) != "" {
		t.Error("taken without a conversation")
	}
}

// A process that keeps the list locked does not keep ralph take waiting.
func TestMarkTakenDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := Open(t.TempDir(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		log, err := store.Create("01K9")
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		other := flock.New(filepath.Join(store.dir, takersName+".lock"))
		if err := other.Lock(); err != nil {
			t.Fatal(err)
		}
		defer other.Unlock()
		_, err = MarkTaken(store, Owner{PID: os.Getpid(), Run: "01K9"})
		const want = "another process has held the lock for 5s; end that process"
		if err == nil || !strings.Contains(err.Error(), want) || IsTaken(store, "01K9") {
			t.Errorf("got %v", err)
		}
	})
}
