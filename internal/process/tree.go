package process

import (
	"crypto/rand"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// tree is one main process and everything that comes from it.
type tree struct {
	pid   int
	token string // in the environment of all its processes
	since uint64 // not later than the start of any of them, as the system counts

	main   *os.Process
	exit   *os.ProcessState // of the main process, once it is reaped; nil if it was lost
	reaped atomic.Bool

	known []int // descendants seen before the kill, where no marker can be read
}

// aftermath is what the hunt found behind a main process.
type aftermath struct {
	survivors  map[survivor]bool
	names      []string
	unkillable int
	cpu        time.Duration
}

// survivor is a process, told apart from a later one with the same number.
type survivor struct {
	pid   int
	start uint64
}

const namesKept = 8

func (a *aftermath) note(s survivor, name string) {
	if a.survivors[s] {
		return
	}
	if a.survivors == nil {
		a.survivors = make(map[survivor]bool)
	}
	a.survivors[s] = true
	if len(a.names) < namesKept {
		a.names = append(a.names, name)
	}
}

// forest is every tree of this process that is not yet known to be gone, so that
// the hunt for one leaves the others alone.
type forest struct {
	// planting is held for reading from before a process exists until its tree is
	// in live, and for writing while someone judges which processes have no tree.
	planting sync.RWMutex

	mu   sync.Mutex
	live map[*tree]struct{}
}

var trees = forest{live: make(map[*tree]struct{})}

func (f *forest) add(t *tree) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[t] = struct{}{}
}

func (f *forest) all() []*tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.live))
}

// retire takes a tree that is gone off the list.
func (t *tree) retire() {
	trees.mu.Lock()
	defer trees.mu.Unlock()
	delete(trees.live, t)
}

// reap collects the status of the main process. It must not be called twice at the
// same time; afterwards the process number may be given to somebody else.
func (t *tree) reap() {
	if t.reaped.Load() {
		return
	}
	// An error means that somebody else waited for our child: the status is lost,
	// the end is certain.
	t.exit, _ = t.main.Wait()
	t.reaped.Store(true)
}

var (
	harnessID  = sync.OnceValue(rand.Text)
	treeNumber atomic.Uint64
)

// newToken is unlike that of any other tree, also of other harnesses.
func newToken() string {
	return harnessID() + "." + strconv.FormatUint(treeNumber.Add(1), 10)
}
