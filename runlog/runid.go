package runlog

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// NewRunID gives the name of a new run: a ULID, so that names sort by time. Within one process a later call gives a greater name, also when
// the clock goes back.
func NewRunID(now time.Time) string {
	ids.Lock()
	defer ids.Unlock()
	ids.last = max(ids.last, ulid.Timestamp(now))
	id, err := ulid.New(ids.last, ids.entropy)
	if err != nil { // this millisecond's names are used up
		ids.last++
		id = ulid.MustNew(ids.last, ids.entropy)
	}
	return id.String()
}

var ids = struct {
	sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64 // millisecond
}{entropy: ulid.Monotonic(rand.Reader, 0)}
