package pristine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	// Files larger than this are not handwritten configuration.
	maxConfigBytes = 1 << 20
	maxConfigFiles = 1000

	indexName = "index.json"
)

// Surroundings are files outside the tree that affect checks, as they were before an agent started.
type Surroundings struct {
	folder string
	index  index

	env, gitDirs []string
}

// index lists what is saved. Paths are bytes because file names are.
type index struct {
	Globs []configGlob `json:"spots"`
	Files []savedFile  `json:"kept"`
}

// has reports whether a pattern is known.
func (x *index) has(g configGlob) bool {
	return slices.ContainsFunc(x.Globs, func(known configGlob) bool {
		return bytes.Equal(known.Base, g.Base) && known.Pattern == g.Pattern
	})
}

type savedFile struct {
	Path []byte `json:"path"`
	// Unlinked is the path below the resolved base, if no further link is on the way.
	Unlinked []byte `json:"plain"`
	Real     []byte `json:"real"` // where it was found, with links resolved
	Git      bool   `json:"git,omitempty"`
	// Copy is a file in the folder; "" marks a file that could not be saved and is left alone.
	Copy    string      `json:"copy,omitempty"`
	Program bool        `json:"program,omitempty"`
	Group   configGroup `json:"group,omitempty"`
}

// SaveSurroundings saves copies of the surroundings in a folder, or opens those that an earlier
// call saved there. They always date from before the agent first ran, even after a crash. env is
// the environment of checks, and gitDirs are the git folders of the workspace.
func SaveSurroundings(folder string, env []string, gitDirs []string) (*Surroundings, error) {
	s, _, err := SaveAfter(folder, env, gitDirs, Earlier{})
	return s, err
}

// SaveAfter is SaveSurroundings after another run. It also names the files that it saved as they were before that run;
// there are none if an earlier call saved them.
func SaveAfter(folder string, env, gitDirs []string, after Earlier) (s *Surroundings, kept []string, err error) {
	s, err = openSaved(folder)
	if err == nil {
		s.env, s.gitDirs = env, gitDirs
		return s, nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	s = &Surroundings{folder: folder, env: env, gitDirs: gitDirs}
	if kept, err = s.save(after); err != nil {
		return nil, nil, fmt.Errorf("save surroundings: %w", err)
	}
	return s, kept, nil
}

// openSaved opens what SaveSurroundings saved.
func openSaved(folder string) (*Surroundings, error) {
	s := &Surroundings{folder: folder}
	text, err := os.ReadFile(filepath.Join(folder, indexName))
	if err == nil {
		err = json.Unmarshal(text, &s.index)
	}
	if err != nil {
		return nil, fmt.Errorf("read saved surroundings: %w", err)
	}
	return s, nil
}

func (s *Surroundings) save(after Earlier) (kept []string, err error) {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, err
	}
	if err := s.saveMatches(append(configGlobs(s.env, s.gitDirs), namedEarlier(after)...)); err != nil {
		return nil, err
	}
	if kept, err = s.keepEarlier(after); err != nil {
		return nil, err
	}
	return kept, s.writeIndex()
}

// saveMatches adds patterns, and saves the files that match. Those that other patterns match are known: one that is not
// saved was added since.
func (s *Surroundings) saveMatches(globs []configGlob) error {
	seen := map[string]bool{}
	for _, k := range s.index.Files {
		seen[string(k.Path)] = true
	}
	for _, spot := range s.index.Globs {
		for _, name := range spot.matches() {
			seen[spot.path(name)] = true
		}
	}
	for _, spot := range globs {
		if s.index.has(spot) {
			continue
		}
		s.index.Globs = append(s.index.Globs, spot)
		for _, name := range spot.matches() {
			path := spot.path(name)
			if seen[path] || len(s.index.Files) >= maxConfigFiles {
				continue
			}
			seen[path] = true
			k := savedFile{
				Path:     []byte(path),
				Unlinked: []byte(spot.unlinkedPath(name)),
				Real:     []byte(realPath(path)),
				Git:      spot.Git,
				Group:    spot.Group,
			}
			text, program, err := readConfig(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				k.Copy, k.Program = s.newCopy(), program
				if err := atomicfile.Swap(filepath.Join(s.folder, k.Copy), text, 0o600); err != nil {
					return err
				}
			}
			s.index.Files = append(s.index.Files, k)
		}
	}
	return nil
}

// newCopy returns the name of a copy that no other file has.
func (s *Surroundings) newCopy() string {
	for n := len(s.index.Files); ; n++ {
		name := fmt.Sprintf("%04d", n)
		if !slices.ContainsFunc(s.index.Files, func(k savedFile) bool { return k.Copy == name }) {
			return name
		}
	}
}

// writeIndex is called last: without the index nothing counts as saved.
func (s *Surroundings) writeIndex() error {
	text, err := json.Marshal(s.index)
	if err != nil {
		return err
	}
	if err := atomicfile.SyncDir(s.folder); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(s.folder, indexName), text, 0o600)
}

var errNotConfig = errors.New("not a regular file of normal size")

// readConfig reads one configuration file, which may be a link. It does not block on a pipe and
// does not read devices.
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
	if !info.Mode().IsRegular() || info.Size() > maxConfigBytes {
		return nil, false, errNotConfig
	}
	text, err = io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err == nil && len(text) > maxConfigBytes {
		err = errNotConfig
	}
	return text, info.Mode()&0o111 != 0, err
}

// change is one file that differs from its saved copy.
type change struct {
	path           string
	unlinked, real string // as in savedFile; real is "" for a new file
	copy           string // path of the saved copy; "" for a new file
	program        bool
	git            bool
	group          configGroup
	gone           bool
}

// changes compares the saved files with the current ones.
func (s *Surroundings) changes() []change {
	if s == nil {
		return nil
	}
	known := make(map[string]bool, len(s.index.Files))
	var list []change
	for _, k := range s.index.Files {
		path := string(k.Path)
		known[path] = true
		if k.Copy == "" {
			continue
		}
		c := change{
			path:     path,
			unlinked: string(k.Unlinked),
			real:     string(k.Real),
			copy:     filepath.Join(s.folder, k.Copy),
			program:  k.Program,
			git:      k.Git,
			group:    k.Group,
		}
		text, program, err := readConfig(path)
		c.gone = errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		before, _ := os.ReadFile(c.copy)
		if err != nil || program != k.Program || !bytes.Equal(text, before) {
			list = append(list, c)
		}
	}
	for _, spot := range s.index.Globs {
		for _, name := range spot.matches() {
			path := spot.path(name)
			if info, err := os.Stat(path); !known[path] && err == nil && !info.IsDir() {
				known[path] = true
				list = append(list, change{path: path, unlinked: spot.unlinkedPath(name), git: spot.Git, group: spot.Group})
			}
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return list
}

// Changed lists the files that were changed, deleted or added. It looks again on every call.
func (s *Surroundings) Changed() []string {
	var paths []string
	for _, c := range s.changes() {
		paths = append(paths, c.path)
	}
	return paths
}

// VisibleChanges lists the changed files whose change checks would see in a view of the workspace
// dir.
func (s *Surroundings) VisibleChanges(mode Mode, dir string) []string {
	var paths []string
	for _, c := range s.changes() {
		if s.hideMethodFor(c, mode, dir) == cannotHide {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// Identity returns a digest of the files as they were saved, and of where they are.
func (s *Surroundings) Identity() (string, error) {
	sum := sha256.New()
	for _, k := range s.index.Files {
		fmt.Fprintf(sum, "%q %q %t\n", k.Path, k.Real, k.Program)
		if k.Copy == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.folder, k.Copy))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
