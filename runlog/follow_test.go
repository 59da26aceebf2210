package runlog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
)

// live is a current run, in a bubble whose clock stops unless all goroutines wait.
func live(t *testing.T) (*Store, *Log, *Lock, []ralph.Event) {
	t.Helper()
	s := openStore(t)
	lock, err := s.Lock(Owner{PID: 1, Run: sampleRun})
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close(); lock.Release() })
	told := &script{run: sampleRun}
	told.start()
	told.stop(ralph.Blocked)
	told.add(0, ralph.EvRunResumed, ralph.RunResumed{})
	told.iteration(1)
	told.stop(ralph.MaxIterations)
	return s, log, lock, told.events
}

// follow reports the last event seen and the end of following.
func follow(ctx context.Context, s *Store) (seen *int64, ended chan error) {
	seen, ended = new(int64), make(chan error, 1)
	go func() {
		ended <- s.Follow(ctx, sampleRun, func(e ralph.Event, _ []byte) error {
			if e.Seq != *seen+1 {
				return errors.New("out of order")
			}
			*seen = e.Seq
			return nil
		})
	}()
	return seen, ended
}

func TestFollowEndsWhenTheRunStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, _, events := live(t)
		for _, e := range events[:5] { // a stop in the past, resumed
			if err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		seen, ended := follow(t.Context(), twin(s))
		for i, e := range events[5:] {
			time.Sleep(time.Second)
			synctest.Wait()
			if *seen != int64(5+i) || len(ended) > 0 {
				t.Fatalf("%d events were seen of %d", *seen, 5+i)
			}
			if err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil || *seen != int64(len(events)) {
			t.Errorf("ended with %v after event %d", err, *seen)
		}
	})
}

func TestFollowWaitsForTheRestOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, _, events := live(t)
		line := []byte(encoded(t, events[0]))
		seen, ended := follow(t.Context(), twin(s))
		for _, part := range [][]byte{line[:1], line[1:30], line[30 : len(line)-1]} {
			if _, err := log.disk.Write(part); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if *seen != 0 || len(ended) > 0 {
				t.Fatal("half a line was seen")
			}
		}
		if _, err := log.disk.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if *seen != 1 || len(ended) > 0 {
			t.Errorf("%d events were seen", *seen)
		}
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, _, events := live(t)
		if err := log.Append(events[0]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		seen, ended := follow(ctx, twin(s))
		synctest.Wait()
		cause := errors.New("seen enough")
		cancel(cause)
		if err := <-ended; !errors.Is(err, cause) || *seen != 1 {
			t.Errorf("ended with %v after event %d", err, *seen)
		}
	})
}

func TestFollowEndsWhenTheProcessIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, lock, events := live(t)
		seen, ended := follow(t.Context(), twin(s))
		synctest.Wait()
		for _, e := range events[:3] { // its last words
			if err := log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		lock.Release()
		if err := <-ended; err != nil || *seen != 3 {
			t.Errorf("ended with %v after event %d", err, *seen)
		}
	})
}

func TestFollowEndsWhenAnotherRunHasTheWorkspace(t *testing.T) {
	s := openStore(t)
	told := &script{run: sampleRun}
	told.start()
	record(t, s, sampleRun, told.events)
	lock, err := s.Lock(Owner{PID: 1, Run: "OTHER"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	seen, ended := follow(t.Context(), twin(s))
	if err := <-ended; err != nil || *seen != 3 {
		t.Errorf("ended with %v after event %d", err, *seen)
	}
}

func TestFollowEndsWithDamageAndWithItsVisitor(t *testing.T) {
	s := openStore(t)
	text, _ := logText(t, allTypes())
	enough := errors.New("enough")
	plant(t, s, sampleRun, text)
	stop := func(ralph.Event, []byte) error { return enough }
	if err := s.Follow(t.Context(), sampleRun, stop); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	text[300] ^= 1
	plant(t, s, sampleRun, text)
	err := s.Follow(t.Context(), sampleRun, func(ralph.Event, []byte) error { return nil })
	if _, ok := errors.AsType[*Damaged](err); !ok {
		t.Errorf("got %v", err)
	}
}
