package gitrepo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// contentLimit is the size up to which a file is known by its content.
	contentLimit = 1 << 20
	// contentBudget is the same for all files of a tree together. It counts sizes, not
	// reads, so that the same tree has the same hash whatever is remembered.
	contentBudget = 256 << 20
	// settled is the age from which a file's times can be trusted: a younger one may be
	// changed again without its times showing it.
	settled = 2 * time.Second
)

// digests remembers the content of files that have not changed since.
type digests struct{ known map[string]digest }

type digest struct {
	size    int64
	changed time.Time
	status  int64 // when it was written to at all, which nobody can set
	inode   uint64
	content [sha256.Size]byte
}

// sum is one hash over the named files, "" over none. Order matters; what was remembered
// of other files is forgotten.
func (d *digests) sum(root *os.Root, names []string) string {
	if len(names) == 0 {
		d.known = nil
		return ""
	}
	next := make(map[string]digest, len(names))
	all := sha256.New()
	budget := int64(contentBudget)
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(root.Name(), filepath.FromSlash(name)))
		put(all, name)
		switch {
		case err != nil:
			put(all, "gone")
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := root.Readlink(filepath.FromSlash(name))
			put(all, "link", target)
		case !info.Mode().IsRegular():
			put(all, info.Mode().Type().String())
		default:
			put(all, executable(info))
			budget -= min(info.Size(), contentLimit)
			if info.Size() > contentLimit || budget < 0 || !d.content(root, name, info, next, all) {
				put(all, "by time", info.ModTime().UTC().Format(time.RFC3339Nano))
				number(all, info.Size())
			}
		}
	}
	d.known = next
	return hex.EncodeToString(all.Sum(nil))
}

// content adds a file's content to the hash; false if it cannot be read.
func (d *digests) content(root *os.Root, name string, info fs.FileInfo, next map[string]digest, all hash.Hash) bool {
	now := digest{size: info.Size(), changed: info.ModTime(), status: changeTime(info), inode: inode(info)}
	before, known := d.known[name]
	if known && before.size == now.size && before.changed.Equal(now.changed) && before.status == now.status && before.inode == now.inode {
		now.content = before.content
	} else {
		sum, ok := hashFile(root, name)
		if !ok {
			return false
		}
		now.content = sum
	}
	if time.Since(now.changed) > settled {
		next[name] = now
	}
	put(all, "by content")
	all.Write(now.content[:])
	return true
}

func hashFile(root *os.Root, name string) (sum [sha256.Size]byte, ok bool) {
	f, ok := open(root, name)
	if !ok {
		return sum, false
	}
	defer f.Close()
	content := sha256.New()
	if _, err := io.Copy(content, io.LimitReader(f, contentLimit)); err != nil {
		return sum, false
	}
	content.Sum(sum[:0])
	return sum, true
}

// open opens a regular file below root and nothing else. It does not block, even if the
// file has just become a pipe.
func open(root *os.Root, name string) (*os.File, bool) {
	return regular(root.OpenFile(filepath.FromSlash(name), reading, 0))
}

// reading is how every file of the workspace and of its git folder is opened.
const reading = os.O_RDONLY | syscall.O_NONBLOCK

func regular(f *os.File, err error) (*os.File, bool) {
	if err != nil {
		return nil, false
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, false
	}
	return f, true
}

func executable(info fs.FileInfo) string {
	if info.Mode()&0o100 != 0 {
		return "program"
	}
	return "file"
}

// put adds texts so that no two lists of texts look the same.
func put(to hash.Hash, texts ...string) {
	for _, text := range texts {
		number(to, int64(len(text)))
		io.WriteString(to, text)
	}
}

func number(to hash.Hash, n int64) {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(n))
	to.Write(buf[:])
}
