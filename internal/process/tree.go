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

	"github.com/ralphloop/ralph/internal/process/inside"
)

// tree is one main process and all its descendants.
type tree struct {
	pid     int    // of the process that we wait for: the main process, or its guard
	program int    // of the main process
	token   string // in the environment of all its processes
	since   uint64 // not later than the start of any of them, in system ticks

	main   *os.Process
	exit   *os.ProcessState // of the main process, once it is reaped; nil if unknown
	reaped atomic.Bool

	guard     *guard     // nil without one
	enclosure *handshake // nil without one

	memoryKills int    // when a guarded tree began
	identity    string // of the main process, if it is recorded

	known []int // descendants seen before the kill, on systems where markers cannot be read
}

// leftovers is what was found after the main process ended.
type leftovers struct {
	survivors  map[survivor]bool
	count      int
	names      []string
	unkillable int
	cpu        time.Duration
}

// leads reports whether a session or group is the tree's own.
func (t *tree) leads(number int) bool { return number == t.pid || number == t.program }

// survivor identifies a process, distinct from a later one with the same ID.
type survivor struct {
	pid   int
	start uint64
}

const namesKept = inside.NamesKept

func (a *leftovers) note(s survivor, name string) {
	if a.survivors[s] {
		return
	}
	if a.survivors == nil {
		a.survivors = make(map[survivor]bool)
	}
	a.survivors[s] = true
	a.count++
	if len(a.names) < namesKept {
		a.names = append(a.names, name)
	}
}

// treeList contains every tree of this process that is not yet known to be gone, so that killing
// one tree spares the others.
type treeList struct {
	// starting is held for reading from before a process exists until its tree is in live, and for
	// writing while determining which processes have no tree.
	starting sync.RWMutex

	mu   sync.Mutex
	live map[*tree]struct{}
}

var trees = treeList{live: make(map[*tree]struct{})}

func (f *treeList) add(t *tree) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[t] = struct{}{}
}

func (f *treeList) all() []*tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.live))
}

// retire removes a tree that is gone from the list.
func (t *tree) retire() {
	if t.guard != nil {
		t.recordIn(treeEnded)
	}
	trees.mu.Lock()
	defer trees.mu.Unlock()
	delete(trees.live, t)
}

// reap collects the status of the main process. It must not be called twice at the same time.
// Afterwards the system may reuse the process ID.
func (t *tree) reap() {
	if t.reaped.Load() {
		return
	}
	// An error means that other code waited for our child: the status is lost, but it has ended.
	t.exit, _ = t.main.Wait()
	t.reaped.Store(true)
}

var (
	harnessID  = sync.OnceValue(rand.Text)
	treeNumber atomic.Uint64
)

// newToken returns a token that no other tree has, even of other harnesses.
func newToken() string {
	return harnessID() + "." + strconv.FormatUint(treeNumber.Add(1), 10)
}
