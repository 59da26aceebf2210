package runlog

import (
	"context"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
)

// followPause is short enough to look live to a person.
const followPause = 200 * time.Millisecond

// Follow visits every event of a run like Read, then new events as they arrive. It returns nil when
// the run has stopped or its process is gone, and the cause when ctx is done.
func (s *Store) Follow(ctx context.Context, run string, fn func(e ralph.Event, line []byte) error) error {
	if err := s.follow(ctx, run, fn); err != nil {
		return fmt.Errorf("follow run %s: %w", run, err)
	}
	return nil
}

func (s *Store) follow(ctx context.Context, run string, fn visitFunc) error {
	r := s.reader(run, decodeAll)
	stopped := false
	visit := func(e ralph.Event, line []byte) error {
		switch e.Type {
		case ralph.EvRunStopped:
			stopped = true
		case ralph.EvRunResumed:
			stopped = false
		}
		return fn(e, line)
	}
	pause := time.NewTicker(followPause)
	defer pause.Stop()
	for {
		// Ask before reading, so that the last events of a process that died are still read.
		owner, held := s.Holder()
		if err := r.read(visit); err != nil {
			return err
		}
		if stopped || !held || owner.Run != run && owner.Run != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pause.C:
		}
	}
}
