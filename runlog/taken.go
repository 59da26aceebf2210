package runlog

import (
	"fmt"
	"path/filepath"

	"github.com/gofrs/flock"
)

func takenLock(s *Store, run string) *flock.Flock {
	return flock.New(filepath.Join(s.RunDir(run), "taken.lock"), flock.SetPermissions(fileMode))
}

// MarkTaken records that a person has a conversation of a run open, until the process ends or calls release. Several
// processes may do that at once.
func MarkTaken(s *Store, run string) (release func() error, err error) {
	held := takenLock(s, run)
	if err := held.RLock(); err != nil {
		return nil, fmt.Errorf("mark conversation as open: %w", ioError("lock", held.Path(), err))
	}
	return held.Unlock, nil
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
