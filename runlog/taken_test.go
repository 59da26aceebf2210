package runlog

import "testing"

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
	var releases []func() error
	for range 2 {
		release, err := MarkTaken(twin(store), "01K9")
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	for _, release := range releases {
		if !IsTaken(store, "01K9") {
			t.Error("an open conversation is not seen")
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if IsTaken(store, "01K9") || IsTaken(store, "missing") {
		t.Error("taken without a conversation")
	}
}
