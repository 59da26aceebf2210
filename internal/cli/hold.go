package cli

import (
	"errors"
	"os"
	"time"

	"github.com/ralphloop/ralph/process"
	"github.com/ralphloop/ralph/runlog"
)

const (
	lockPatience = 5 * time.Second
	lockPause    = 10 * time.Millisecond
)

// lock takes the workspace for a run, or says who has it.
//
// A process that is killed in the middle of starting another leaves its lock to that one until it has begun, which is soon, but not at once on a busy
// machine. So a lock whose owner is dead is waited for.
func lock(store *runlog.Store, run string) (*runlog.Lock, error) {
	host, _ := os.Hostname()
	identity, _ := process.Identity(os.Getpid())
	owner := runlog.Owner{PID: os.Getpid(), Run: run, Host: host, Started: time.Now().UTC(), Identity: identity}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		held, err := store.Lock(owner)
		var locked *runlog.Locked
		if !errors.As(err, &locked) || !isDead(locked.Owner) || time.Now().After(deadline) {
			return held, err
		}
	}
}

// holder tells who works on the workspace right now.
func holder(store *runlog.Store) (runlog.Owner, bool) {
	owner, held := store.Holder()
	return owner, held && !isDead(owner)
}

// isDead reports whether the process that wrote itself into a lock is known to be gone.
func isDead(owner runlog.Owner) bool {
	host, _ := os.Hostname()
	if owner.PID == 0 || owner.Identity == "" || owner.Host != host {
		return false // nobody can tell from here
	}
	identity, exists := process.Identity(owner.PID)
	return !exists || identity != owner.Identity
}
