package plain

import (
	"bytes"
	"context"
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

	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

// store is a folder of file contents and file lists, each named by its hash. Its files are never
// changed or deleted. It has three folders: "contents", "copies" and "tmp".
type store struct {
	dir      string
	listings manifest.Listings
}

func newStore(dir string) (*store, error) {
	for _, folder := range []string{"contents", "copies", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, err
		}
	}
	scan.Empty(filepath.Join(dir, "tmp"))
	return &store{dir: dir}, nil
}

func (s *store) content(id string) string { return filepath.Join(s.dir, "contents", id[:2], id[2:]) }

func (s *store) list(id string) string { return filepath.Join(s.dir, "copies", id) }

// put saves content, up to the largest file size that is saved, and returns its name. It writes the
// content before the name is known. Content that already exists is not written again, unless a
// crash truncated it.
func (s *store) put(from io.Reader) (id string, err error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "new-*") // with mode 0600
	if err != nil {
		return "", fmt.Errorf("keep content: %w", err)
	}
	defer os.Remove(f.Name())
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(from, manifest.FileLimit))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep content: %w", err)
	}
	id = hex.EncodeToString(sum.Sum(nil))
	if info, err := os.Lstat(s.content(id)); err == nil && info.Size() == size {
		return id, nil
	}
	err = os.MkdirAll(filepath.Dir(s.content(id)), 0o700)
	if err == nil {
		err = os.Rename(f.Name(), s.content(id))
	}
	if err != nil {
		return "", fmt.Errorf("keep content: %w", err)
	}
	return id, nil
}

func idOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// listTitle is the first line of every file list and identifies its format.
const listTitle = "files of a workspace, 1\n"

// modeLeft marks a file of which only the digest is known. An old list has none.
const modeLeft = "left"

// putList saves a list of files, sorted by name, and of those that were left out, and returns the
// snapshot's name.
func (s *store) putList(files []manifest.Entry, left manifest.Hashes) (id string, err error) {
	var text bytes.Buffer
	text.WriteString(listTitle)
	for _, file := range files {
		text.WriteString(file.Mode + " " + file.ID + "\t" + file.Name + "\x00")
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		text.WriteString(modeLeft + " " + left[name] + "\t" + name + "\x00")
	}
	id = idOf(text.Bytes())
	if info, err := os.Lstat(s.list(id)); err == nil && info.Size() == int64(text.Len()) {
		return id, nil
	}
	if err := atomicfile.Swap(s.list(id), text.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("keep list of files: %w", err)
	}
	return id, nil
}

// files lists the files of a snapshot.
func (s *store) files(id string) ([]manifest.Entry, error) {
	side, err := s.side(id)
	return side.Files, err
}

// side returns the files of a snapshot, and the digests of those that were left out.
func (s *store) side(id string) (manifest.Side, error) {
	all, err := s.records(id)
	side := manifest.Side{Left: manifest.Hashes{}}
	for i, file := range all {
		if file.Mode == modeLeft {
			side.Left[file.Name] = file.ID
		} else {
			side.Files = all[:i+1] // the files come first
		}
	}
	return side, err
}

// records reads the list of a snapshot.
func (s *store) records(id string) ([]manifest.Entry, error) {
	if !manifest.ID().MatchString(id) {
		return nil, fmt.Errorf("read snapshot %q: %w", id, manifest.ErrNoSnapshot)
	}
	return s.listings.List(id, func() ([]manifest.Entry, error) {
		text, err := os.ReadFile(s.list(id))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read snapshot %s: %w", id, manifest.ErrNoSnapshot)
		}
		if err != nil {
			return nil, fmt.Errorf("read snapshot %s: %w", id, err)
		}
		records, known := strings.CutPrefix(string(text), listTitle)
		if !known || idOf(text) != id {
			return nil, fmt.Errorf("read snapshot %s: its list of files is damaged", id)
		}
		var files []manifest.Entry
		for record := range strings.SplitSeq(strings.TrimSuffix(records, "\x00"), "\x00") {
			if record == "" {
				break // the list is empty
			}
			about, name, _ := strings.Cut(record, "\t")
			mode, content, _ := strings.Cut(about, " ")
			files = append(files, manifest.Entry{Mode: mode, ID: content, Name: name})
		}
		return files, nil
	})
}

// open opens content and returns its size.
func (s *store) open(id string) (*os.File, int64, error) {
	f, err := os.Open(s.content(id))
	if err != nil {
		return nil, 0, fmt.Errorf("read content: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("read content: %w", err)
	}
	return f, info.Size(), nil
}

// read returns up to limit bytes of content.
func (s *store) read(id string, limit int) ([]byte, error) {
	f, size, err := s.open(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)))
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	if int64(len(text)) == size && idOf(text) != id {
		return nil, fmt.Errorf("read content: %s is damaged", s.content(id))
	}
	return text, nil
}

// Give writes contents in the format of git cat-file --batch. It ends each with a newline only if
// the content was intact.
func (s *store) Give(ctx context.Context, ids []string, to io.Writer) error {
	for _, id := range ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.giveOne(id, to); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) giveOne(id string, to io.Writer) error {
	f, size, err := s.open(id)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(to, "%s blob %d\n", id, size); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(to, sum), f, size); err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != id {
		return fmt.Errorf("read content: %s is damaged", s.content(id))
	}
	_, err = io.WriteString(to, "\n")
	return err
}
