package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// ContentLimit is the largest file that is hashed by content.
	ContentLimit = 1 << 20
	// ContentBudget is the most bytes of content that are hashed for a tree. It counts sizes, not
	// reads, so that the same tree has the same hash regardless of what is cached.
	ContentBudget = 256 << 20
	// Settled is the age at which a file's times can be trusted: a younger file may change again
	// without a visible change of its times.
	Settled = 2 * time.Second
)

// Digests caches the hashes of files that have not changed.
type Digests struct{ known map[string]digest }

type digest struct {
	stamp   Stamp
	content [sha256.Size]byte
}

// Sum returns one hash over the named files, or "" without names. The order matters. Sum drops
// cached hashes of other files.
func (d *Digests) Sum(root *os.Root, names []string) string {
	if len(names) == 0 {
		d.known = nil
		return ""
	}
	next := make(map[string]digest, len(names))
	all := sha256.New()
	budget := int64(ContentBudget)
	for _, name := range names {
		Put(all, name)
		d.put(root, name, &budget, next, all)
	}
	d.known = next
	return hex.EncodeToString(all.Sum(nil))
}

// Each returns a hash of every file.
func (d *Digests) Each(root *os.Root, names []string) []string {
	var sums []string
	budget := int64(ContentBudget)
	for _, name := range names {
		one := sha256.New()
		d.put(root, name, &budget, map[string]digest{}, one)
		sums = append(sums, hex.EncodeToString(one.Sum(nil)))
	}
	return sums
}

// put adds what a file is to a hash. It takes the size of the content from the budget.
func (d *Digests) put(root *os.Root, name string, budget *int64, next map[string]digest, to hash.Hash) {
	info, err := os.Lstat(filepath.Join(root.Name(), filepath.FromSlash(name)))
	switch {
	case err != nil:
		Put(to, "gone")
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := root.Readlink(filepath.FromSlash(name))
		Put(to, "link", target)
	case !info.Mode().IsRegular():
		Put(to, info.Mode().Type().String())
	default:
		Put(to, Executable(info))
		*budget -= min(info.Size(), ContentLimit)
		if info.Size() > ContentLimit || *budget < 0 || !d.content(root, name, info, next, to) {
			Put(to, "by time", info.ModTime().UTC().Format(time.RFC3339Nano))
			number(to, info.Size())
		}
	}
}

// content adds a file's content to the hash. It returns false if the file cannot be read.
func (d *Digests) content(root *os.Root, name string, info fs.FileInfo, next map[string]digest, all hash.Hash) bool {
	now, known := d.known[name]
	if stamp := StampOf(info); !known || now.stamp != stamp {
		sum, ok := hashFile(root, name)
		if !ok {
			return false
		}
		now = digest{stamp, sum}
	}
	if time.Since(info.ModTime()) > Settled {
		next[name] = now
	}
	Put(all, "by content")
	all.Write(now.content[:])
	return true
}

func hashFile(root *os.Root, name string) (sum [sha256.Size]byte, ok bool) {
	f, ok := Open(root, name)
	if !ok {
		return sum, false
	}
	defer f.Close()
	content := sha256.New()
	if _, err := io.Copy(content, io.LimitReader(f, ContentLimit)); err != nil {
		return sum, false
	}
	content.Sum(sum[:0])
	return sum, true
}

// Put adds texts with their lengths, so that different lists of texts have different hashes.
func Put(to hash.Hash, texts ...string) {
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

// Stamp shows whether a file has been written. The zero value is that of a missing file.
type Stamp struct {
	mode    fs.FileMode
	size    int64
	Written int64 // when its content changed
	Changed int64 // when anything about it changed, which cannot be set; 0 if unknown
	inode   uint64
}

// StampOf returns the stamp of a file.
func StampOf(info fs.FileInfo) Stamp {
	changed, inode := system(info)
	return Stamp{info.Mode(), info.Size(), info.ModTime().UnixNano(), changed, inode}
}

// StampAt returns the stamp of the file at a path.
func StampAt(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return StampOf(info)
}
