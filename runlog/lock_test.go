package runlog

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// twin is another store on the same workspace, as another process has it.
func twin(s *Store) *Store { return &Store{workspace: s.workspace, dir: s.dir} }

func TestLockNamesItsHolder(t *testing.T) {
	s := openStore(t)
	owner := Owner{PID: 42, Run: "R1", Host: "h", Started: sampleStart.In(time.FixedZone("", 7200)), Identity: "boot 7"}
	lock, err := s.Lock(owner)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*Store{"the same store": s, "another": twin(s)} {
		_, err := other.Lock(Owner{PID: 43, Run: "R2"})
		locked, ok := errors.AsType[*Locked](err)
		if !ok {
			t.Fatalf("%s: got %v", name, err)
		}
		if diff := cmp.Diff(Locked{Path: s.lockPath(), Owner: owner}, *locked); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if text := err.Error(); !strings.Contains(text, "run R1, pid 42, since 2026-03-04T05:06:07Z") {
			t.Errorf("%s: %s", name, text)
		}
		if got, held := other.Holder(); !held || !cmp.Equal(owner, got) {
			t.Errorf("%s: got %v, %t", name, got, held)
		}
	}
	if err := errors.Join(lock.Release(), lock.Release()); err != nil {
		t.Error(err)
	}
	if got, held := s.Holder(); held || got != (Owner{}) {
		t.Errorf("released, but held by %v", got)
	}
}

func TestReleasedTwiceDoesNotFreeTheNextLock(t *testing.T) {
	s := openStore(t)
	first, err := s.Lock(Owner{PID: 1, Run: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	secondLock, err := s.Lock(Owner{PID: 1, Run: "R2"})
	if err != nil {
		t.Fatal(err)
	}
	defer secondLock.Release()
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if owner, held := twin(s).Holder(); !held || owner.Run != "R2" {
		t.Errorf("got %v, %t", owner, held)
	}
}

func TestRecordOfADeadOwnerIsOverwritten(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, record := range map[string]string{
		"a record": `{"pid":1,"run":"` + long + `"}`, "rubbish": "x{{{", "nothing": "", "zeros": "\x00\x00\x00",
	} {
		s := openStore(t)
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.lockPath(), []byte(" "+record), fileMode); err != nil {
			t.Fatal(err)
		}
		if owner, held := s.Holder(); held {
			t.Errorf("%s: a dead owner holds: %v", name, owner)
		}
		lock, err := s.Lock(Owner{PID: 2, Run: "R2"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if owner, held := twin(s).Holder(); !held || owner != (Owner{PID: 2, Run: "R2"}) {
			t.Errorf("%s: got %v, %t", name, owner, held)
		}
		lock.Release()
	}
}

func TestHolderThatHasNotSaidWhoItIs(t *testing.T) {
	s := openStore(t)
	lock, err := s.Lock(Owner{PID: 1, Run: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := os.Truncate(s.lockPath(), 5); err != nil {
		t.Fatal(err)
	}
	_, err = twin(s).Lock(Owner{})
	locked, ok := errors.AsType[*Locked](err)
	if !ok || locked.Owner != (Owner{}) ||
		!strings.Contains(err.Error(), "another run is using this workspace: "+s.lockPath()) {
		t.Errorf("got %v", err)
	}
}

// Two hundred processes start at once while others look: exactly one works, and the others are told
// which.
func TestManyStartsOneRun(t *testing.T) {
	s := openStore(t)
	var won, named atomic.Int32
	var all, tried sync.WaitGroup
	tried.Add(200)
	for pid := range 200 {
		all.Go(func() {
			lock, err := twin(s).Lock(Owner{PID: pid + 1, Run: "R"})
			tried.Done()
			if err == nil {
				won.Add(1)
				tried.Wait()
				lock.Release()
				return
			}
			if locked, ok := errors.AsType[*Locked](err); ok && locked.Owner.Run == "R" {
				named.Add(1)
			} else {
				t.Error(err)
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for range 200 {
				s.Holder()
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || named.Load() != 199 {
		t.Errorf("%d starts won, %d were told who did", won.Load(), named.Load())
	}
}

func TestReopenKeepsItsHandsOffALiveRun(t *testing.T) {
	s := openStore(t)
	text, _ := logText(t, allTypes())
	plant(t, s, sampleRun, text[:len(text)-5])
	lock, err := s.Lock(Owner{PID: 1, Run: sampleRun})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	_, _, _, err = reopen(twin(s), sampleRun)
	if locked, ok := errors.AsType[*Locked](err); !ok || locked.Owner.PID != 1 {
		t.Errorf("got %v", err)
	}
	if got := fileSize(t, s.logPath(sampleRun)); got != int64(len(text)-5) {
		t.Errorf("the log was cut to %d bytes", got)
	}
	log, _, tail, err := reopen(s, sampleRun)
	if err != nil || tail.Dropped == 0 {
		t.Fatalf("the holder itself got %v, %v", tail, err)
	}
	log.Close()
}

// A child that was forked by an owner and has not executed its program yet holds the lock for a
// moment longer than its owner lives.
func TestLockOfADeadOwnerIsWaitedFor(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	store, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ghost, err := store.Lock(Owner{PID: os.Getpid(), Run: "dead", Host: host, Identity: "another life of this pid"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	if owner, held := other.Holder(); !held || owner.Run != "dead" {
		t.Errorf("Holder() = %+v, %t: a lock that stays taken has a holder", owner, held)
	}
	taken := make(chan error, 1)
	go func() {
		lock, err := other.Lock(Owner{PID: os.Getpid(), Run: "next", Host: host})
		if err == nil {
			err = lock.Release()
		}
		taken <- err
	}()
	if err := ghost.Release(); err != nil {
		t.Error(err)
	}
	if err := <-taken; err != nil {
		t.Errorf("Lock() beside a dead owner: %v", err)
	}
}
