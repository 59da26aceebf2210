package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralphloop/ralph/internal/process"
)

// Owner is the process that works on a workspace.
type Owner struct {
	PID      int       `json:"pid"`
	Run      string    `json:"run"`
	Host     string    `json:"host,omitempty"`
	Started  time.Time `json:"started"`
	Identity string    `json:"identity,omitempty"` // tells a process from a later one with the same pid
}

// Locked means that another run holds the workspace. Owner is empty if the holder has not written
// its record yet.
type Locked struct {
	Path  string
	Owner Owner
	// Elsewhere means that the holder uses another state folder, so nothing is known about it.
	Elsewhere bool
}

func (l *Locked) Error() string {
	if l.Elsewhere {
		return "another run is using this workspace: " + l.Path + "; it keeps its state elsewhere, because its HOME or " +
			"RALPH_STATE_DIR is a different one"
	}
	if l.Owner == (Owner{}) {
		return "another run is using this workspace: " + l.Path
	}
	return fmt.Sprintf("another run is using this workspace: run %s, pid %d, since %s",
		l.Owner.Run, l.Owner.PID, l.Owner.Started.Format(time.RFC3339))
}

// Lock is the right to work on a workspace. It ends with Release or with the process.
type Lock struct {
	store  *Store
	flock  *flock.Flock
	folder *flock.Flock // of the workspace itself
	died   bool
}

// AfterDeath reports whether the last holder of the lock died before it released it, and may have left
// files behind.
func (l *Lock) AfterDeath() bool { return l.died }

// recordOffset leaves the first byte to the lock itself, because on Windows no other process can
// read a locked byte.
const recordOffset = 1

const (
	lockTries = 4
	lockPause = 5 * time.Millisecond
	// deadOwnerWait limits the wait for a lock whose owner is dead. A forked child that has not
	// executed its program yet still holds it.
	deadOwnerWait = 5 * time.Second
	// holderWait is the same for a process that only asks who holds the lock.
	holderWait = 500 * time.Millisecond
)

func (s *Store) lockPath() string { return filepath.Join(s.dir, lockName) }

// Lock takes the workspace for owner, or fails with *Locked. It overwrites the record of an owner
// that died.
//
// If the lock is taken, Lock keeps trying for some milliseconds: Holder may have probed it for an
// instant, and a holder may not have written its record yet. If the owner is dead, Lock waits,
// because the lock will be free soon.
func (s *Store) Lock(owner Owner) (*Lock, error) {
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("lock workspace: %w", err)
	}
	path := s.lockPath()
	var seen, before Owner
	begun := time.Now()
	for try := 0; try < lockTries || seen.dead() && time.Since(begun) < deadOwnerWait; try++ {
		file := flock.New(path, flock.SetPermissions(fileMode))
		ok, err := file.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock workspace: %w", ioError("lock", path, err))
		}
		if ok {
			return s.own(file, owner)
		}
		before, seen = seen, readOwner(path)
		if try > 0 && seen == before && seen != (Owner{}) && !seen.dead() {
			break
		}
		time.Sleep(lockPause)
	}
	return nil, &Locked{Path: path, Owner: seen}
}

func (s *Store) own(file *flock.Flock, owner Owner) (*Lock, error) {
	folder, err := lockFolder(s.workspace)
	if err != nil {
		return nil, errors.Join(err, file.Unlock())
	}
	died := readOwner(file.Path()) != (Owner{}) // Release removes the record
	if err := writeOwner(file.Path(), owner); err != nil {
		return nil, errors.Join(fmt.Errorf("lock workspace: %w", err), folder.Unlock(), file.Unlock())
	}
	lock := &Lock{store: s, flock: file, folder: folder, died: died}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = lock
	return lock, nil
}

// lockFolder locks the folder of the workspace, so that a process with another state folder, or in a
// container, does not work in it as well. Some file systems have no such locks; then only processes
// with this state folder are kept out.
func lockFolder(workspace string) (*flock.Flock, error) {
	folder := flock.New(workspace, flock.SetFlag(os.O_RDONLY))
	for begun := time.Now(); ; time.Sleep(lockPause) {
		ok, err := folder.TryLock()
		if ok || err != nil {
			return folder, nil
		}
		if time.Since(begun) > holderWait {
			return nil, &Locked{Path: workspace, Elsewhere: true}
		}
	}
}

// Release gives the workspace back. A second call does nothing.
func (l *Lock) Release() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.held != l {
		return nil
	}
	l.store.held = nil
	err := os.Truncate(l.flock.Path(), recordOffset)
	if err = errors.Join(err, l.folder.Unlock(), l.flock.Unlock()); err != nil {
		return fmt.Errorf("release workspace: %w", err)
	}
	return nil
}

// Holder returns the current holder of the workspace, which may be this process. A lock that stays taken has a
// living holder, even if its process cannot be seen: this process may be in another namespace.
func (s *Store) Holder() (Owner, bool) {
	for begun := time.Now(); ; time.Sleep(lockPause) {
		owner, held := s.probe()
		if !held || !owner.dead() || time.Since(begun) >= holderWait {
			return owner, held
		}
	}
}

func (s *Store) probe() (Owner, bool) {
	probe := flock.New(s.lockPath(), flock.SetFlag(os.O_RDONLY))
	free, err := probe.TryRLock()
	if err != nil { // without the file, it was never held
		return Owner{}, !errors.Is(err, fs.ErrNotExist)
	}
	if free {
		probe.Unlock()
		return Owner{}, false
	}
	return readOwner(s.lockPath()), true
}

// Visible reports whether this process sees the owner's process.
func (o Owner) Visible() bool {
	identity, alive := process.Identity(o.PID)
	return alive && identity == o.Identity
}

// dead reports whether the owner's process seems to be gone. Without an identity, or for another
// machine, that is unknown.
func (o Owner) dead() bool {
	if host, err := os.Hostname(); err != nil || host != o.Host || o.Identity == "" {
		return false
	}
	return !o.Visible()
}

// heldElsewhere returns the holder of the workspace, unless it is this store.
func (s *Store) heldElsewhere() (Owner, bool) {
	s.mu.Lock()
	own := s.held != nil
	s.mu.Unlock()
	if own {
		return Owner{}, false
	}
	return s.Holder()
}

// writeOwner overwrites the record in place, because the locked file must not be replaced.
func writeOwner(path string, owner Owner) error {
	owner.Started = owner.Started.UTC()
	record, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("encode owner: %w", err)
	}
	record = append(record, '\n')
	file, err := os.OpenFile(path, os.O_WRONLY, fileMode)
	if err != nil {
		return ioError("open", path, err)
	}
	err = file.Truncate(recordOffset)
	if err == nil {
		_, err = file.WriteAt(record, recordOffset)
	}
	return ioError("write", path, errors.Join(err, file.Close()))
}

// readOwner returns an empty owner while the record is missing or incomplete.
func readOwner(path string) Owner {
	const longest = 1 << 16
	file, err := os.Open(path)
	if err != nil {
		return Owner{}
	}
	defer file.Close()
	var owner Owner
	record, err := io.ReadAll(io.NewSectionReader(file, recordOffset, longest))
	if err != nil || json.Unmarshal(record, &owner) != nil {
		return Owner{}
	}
	return owner
}
