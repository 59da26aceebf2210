package ralph

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// NewRunID returns a new run ID. It is a ULID, so that IDs sort by time. Within one process, a later
// call returns a greater ID even if the clock goes back.
func NewRunID(now time.Time) string { return runIDs.next(now) }

var runIDs = newIDSource()

type idSource struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64 // millisecond
}

func newIDSource() *idSource { return &idSource{entropy: ulid.Monotonic(rand.Reader, 0)} }

func (s *idSource) next(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, ulid.Timestamp(now))
	id, err := ulid.New(s.last, s.entropy)
	if err != nil { // this millisecond's IDs are used up
		s.last++
		id = ulid.MustNew(s.last, s.entropy)
	}
	return id.String()
}
