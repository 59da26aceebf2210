package runlog

import (
	"os"
	"testing"

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
		if !IsTaken(store, "01K9") {
			t.Error("an open conversation is not seen")
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if IsTaken(store, "01K9") || IsTaken(store, "missing") || Takers(store) != nil {
		t.Error("taken without a conversation")
	}
}
