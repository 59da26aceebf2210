package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestMailbox(t *testing.T) {
	s := openStore(t)
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	other := twin(s)
	steps := []struct {
		name string
		do   func() error
		want ralph.Orders
	}{
		{"at first", func() error { return nil }, ralph.Orders{}},
		{"clear nothing", func() error { return other.Clear(sampleRun, Pause) }, ralph.Orders{}},
		{"pause", func() error { return other.Send(sampleRun, Pause) }, ralph.Orders{Pause: true}},
		{"pause again", func() error { return other.Send(sampleRun, Pause) }, ralph.Orders{Pause: true}},
		{"stop", func() error { return other.Send(sampleRun, Stop) }, ralph.Orders{Pause: true, Stop: true}},
		{"go on", func() error { return other.Clear(sampleRun, Pause) }, ralph.Orders{Stop: true}},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for range 2 { // looking takes nothing out
			if got, err := log.Poll(); err != nil || got != step.want {
				t.Errorf("%s: got %+v, %v", step.name, got, err)
			}
		}
	}
}

// The process that resumes a run already holds its lock, so an order may be meant for it. The
// caller must clear older orders before the lock names the run.
func TestReopenLeavesOrdersWhereTheyAre(t *testing.T) {
	s := openStore(t)
	record(t, s, sampleRun, allTypes())
	if err := s.Send(sampleRun, Stop); err != nil {
		t.Fatal(err)
	}
	log, _, _, err := reopen(s, sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if got, err := log.Poll(); err != nil || got != (ralph.Orders{Stop: true}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMailboxThatIsNone(t *testing.T) {
	s := openStore(t)
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := os.WriteFile(filepath.Join(log.Dir(), "mailbox"), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(sampleRun, Stop); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("send: got %v", err)
	}
}
