package pristine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// journal is a folder with one entry for every call that edits. An entry is a folder that gets its
// final name once it is completely on disk; only then are its edits made. It loses that name once
// all of them are undone.
type journal struct{ path string }

const (
	listName         = "list"
	incompleteSuffix = ".new"
	undoneSuffix     = ".done"
)

// journalEntry is the list of one entry. Names are bytes because file names are.
type journalEntry struct {
	Dir   []byte          `json:"dir"`
	Paths []originalState `json:"places"` // Paths lists folders before their contents.
}

// originalState is what was at a path before the edits.
type originalState struct {
	Name []byte      `json:"name"`
	Kind kind        `json:"kind"`
	Mode fs.FileMode `json:"mode,omitempty"`
	Time int64       `json:"time,omitempty"` // modification time in nanoseconds
	UID  int         `json:"uid,omitempty"`
	GID  int         `json:"gid,omitempty"`
	// Target is where a link leads.
	Target []byte `json:"target,omitempty"`
	// Saved is the copy of a file, in the entry's folder.
	Saved string `json:"saved,omitempty"`
	// Digest is the digest of a file's content, or of the names in a folder.
	Digest string `json:"digest,omitempty"`
	// Put is the digest of the file that the edit puts here. Content that matches neither Put nor
	// Digest was written by someone else and must be saved.
	Put string `json:"put,omitempty"`
	// ParentOnly marks a folder that only leads to something that is edited.
	ParentOnly bool `json:"way,omitempty"`
}

type kind string

const (
	absent   kind = "absent"
	isFile   kind = "file"
	isLink   kind = "link"
	isFolder kind = "folder"
)

// entryNames lists the complete entries, oldest first.
func (j *journal) entryNames() ([]string, error) {
	entries, err := os.ReadDir(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && path.Ext(entry.Name()) == "" {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// begin records the original state of everything that edits will change.
func (j *journal) begin(ctx context.Context, dir string, edits []Edit) error {
	entries, err := j.entryNames()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.path, 0o700); err != nil {
		return err
	}
	name := filepath.Join(j.path, fmt.Sprintf("%06d", len(entries)+1))
	if err := removeAll(j.path, filepath.Base(name)+incompleteSuffix); err != nil {
		return err
	}
	if err := os.Mkdir(name+incompleteSuffix, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	s := stateRecorder{ctx: ctx, root: root, folder: name + incompleteSuffix, states: make(map[string]*originalState)}
	for _, e := range edits {
		if err := s.recordEdit(e); err != nil {
			return fmt.Errorf("save %s: %w", e.Name, err)
		}
	}
	text, err := json.Marshal(journalEntry{Dir: []byte(dir), Paths: s.sorted()})
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(name+incompleteSuffix, listName), strings.NewReader(string(text))); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(name + incompleteSuffix); err != nil {
		return err
	}
	if err := os.Rename(name+incompleteSuffix, name); err != nil {
		return err
	}
	return errors.Join(atomicfile.SyncDir(j.path), atomicfile.SyncDir(filepath.Dir(j.path)))
}

// stateRecorder records what edits will change.
type stateRecorder struct {
	ctx    context.Context // the context of begin, a single call
	root   *os.Root
	folder string
	states map[string]*originalState
	saved  int
}

// recordEdit records the target of an edit and the folders that lead to it.
func (s *stateRecorder) recordEdit(e Edit) error {
	name := path.Clean(e.Name)
	for folder := range parentFolders(name) {
		p, err := s.record(folder)
		if err != nil {
			return err
		}
		if _, known := s.states[folder]; !known {
			p.ParentOnly = true
			s.states[folder] = p
		}
		if p.Kind == absent && e.Source == "" || p.Kind == isFile || p.Kind == isLink {
			// either nothing is there to remove, or everything below is replaced together with this
			return nil
		}
	}
	if known := s.states[name]; known != nil && !known.ParentOnly {
		return nil
	}
	p, err := s.record(name)
	if err != nil {
		return err
	}
	if p.Kind == absent && e.Source == "" {
		return nil // if a check creates it, it stays
	}
	s.states[name] = p
	if e.Source != "" {
		if p.Put, err = digestOf(e.Source); err != nil {
			return err
		}
	}
	if p.Kind == isFolder {
		return s.recordFolder(name)
	}
	return nil
}

// digestOf returns the digest of a regular file, or "" for anything else.
func digestOf(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// parentFolders yields the folders that lead to a name, the workspace itself first.
func parentFolders(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(".") {
			return
		}
		for i, r := range name {
			if r == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// recordFolder records everything in a folder that is replaced as a whole.
func (s *stateRecorder) recordFolder(folder string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, err := readFolder(s.root, folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		p, err := s.record(name)
		if err != nil {
			return err
		}
		s.states[name] = p
		if p.Kind == isFolder {
			if err := s.recordFolder(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// record describes what is at a path now, and saves a copy if it is a file.
func (s *stateRecorder) record(name string) (*originalState, error) {
	if known := s.states[name]; known != nil && known.Saved != "" {
		return known, nil
	}
	p := &originalState{Name: []byte(name), Kind: absent}
	info, err := s.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.Mode, p.Time = info.Mode(), info.ModTime().UnixNano()
	p.UID, p.GID = ownerOf(info)
	switch info.Mode().Type() {
	case fs.ModeDir:
		p.Kind = isFolder
		p.Digest, err = folderDigest(s.root, name)
	case fs.ModeSymlink:
		p.Kind = isLink
		var target string
		target, err = s.root.Readlink(filepath.FromSlash(name))
		p.Target = []byte(target)
	case 0:
		p.Kind = isFile
		s.saved++
		p.Saved = fmt.Sprintf("%06d", s.saved)
		p.Digest, err = s.save(name, p.Saved)
	default:
		return nil, fmt.Errorf("%s is not a file, folder or link", name)
	}
	return p, err
}

func (s *stateRecorder) save(name, saved string) (digest string, err error) {
	from, err := s.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer from.Close()
	hash := sha256.New()
	if err := writeSynced(filepath.Join(s.folder, saved), io.TeeReader(from, hash)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (s *stateRecorder) sorted() []originalState {
	list := make([]originalState, 0, len(s.states))
	for _, p := range s.states {
		list = append(list, *p)
	}
	key := func(p originalState) string { return strings.TrimPrefix(string(p.Name)+"/", "./") }
	slices.SortFunc(list, func(a, b originalState) int { return strings.Compare(key(a), key(b)) })
	return list
}

// readFolder lists a folder sorted by name. An fs.FS cannot be used because it rejects names that
// are not UTF-8.
func readFolder(root *os.Root, name string) ([]fs.DirEntry, error) {
	folder, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// folderDigest detects whether the names in a folder changed.
func folderDigest(root *os.Root, name string) (string, error) {
	entries, err := readFolder(root, name)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, entry := range entries {
		io.WriteString(hash, entry.Name()+"\x00")
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func writeSynced(path string, from io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	return file.Sync()
}
