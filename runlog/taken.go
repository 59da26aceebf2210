package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// takersName is the list of the processes that have conversations of a workspace's runs open.
const takersName = "takers.json"

func takenLock(s *Store, run string) *flock.Flock {
	return flock.New(filepath.Join(s.RunDir(run), "taken.lock"), flock.SetPermissions(fileMode))
}

// takenWait limits the wait for these locks: others hold them for an instant only.
const takenWait = 5 * time.Second

func lockSoon(held *flock.Flock, try func() (bool, error)) error {
	for limit := time.Now().Add(takenWait); ; time.Sleep(lockPause) {
		ok, err := try()
		if err == nil && !ok && time.Now().After(limit) {
			err = fmt.Errorf("another process has held the lock for %s; end that process", takenWait)
		}
		if ok || err != nil {
			return ioError("lock", held.Path(), err)
		}
	}
}

// MarkTaken records that the owner's process has a conversation of the owner's run open, until that process ends or
// calls release. Several processes may do that at once.
func MarkTaken(s *Store, owner Owner) (release func() error, err error) {
	held := takenLock(s, owner.Run)
	if err := lockSoon(held, held.TryRLock); err != nil {
		return nil, fmt.Errorf("mark conversation as open: %w", err)
	}
	if err := editTakers(s, func(all []Owner) []Owner { return append(all, owner) }); err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	return func() error {
		isOwn := func(o Owner) bool { return o.PID == owner.PID && o.Identity == owner.Identity && o.Run == owner.Run }
		err := editTakers(s, func(all []Owner) []Owner { return slices.DeleteFunc(all, isOwn) })
		return errors.Join(err, held.Unlock())
	}, nil
}

// IsTaken reports whether a person has a conversation of a run open. It is false where that cannot be known.
func IsTaken(s *Store, run string) bool {
	probe := takenLock(s, run)
	free, err := probe.TryLock()
	if free {
		_ = probe.Unlock() // closes the file in any case
	}
	return err == nil && !free
}

// OpenTaken returns a run of the workspace of which a person has a conversation open, or "".
func OpenTaken(s *Store) string {
	names, _ := s.names() // without them, nothing is known
	for _, run := range names {
		if _, err := os.Lstat(takenLock(s, run).Path()); err == nil && IsTaken(s, run) {
			return run
		}
	}
	return ""
}

// Takers returns the processes that have a conversation of one of the workspace's runs open. It returns none where that
// cannot be known.
func Takers(s *Store) []Owner {
	var all []Owner
	text, err := os.ReadFile(filepath.Join(s.dir, takersName))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(o Owner) bool { return !o.Visible() })
}

// editTakers changes the list of those processes while no other process does. Dead ones leave it.
func editTakers(s *Store, edit func([]Owner) []Owner) error {
	held := flock.New(filepath.Join(s.dir, takersName+".lock"), flock.SetPermissions(fileMode))
	if err := lockSoon(held, held.TryLock); err != nil {
		return fmt.Errorf("note open conversation: %w", err)
	}
	defer held.Unlock()
	path, all := filepath.Join(s.dir, takersName), edit(Takers(s))
	if len(all) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("note open conversation: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.Write(path, text, fileMode)
	}
	if err != nil {
		return fmt.Errorf("note open conversation: %w", err)
	}
	return nil
}
