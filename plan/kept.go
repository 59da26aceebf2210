package plan

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// Files of the keep folder, outside the workspace: the files of the list in one archive, so that a
// kill leaves all of them or none, and anyone can extract them with tar; the list that an agent
// damaged last; the mark of a list that could not be read; and that of a list that could not be
// written.
const (
	keptName     = "list.tar"
	injuredName  = "injured.tar"
	rejectedName = "rejected"
	owedName     = "owed"
)

// linkRecord records that a file was reached through a symbolic link.
const linkRecord = "RALPH.link"

func saveSnapshot(dir, name string, s snapshot) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range s.order() {
		header := &tar.Header{Name: file, Mode: int64(s.modes[file]), Size: int64(len(s.files[file])), Format: tar.FormatPAX}
		if link := s.links[file]; link != "" {
			header.PAXRecords = map[string]string{linkRecord: link}
		}
		err := w.WriteHeader(header)
		if err == nil {
			_, err = w.Write(s.files[file])
		}
		if err != nil {
			return fmt.Errorf("keep list: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("keep list: %w", err)
	}
	return keepFile(dir, name, archive.Bytes())
}

// order returns the list first, then its other files by name.
func (s snapshot) order() []string {
	names := slices.Sorted(maps.Keys(s.files))
	if i := slices.Index(names, s.path); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, s.path)
	}
	return names
}

// keepFile writes a file of the keep folder durably.
func keepFile(dir, name string, data []byte) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, name), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep list: %w", err)
	}
	return nil
}

// loadSnapshot reads a saved snapshot; false if there is none.
func loadSnapshot(dir, name string) (snapshot, bool, error) {
	s := newSnapshot("")
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read kept list: %w", err)
	}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s, len(s.files) > 0, nil
		}
		if err != nil {
			return s, false, fmt.Errorf("read kept list: %w", err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return s, false, fmt.Errorf("read kept list: %w", err)
		}
		s.path = cmp.Or(s.path, header.Name)
		s.files[header.Name], s.modes[header.Name] = content, fs.FileMode(header.Mode).Perm()
		if link := header.PAXRecords[linkRecord]; link != "" {
			s.links[header.Name] = link
		}
	}
}

// fingerprint identifies a snapshot, including files that cannot be read.
func (s snapshot) fingerprint() string {
	h := sha256.New()
	for _, name := range s.order() {
		fmt.Fprintf(h, "%q %d\n", name, len(s.files[name]))
		h.Write(s.files[name])
	}
	for _, notes := range []map[string]string{s.links, s.trouble} {
		for _, name := range slices.Sorted(maps.Keys(notes)) {
			fmt.Fprintf(h, "%q %q\n", name, notes[name])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func loadMark(dir, name string) string {
	// Without the mark, a change is attributed to the last possible writer; nothing worse happens.
	data, _ := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(data))
}
