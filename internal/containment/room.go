package containment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// Room is the wall of a run. It may be used by several goroutines at once.
type Room struct {
	tier    sandbox.Tier
	run     string
	temp    string
	docker  docker
	sbx     *microVMs
	stop    func()       // ends what accompanies the run
	started atomic.Int64 // containers

	bwrap  string   // the path of the program
	absent []string // files that a tier makes where it mounts something
	own    string   // a folder that no agent sees
	empty  string   // a file in it, without content
	mu     sync.Mutex
	fills  map[string]*os.File // what was made where settings were missing, locked
	links  map[string]string   // links that an agent could replace, with their targets
}

// Options say what a room is for.
type Options struct {
	Tier      sandbox.Tier
	Run       string
	Env       []string // of the user, for the program of a tier
	Workspace string
	State     string // Ralph's folder for what outlives a run
}

// Open makes what a run needs in a tier. The caller closes the room when the run has ended.
func Open(ctx context.Context, o Options) (*Room, error) {
	switch o.Tier {
	case sandbox.None:
		return &Room{tier: o.Tier}, nil
	case sandbox.Docker:
		d, err := reachDocker(ctx, o.Env, o.Workspace)
		if err != nil {
			return nil, err
		}
		return d.open(o.Run)
	case sandbox.Sbx:
		return openSbx(ctx, o)
	}
	r, err := newRoom(o.Tier, o.Run)
	if err == nil && o.Tier == sandbox.Bwrap {
		r.bwrap, err = locateBwrap(o.Env, o.Workspace)
	}
	return r, err
}

// locateBwrap finds bwrap, but not where an agent could have put it.
func locateBwrap(env []string, workspace string) (string, error) {
	path, err := locateOutside(workspace, "bwrap", env)
	if err != nil {
		return "", &Unavailable{Tier: sandbox.Bwrap, Why: "bwrap is not on PATH", Fix: fixes[sandbox.Bwrap]}
	}
	return path, nil
}

func newRoom(tier sandbox.Tier, run string) (*Room, error) {
	r := &Room{
		tier: tier, run: run, stop: func() {}, fills: map[string]*os.File{}, links: map[string]string{},
	}
	for _, folder := range []*string{&r.temp, &r.own} {
		made, err := os.MkdirTemp("", "ralph-room-")
		if err == nil {
			made, err = filepath.EvalSymlinks(made)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a folder for temporary files: %w", err), r.removeFolders())
		}
		*folder = made
	}
	r.empty = filepath.Join(r.own, "empty")
	if err := cmp.Or(touch(r.empty), os.Chmod(r.empty, 0o444)); err != nil { // every user of a container reads it
		return nil, errors.Join(err, r.removeFolders())
	}
	return r, nil
}

func (r *Room) removeFolders() error {
	for _, folder := range []string{r.temp, r.own} {
		if folder == "" {
			continue
		}
		if err := removeAll(folder); err != nil {
			return fmt.Errorf("remove the folder for temporary files: %w", err)
		}
	}
	return nil
}

// KeepAbsent says which files do not exist and must not come to exist. Call it before Enter.
func (r *Room) KeepAbsent(paths []string) { r.absent = paths }

// Close removes what the room and its tier made, and restores the links that an agent replaced.
func (r *Room) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, held := range r.fills {
		unfill(path, held)
	}
	clear(r.fills)
	r.restoreLinks()
	if r.temp == "" {
		return nil
	}
	for _, path := range r.absent {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			_ = os.Remove(path) // it means nothing to git
		}
	}
	r.stop()
	return r.removeFolders()
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
	place.Temp, place.Empty, place.GitAbsent = r.temp, r.empty, r.absent
	r.fill(place)
	if r.tier == sandbox.Bwrap || r.tier == sandbox.Docker { // the others cannot show a copy
		place.Copies = slices.Clone(place.Copies)
		for i, c := range place.Copies {
			place.Copies[i].From = r.copyFile(c.Of)
		}
	}
	place.Copies = slices.DeleteFunc(place.Copies, func(c Copy) bool { return c.From == "" })
	r.noteLinks(place.LooseLinks())
	var first sync.Once
	return func(s *process.Spec) {
		here := place
		here.Env = s.Env
		first.Do(here.makeCaches)
		r.fill(here) // another run may have ended, and removed what it made
		if s.Dir != "" && !isWithin(s.Dir, place.Workspace) {
			here.Workspace = s.Dir // a copy, made for this command
		}
		switch r.tier {
		case sandbox.Docker:
			here.Needs = s.Needs
			r.enterContainer(s, here)
			return
		case sandbox.Sbx:
			r.sbx.enter(s, here)
			return
		}
		here.Read = append(slices.Clone(place.Read), s.Needs...)
		s.Argv = absolute(s.Argv, s.Env)
		here.Programs = append(slices.Clone(place.Programs), s.Argv[0])
		command := r.tier.Enclose(sandbox.Command{Argv: s.Argv, Dir: s.Dir, Env: s.Env}, here.Wall())
		s.Argv, s.Dir, s.Env = command.Argv, command.Dir, command.Env
		if r.tier == sandbox.Bwrap {
			s.Argv[0] = r.bwrap
		}
		if r.tier.IsLocal() {
			s.Guarded, s.Filtered, s.Limits = true, true, here.TreeLimits()
		}
		if command.Offline {
			if s.Enclosure == nil {
				s.Enclosure = &process.Enclosure{}
			}
			s.Enclosure.NoNetwork = true
		}
	}
}
