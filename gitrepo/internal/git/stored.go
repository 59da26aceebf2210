package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Stored finds the objects of an objects folder and its alternates without a call of git.
type Stored struct {
	folders []string
	packs   []packIndex // the one that had the last object comes first
}

// packIndex is the index of a pack, with how many of its ids begin with a byte or a smaller one.
type packIndex struct {
	file   *os.File
	counts [256]uint32
}

const (
	packMagic = "\xfftOc\x00\x00\x00\x02"
	// packNames is where the ids begin in the index of a pack, after the counts by first byte.
	packNames = len(packMagic) + 256*4
)

// OpenStored opens an objects folder. It skips a pack that it cannot read.
func OpenStored(objects string) *Stored {
	s := &Stored{folders: borrowed(objects)}
	for _, folder := range s.folders {
		indexes, _ := filepath.Glob(filepath.Join(folder, "pack", "pack-*.idx")) // the pattern is sound
		for _, name := range indexes {
			if _, err := os.Stat(strings.TrimSuffix(name, ".idx") + ".pack"); err != nil {
				continue
			}
			file, err := os.Open(name)
			if err != nil {
				continue
			}
			pack := packIndex{file: file}
			head := make([]byte, packNames)
			if _, err := file.ReadAt(head, 0); err != nil || string(head[:len(packMagic)]) != packMagic {
				file.Close()
				continue
			}
			for i := range pack.counts {
				pack.counts[i] = binary.BigEndian.Uint32(head[len(packMagic)+i*4:])
			}
			s.packs = append(s.packs, pack)
		}
	}
	return s
}

// Close closes the packs.
func (s *Stored) Close() {
	for _, pack := range s.packs {
		pack.file.Close()
	}
}

// Has reports whether an object is stored. It may miss one.
func (s *Stored) Has(id []byte) bool {
	name := hex.EncodeToString(id)
	for _, folder := range s.folders {
		info, err := os.Lstat(filepath.Join(folder, name[:2], name[2:]))
		if err == nil && info.Mode().IsRegular() && info.Size() > 0 { // empty after a crash
			return true
		}
	}
	for i, pack := range s.packs {
		if pack.has(id) {
			copy(s.packs[1:], s.packs[:i])
			s.packs[0] = pack
			return true
		}
	}
	return false
}

func (p packIndex) has(id []byte) bool {
	first, end := 0, int(p.counts[id[0]])
	if id[0] > 0 {
		first = int(p.counts[id[0]-1])
	}
	found := make([]byte, len(id))
	nth := func(n int) []byte {
		if _, err := p.file.ReadAt(found, int64(packNames+n*len(id))); err != nil {
			clear(found)
		}
		return found
	}
	if end <= first {
		return false
	}
	n := first + sort.Search(end-first, func(i int) bool { return bytes.Compare(nth(first+i), id) >= 0 })
	return n < end && slices.Equal(nth(n), id)
}
