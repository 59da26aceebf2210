package pristine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

const (
	// A configuration that is larger is none that somebody wrote.
	keptBytes = 1 << 20
	keptFiles = 1000

	indexName = "index.json"
)

// Surroundings are files outside of the tree that steer checks, as they were before an agent began.
type Surroundings struct {
	folder string
	index  index
}

// index is what is kept. Paths are bytes since those of files are.
type index struct {
	Spots []spot `json:"spots"`
	Kept  []kept `json:"kept"`
}

type kept struct {
	Path    []byte `json:"path"`
	Plain   []byte `json:"plain"` // without links, if none is on the way from the base
	Real    []byte `json:"real"`  // where it was found
	Git     bool   `json:"git,omitempty"`
	Copy    string `json:"copy,omitempty"` // in the folder; "" is something that cannot be kept, and is left alone
	Program bool   `json:"program,omitempty"`
	Group   group  `json:"group,omitempty"`
}

// Remember keeps copies of the surroundings in a folder of its own, or opens those that a call before kept there: they are of the time before the
// agent first ran, also after a crash. env is the environment that checks get, gitDirs are the git folders of the workspace.
func Remember(folder string, env []string, gitDirs []string) (*Surroundings, error) {
	s := &Surroundings{folder: folder}
	text, err := os.ReadFile(filepath.Join(folder, indexName))
	if err == nil {
		if err := json.Unmarshal(text, &s.index); err != nil {
			return nil, fmt.Errorf("read kept surroundings: %w", err)
		}
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read kept surroundings: %w", err)
	}
	if err := s.keep(env, gitDirs); err != nil {
		return nil, fmt.Errorf("keep surroundings: %w", err)
	}
	return s, nil
}

func (s *Surroundings) keep(env []string, gitDirs []string) error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	s.index.Spots = spots(env, gitDirs)
	seen := map[string]bool{}
	for _, spot := range s.index.Spots {
		for _, name := range spot.found() {
			path := spot.path(name)
			if seen[path] || len(s.index.Kept) >= keptFiles {
				continue
			}
			seen[path] = true
			k := kept{Path: []byte(path), Plain: []byte(spot.plain(name)), Real: []byte(realPath(path)), Git: spot.Git, Group: spot.Group}
			text, program, err := readConfig(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				k.Copy, k.Program = fmt.Sprintf("%04d", len(s.index.Kept)), program
				if err := atomicfile.Swap(filepath.Join(s.folder, k.Copy), text, 0o600); err != nil {
					return err
				}
			}
			s.index.Kept = append(s.index.Kept, k)
		}
	}
	text, err := json.Marshal(s.index)
	if err != nil {
		return err
	}
	if err := atomicfile.SyncDir(s.folder); err != nil {
		return err
	}
	// The index comes last: without it nothing counts as kept.
	return atomicfile.Write(filepath.Join(s.folder, indexName), text, 0o600)
}

var errNoConfig = errors.New("not a file of the usual size")

// readConfig reads one file of a user, who may have it somewhere else and linked, but waits for no pipe and reads no disk.
func readConfig(path string) (text []byte, program bool, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() || info.Size() > keptBytes {
		return nil, false, errNoConfig
	}
	text, err = io.ReadAll(io.LimitReader(file, keptBytes+1))
	if err == nil && len(text) > keptBytes {
		err = errNoConfig
	}
	return text, info.Mode()&0o111 != 0, err
}

// change is one file that is not what it was.
type change struct {
	path        string
	plain, real string // as in kept; for what is new there is no real one
	copy        string // of what was there; "" for what is new
	prog        bool
	git         bool
	group       group
	gone        bool
}

// changes compares what was with what is.
func (s *Surroundings) changes() []change {
	if s == nil {
		return nil
	}
	known := make(map[string]bool, len(s.index.Kept))
	var list []change
	for _, k := range s.index.Kept {
		path := string(k.Path)
		known[path] = true
		if k.Copy == "" {
			continue
		}
		c := change{path: path, plain: string(k.Plain), real: string(k.Real), copy: filepath.Join(s.folder, k.Copy), prog: k.Program, git: k.Git, group: k.Group}
		text, program, err := readConfig(path)
		c.gone = errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		before, _ := os.ReadFile(c.copy)
		if err != nil || program != k.Program || !bytes.Equal(text, before) {
			list = append(list, c)
		}
	}
	for _, spot := range s.index.Spots {
		for _, name := range spot.found() {
			path := spot.path(name)
			if info, err := os.Stat(path); !known[path] && err == nil && !info.IsDir() {
				known[path] = true
				list = append(list, change{path: path, plain: spot.plain(name), git: spot.Git, group: spot.Group})
			}
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return list
}

// Changed lists the files that are not what they were: changed, deleted or new. It looks anew every time.
func (s *Surroundings) Changed() []string {
	var paths []string
	for _, c := range s.changes() {
		paths = append(paths, c.path)
	}
	return paths
}

// Unhidden lists those of the changed files whose change checks would see in a view of the workspace dir.
func (s *Surroundings) Unhidden(mode Mode, dir string) []string {
	var paths []string
	for _, c := range s.changes() {
		if s.howToHide(c, mode, dir) == byNothing {
			paths = append(paths, c.path)
		}
	}
	return paths
}
