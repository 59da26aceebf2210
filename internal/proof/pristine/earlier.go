package pristine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// leftName is the file that says how a run left what changed while it worked: digests by path.
const leftName = "left.json"

// Earlier are the surroundings of the last run, if it did not prove its work. What its agent changed there must not
// become the state that a new run begins with.
type Earlier struct {
	Folder string // of SaveSurroundings; "" if there is none
	// Working means that the agent may have worked on after the run, so everything that changed is its work.
	Working  bool
	Accepted []string // paths whose changes are the user's
}

// NoteLeft records how a run leaves the files that changed since it began. What changes later is the user's.
func NoteLeft(folder string) error {
	s, err := openSaved(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	left := map[string]string{}
	for _, c := range s.changes() {
		left[c.path] = digestOf(c.path)
	}
	text, err := json.Marshal(left)
	if err == nil {
		err = atomicfile.Write(filepath.Join(folder, leftName), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record surroundings: %w", err)
	}
	return nil
}

// digestOf identifies the content of a file. It is "" for one that cannot be read.
func digestOf(path string) string {
	text, program, err := readConfig(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%s %t", hex.EncodeToString(sum[:]), program)
}

// namedEarlier returns the files that git's configuration named before an earlier run. If that run's agent changed the
// configuration, checks get it as it was, and with it these names.
func namedEarlier(after Earlier) []configGlob {
	if after.Folder == "" {
		return nil
	}
	then, err := openSaved(after.Folder)
	if err != nil { // keepEarlier says why
		return nil
	}
	return slices.DeleteFunc(then.index.Globs, func(g configGlob) bool { return !g.Named })
}

// keepEarlier saves the files that an earlier run's agent changed as they were before it. It returns their paths.
func (s *Surroundings) keepEarlier(after Earlier) (kept []string, err error) {
	if after.Folder == "" {
		return nil, nil
	}
	then, err := openSaved(after.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var left map[string]string
	text, err := os.ReadFile(filepath.Join(after.Folder, leftName))
	if err == nil {
		err = json.Unmarshal(text, &left)
	}
	known := err == nil
	if !known && !after.Working { // a run of an earlier version
		return nil, nil
	}
	for _, c := range then.changes() {
		if as, changed := left[c.path]; known && (!changed || as != digestOf(c.path)) ||
			slices.Contains(after.Accepted, c.path) {
			continue
		}
		if err := s.saveFrom(then, c); err != nil {
			return nil, err
		}
		kept = append(kept, c.path)
	}
	return kept, nil
}

// saveFrom takes over how another record has a file: its content, or that there was none.
func (s *Surroundings) saveFrom(then *Surroundings, c change) error {
	s.index.Files = slices.DeleteFunc(s.index.Files, func(k savedFile) bool { return string(k.Path) == c.path })
	i := slices.IndexFunc(then.index.Files, func(k savedFile) bool { return string(k.Path) == c.path })
	if i < 0 || c.copy == "" {
		return nil
	}
	text, err := os.ReadFile(c.copy)
	if err != nil {
		return err
	}
	k := then.index.Files[i]
	k.Copy = fmt.Sprintf("earlier-%04d", len(s.index.Files))
	s.index.Files = append(s.index.Files, k)
	return atomicfile.Swap(filepath.Join(s.folder, k.Copy), text, 0o600)
}

// Accept takes files as they are now: their changes are the user's. It returns those that it knows.
func (s *Surroundings) Accept(paths []string) (known []string, err error) {
	if s == nil {
		return nil, nil
	}
	for _, c := range s.changes() {
		if !slices.Contains(paths, c.path) {
			continue
		}
		known = append(known, c.path)
		i := slices.IndexFunc(s.index.Files, func(k savedFile) bool { return string(k.Path) == c.path })
		k := savedFile{
			Path: bytes.Clone([]byte(c.path)), Unlinked: []byte(c.unlinked), Real: []byte(realPath(c.path)), Git: c.git,
			Group: c.group,
		}
		if i >= 0 {
			k = s.index.Files[i]
			s.index.Files = slices.Delete(s.index.Files, i, i+1)
		}
		text, program, err := readConfig(c.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		k.Copy = ""
		if err == nil {
			sum := sha256.Sum256([]byte(c.path))
			k.Copy, k.Program = "accepted-"+hex.EncodeToString(sum[:8]), program
			if err := atomicfile.Swap(filepath.Join(s.folder, k.Copy), text, 0o600); err != nil {
				return nil, fmt.Errorf("accept surroundings: %w", err)
			}
		}
		s.index.Files = append(s.index.Files, k)
	}
	if len(known) == 0 {
		return nil, nil
	}
	// What an accepted configuration of git names counts from now on.
	if err = s.saveMatches(namedByGit(s.env, s.gitDirs)); err == nil {
		err = s.writeIndex()
	}
	if err != nil {
		return nil, fmt.Errorf("accept surroundings: %w", err)
	}
	return known, nil
}
