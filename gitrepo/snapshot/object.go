package snapshot

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

// deflaters are reused: a new one takes most of a megabyte, for objects of a few hundred bytes.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(io.Discard) }}

// put stores one object as git does. Commits and records of the repository are small and many: one
// git call for each would cost more than all the rest of a snapshot.
func (s *Store) put(kind string, body []byte) (string, error) {
	object := asObject(kind, body)
	id := hex.EncodeToString(idOf(object, s.hash()))
	path := s.path("objects/" + id[:2] + "/" + id[2:])
	if _, err := os.Lstat(path); err == nil {
		return id, nil
	}
	var packed bytes.Buffer
	w := deflaters.Get().(*zlib.Writer) //nolint:forcetypeassert // the pool contains nothing else
	defer deflaters.Put(w)
	w.Reset(&packed)
	_, err := w.Write(object)
	if err = errors.Join(err, w.Close()); err == nil {
		err = putFile(&s.folders, path, packed.Bytes())
	}
	if err != nil {
		return "", fmt.Errorf("keep %s: %w", kind, err)
	}
	return id, nil
}

// asObject adds the head of an object to its content.
func asObject(kind string, body []byte) []byte {
	return append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
}

func idOf(object []byte, sum hash.Hash) []byte {
	sum.Write(object)
	return sum.Sum(nil)
}

func putFile(folders *sync.Mutex, path string, content []byte) error {
	folders.Lock()
	defer folders.Unlock()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Swap(path, content, 0o400)
}

// loose reads a small loose object, as put wrote it. A git call costs more than everything else
// that is asked about a snapshot. If anything is unusual, it returns false and git must be asked.
func (s *Store) loose(kind, id string) (body string, ok bool) {
	object, ok := inflate(s.path(snapshots+"/"+id[:2]+"/"+id[2:]), id, s.hash())
	if !ok {
		object, ok = inflate(s.path(history+"/"+id[:2]+"/"+id[2:]), id, s.hash())
	}
	head, body, _ := strings.Cut(string(object), "\x00")
	return body, ok && head == fmt.Sprintf("%s %d", kind, len(body))
}

// inflate reads the file of a small object. It returns false if that is not the object, or too large.
func inflate(path, id string, sum hash.Hash) (object []byte, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	unpacked, err := zlib.NewReader(f)
	if err != nil {
		return nil, false
	}
	object, err = io.ReadAll(io.LimitReader(unpacked, 1<<20))
	if err != nil {
		return nil, false
	}
	sum.Write(object)
	return object, hex.EncodeToString(sum.Sum(nil)) == id
}

// looseFirst gives files that were just saved without a call of git.
type looseFirst struct{ *Store }

// Give writes the contents as git cat-file --batch does.
func (l looseFirst) Give(ctx context.Context, ids []string, to io.Writer) error {
	for len(ids) > 0 {
		given, err := giveLoose(l.path(snapshots), ids[0], l.hash(), to)
		if err == nil && !given {
			given, err = giveLoose(l.path(history), ids[0], l.hash(), to)
		}
		if err != nil {
			return err
		}
		if !given {
			return l.Store.Give(ctx, ids, to)
		}
		ids = ids[1:]
	}
	return nil
}

// giveLoose writes a blob that has a file of its own as git cat-file --batch does. Git would map all of the file into
// its memory. The file is read twice, so that nothing is written that is not the blob.
func giveLoose(objects, id string, sum hash.Hash, to io.Writer) (given bool, err error) {
	path := filepath.Join(objects, id[:2], id[2:])
	size := int64(0)
	err = openLoose(path, func(head string, body io.Reader) (err error) {
		sum.Write([]byte(head))
		size, err = io.Copy(sum, body)
		given = hex.EncodeToString(sum.Sum(nil)) == id && head == fmt.Sprintf("blob %d\x00", size)
		return err
	})
	if err != nil || !given {
		return false, nil // git knows more ways to find an object
	}
	err = openLoose(path, func(_ string, body io.Reader) error {
		_, err := fmt.Fprintf(to, "%s blob %d\n", id, size)
		if err == nil {
			_, err = io.Copy(to, body)
		}
		if err == nil {
			_, err = io.WriteString(to, "\n")
		}
		return err
	})
	return true, err
}

// openLoose calls use with the head of an object, to its NUL, and with the rest.
func openLoose(path string, use func(head string, body io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, err := zlib.NewReader(f)
	if err != nil {
		return err
	}
	body := bufio.NewReaderSize(unpacked, 32<<10)
	head, err := body.ReadSlice(0)
	if err != nil {
		return err
	}
	return use(string(head), body)
}

func (s *Store) hash() hash.Hash {
	if s.home.Format == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

// putFolder stores files as the tree of a commit without parents. Its time is fixed, so that equal
// content has one name. The files must be sorted by name.
func (s *Store) putFolder(files []named) (string, error) {
	var tree bytes.Buffer
	for _, file := range files {
		id, err := s.put("blob", file.text)
		if err != nil {
			return "", err
		}
		raw, err := hex.DecodeString(id)
		if err != nil {
			return "", fmt.Errorf("keep tree: %w", err)
		}
		fmt.Fprintf(&tree, "100644 %s\x00%s", file.name, raw)
	}
	id, err := s.put("tree", tree.Bytes())
	if err != nil {
		return "", err
	}
	return s.putCommit(id, nil, time.Unix(0, 0), "state of the repository")
}

type named struct {
	name string
	text []byte
}

func (s *Store) putCommit(tree string, parents []string, at time.Time, message string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, parent := range parents {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	who := fmt.Sprintf("ralph <ralph@localhost> %d +0000", at.Unix())
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\n%s\n", who, who, message)
	return s.put("commit", []byte(text.String()))
}

// setRef sets a ref to a snapshot, so that it counts as in use.
func (s *Store) setRef(name, id string) error {
	err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700)
	if err == nil {
		err = s.write(name, []byte(id+"\n"))
	}
	if err != nil {
		return fmt.Errorf("name snapshot: %w", err)
	}
	return nil
}

// ref returns the snapshot of a ref, or "" if there is none.
func (s *Store) ref(name string) string {
	text, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return packedRef(s.path("packed-refs"), name)
	}
	id := strings.TrimSpace(string(text))
	if err != nil || !manifest.ID().MatchString(id) {
		return ""
	}
	return id
}

// packedRef returns the snapshot of a ref that git has packed, or "".
func packedRef(file, name string) string {
	packed, _ := os.ReadFile(file) // missing until refs are packed
	before, _, _ := strings.Cut(string(packed), " "+name+"\n")
	if id := before[strings.LastIndexByte(before, '\n')+1:]; len(before) < len(packed) && manifest.ID().MatchString(id) {
		return id
	}
	return ""
}
