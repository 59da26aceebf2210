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

// journal is a folder with one chapter for every call that edits. A chapter is a folder that gets its name when all of it is on disk; only then are
// its edits made. It loses its name when all of it is undone.
type journal struct{ path string }

const (
	listName = "list"
	unborn   = ".new"
	undone   = ".done"
)

// chapter is the list of one chapter. Names are bytes since those of files are.
type chapter struct {
	Dir    []byte  `json:"dir"`
	Places []place `json:"places"` // folders before what is in them
}

// place is what was at a name before the edits.
type place struct {
	Name []byte      `json:"name"`
	Kind kind        `json:"kind"`
	Mode fs.FileMode `json:"mode,omitempty"`
	Time int64       `json:"time,omitempty"` // when it was changed, in nanoseconds
	UID  int         `json:"uid,omitempty"`
	GID  int         `json:"gid,omitempty"`
	// Target of a link.
	Target []byte `json:"target,omitempty"`
	// Saved is the copy of a file, in the chapter's folder.
	Saved string `json:"saved,omitempty"`
	// Digest is of a file's content, or of the names in a folder.
	Digest string `json:"digest,omitempty"`
	// Put is the digest of a file that is put there; what is neither that nor what was before is somebody's work.
	Put string `json:"put,omitempty"`
	// Way says that it only leads to something that is edited.
	Way bool `json:"way,omitempty"`
}

type kind string

const (
	absent   kind = "absent"
	isFile   kind = "file"
	isLink   kind = "link"
	isFolder kind = "folder"
)

// chapters lists those that count, the oldest first.
func (j *journal) chapters() ([]string, error) {
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

// begin writes down what edits will change.
func (j *journal) begin(ctx context.Context, dir string, edits []Edit) error {
	chapters, err := j.chapters()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.path, 0o700); err != nil {
		return err
	}
	name := filepath.Join(j.path, fmt.Sprintf("%06d", len(chapters)+1))
	if err := wipe(j.path, filepath.Base(name)+unborn); err != nil {
		return err
	}
	if err := os.Mkdir(name+unborn, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	s := survey{ctx: ctx, root: root, folder: name + unborn, places: make(map[string]*place)}
	for _, e := range edits {
		if err := s.edit(e); err != nil {
			return fmt.Errorf("save %s: %w", e.Name, err)
		}
	}
	text, err := json.Marshal(chapter{Dir: []byte(dir), Places: s.sorted()})
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(name+unborn, listName), strings.NewReader(string(text))); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(name + unborn); err != nil {
		return err
	}
	if err := os.Rename(name+unborn, name); err != nil {
		return err
	}
	return errors.Join(atomicfile.SyncDir(j.path), atomicfile.SyncDir(filepath.Dir(j.path)))
}

// survey finds out what edits will change.
type survey struct {
	ctx    context.Context // of begin, which is one call
	root   *os.Root
	folder string
	places map[string]*place
	saved  int
}

// edit notes the place of an edit and those that lead to it.
func (s *survey) edit(e Edit) error {
	name := path.Clean(e.Name)
	for folder := range leading(name) {
		p, err := s.note(folder)
		if err != nil {
			return err
		}
		if _, known := s.places[folder]; !known {
			p.Way = true
			s.places[folder] = p
		}
		if p.Kind == absent && e.Source == "" || p.Kind == isFile || p.Kind == isLink {
			return nil // nothing is there that could be taken away, or all below makes way with this
		}
	}
	if known := s.places[name]; known != nil && !known.Way {
		return nil
	}
	p, err := s.note(name)
	if err != nil {
		return err
	}
	if p.Kind == absent && e.Source == "" {
		return nil // if a check makes it, that stays
	}
	s.places[name] = p
	if e.Source != "" {
		if p.Put, err = digestOf(e.Source); err != nil {
			return err
		}
	}
	if p.Kind == isFolder {
		return s.inside(name)
	}
	return nil
}

// digestOf is that of a regular file, "" for anything else.
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

// leading are the folders that lead to a name, the workspace itself first.
func leading(name string) iter.Seq[string] {
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

// inside notes everything in a folder that goes as a whole.
func (s *survey) inside(folder string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, err := readFolder(s.root, folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		p, err := s.note(name)
		if err != nil {
			return err
		}
		s.places[name] = p
		if p.Kind == isFolder {
			if err := s.inside(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// note describes what is at a name now, and saves it if it is a file.
func (s *survey) note(name string) (*place, error) {
	if known := s.places[name]; known != nil && known.Saved != "" {
		return known, nil
	}
	p := &place{Name: []byte(name), Kind: absent}
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
		p.Digest, err = listDigest(s.root, name)
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
		return nil, fmt.Errorf("%s is neither a file, a folder nor a link", name)
	}
	return p, err
}

func (s *survey) save(name, saved string) (digest string, err error) {
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

func (s *survey) sorted() []place {
	list := make([]place, 0, len(s.places))
	for _, p := range s.places {
		list = append(list, *p)
	}
	key := func(p place) string { return strings.TrimPrefix(string(p.Name)+"/", "./") }
	slices.SortFunc(list, func(a, b place) int { return strings.Compare(key(a), key(b)) })
	return list
}

// readFolder lists a folder by name. An fs.FS would do, but not for names that are no UTF-8.
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

// listDigest tells whether the same names are in a folder.
func listDigest(root *os.Root, name string) (string, error) {
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
