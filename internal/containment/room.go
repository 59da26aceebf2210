package containment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// Room is the wall of a run. It may be used by several goroutines at once.
type Room struct {
	tier   sandbox.Tier
	temp   string
	absent []string // files that a tier makes where it mounts something

	mu    sync.Mutex
	fills []string // what it made where settings were missing
}

// Open makes what a run needs in a tier. The caller closes the room when the run has ended.
func Open(tier sandbox.Tier, run string) (*Room, error) {
	r := &Room{tier: tier}
	if tier == sandbox.None {
		return r, nil
	}
	temp, err := os.MkdirTemp("", "ralph-room-"+run+"-")
	if err == nil {
		temp, err = filepath.EvalSymlinks(temp)
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	r.temp = temp
	return r, nil
}

// KeepAbsent says which files do not exist and must not come to exist. Call it before Enter.
func (r *Room) KeepAbsent(paths []string) { r.absent = paths }

// Close removes what the room and its tier made.
func (r *Room) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range r.fills {
		unfill(path)
	}
	r.fills = nil
	if r.temp == "" {
		return nil
	}
	for _, path := range r.absent {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			_ = os.Remove(path) // it means nothing to git
		}
	}
	if err := removeAll(r.temp); err != nil {
		return fmt.Errorf("remove the folder for temporary files: %w", err)
	}
	return nil
}

// removeAll removes a folder, even if parts of it are read-only.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(folder)
}

// Enter returns a function that makes commands start behind a wall; nil if there is none.
func (r *Room) Enter(place Place) func(*process.Spec) {
	if r == nil || r.tier == sandbox.None {
		return nil
	}
	place.Temp, place.GitAbsent = r.temp, r.absent
	if r.tier.Contains() { // the others cannot keep a file in a folder that changes
		r.mu.Lock()
		r.fills = append(r.fills, place.fill()...)
		r.mu.Unlock()
	}
	var first sync.Once
	return func(s *process.Spec) {
		here := place
		here.Env = s.Env
		first.Do(here.makeCaches)
		here.Read = append(slices.Clone(place.Read), s.Needs...)
		s.Argv = absolute(s.Argv, s.Env)
		here.Programs = append(slices.Clone(place.Programs), s.Argv[0])
		command := r.tier.Enclose(sandbox.Command{Argv: s.Argv, Dir: s.Dir, Env: s.Env}, here.Wall())
		s.Argv, s.Dir, s.Env = command.Argv, command.Dir, command.Env
		if r.tier == sandbox.Bwrap || r.tier == sandbox.Landlock {
			s.Guarded, s.Filtered = true, true
		}
		if command.Offline {
			if s.Enclosure == nil {
				s.Enclosure = &process.Enclosure{}
			}
			s.Enclosure.NoNetwork = true
		}
	}
}
