package git

import (
	"bytes"
	"encoding/binary"
	"hash"
	"strconv"
)

// Flags of an entry in git's index.
const (
	assumeUnchanged = 1 << 15
	hasMoreFlags    = 1 << 14
	skipWorktree    = 1 << 14 // among the further flags
	stage           = 3 << 12 // of a conflict
)

// Index is the content of an index.
type Index struct {
	Files []IndexFile // sorted by name
	// Trees has the folders that did not change since git wrote their trees. The name of a folder ends
	// with a slash, and that of the whole is empty. It is nil if git has written none.
	Trees map[string]IndexTree
}

// IndexFile is a file in an index. Its name is relative to the top of the working tree.
type IndexFile struct {
	Mode uint32
	ID   []byte
	Name string
}

// IndexTree is the tree of a folder with the number of files below it.
type IndexTree struct {
	ID    []byte
	Files int
}

// ParseIndex reads an index of version 2 whose entries are all files or links. It returns false for any
// other index, and for one that does not match its own hash.
func ParseIndex(index []byte, sum hash.Hash) (parsed Index, ok bool) {
	const modeAt = 24
	hashSize := sum.Size()
	if len(index) < hashSize {
		return Index{}, false
	}
	body, own := index[:len(index)-hashSize], index[len(index)-hashSize:]
	sum.Write(body)
	if !bytes.Equal(sum.Sum(nil), own) {
		return Index{}, false
	}
	sound := true
	rest, walked := eachEntry(index, hashSize, func(e indexEntry) {
		mode := binary.BigEndian.Uint32(e.stat[modeAt:])
		sound = sound && e.version == 2 && e.flags&(hasMoreFlags|stage) == 0 &&
			(mode == 0o100644 || mode == 0o100755 || mode == 0o120000)
		parsed.Files = append(parsed.Files, IndexFile{Mode: mode, ID: e.id, Name: string(e.name)})
	})
	extensions, read := extensionsIn(rest)
	for name, content := range extensions {
		if name[0] < 'A' || name[0] > 'Z' { // git must not ignore it
			return Index{}, false
		}
		if name == "TREE" {
			parsed.Trees = map[string]IndexTree{}
			left, parses := parsed.addTree("", content, hashSize)
			sound = sound && parses && len(left) == 0
		}
	}
	return parsed, sound && walked && read
}

// addTree reads one folder of git's list of trees, and those below it: its name and a NUL, the number of
// its files, or -1 if they changed, the number of its folders, and the id unless they changed.
func (x *Index) addTree(parent string, text []byte, hashSize int) (rest []byte, ok bool) {
	name, rest, named := bytes.Cut(text, []byte{0})
	line, rest, ended := bytes.Cut(rest, []byte("\n"))
	files, folders, two := bytes.Cut(line, []byte(" "))
	count, err := strconv.Atoi(string(files))
	below, err2 := strconv.Atoi(string(folders))
	if !named || !ended || !two || err != nil || err2 != nil {
		return nil, false
	}
	path := parent
	if len(name) > 0 {
		path += string(name) + "/"
	}
	if count >= 0 {
		if len(rest) < hashSize {
			return nil, false
		}
		x.Trees[path] = IndexTree{ID: rest[:hashSize], Files: count}
		rest = rest[hashSize:]
	}
	for range below {
		if rest, ok = x.addTree(path, rest, hashSize); !ok {
			return nil, false
		}
	}
	return rest, true
}

// HidesFiles reports whether an index tells git not to look at some files, so that git sees no change in
// them. It also does so if it cannot read the index, or if entries are in another file.
func HidesFiles(index []byte, hashSize int) bool {
	if len(index) == 0 {
		return false
	}
	hides := false
	rest, walked := eachEntry(index, hashSize, func(e indexEntry) {
		hides = hides || e.flags&assumeUnchanged != 0 || e.flags&hasMoreFlags != 0 && e.more&skipWorktree != 0
	})
	extensions, read := extensionsIn(rest)
	_, split := extensions["link"]
	return hides || split || !walked || !read
}

// indexEntry is one entry of an index. In version 4 its name is only what differs from the one before.
type indexEntry struct {
	version     uint32
	stat, id    []byte
	flags, more uint16
	name        []byte
}

// eachEntry visits the entries of an index and returns what follows them. It returns false if it cannot
// read them.
func eachEntry(index []byte, hashSize int, visit func(indexEntry)) (rest []byte, ok bool) {
	const header, stat = 12, 40
	if len(index) < header+hashSize || string(index[:4]) != "DIRC" {
		return nil, false
	}
	e := indexEntry{version: binary.BigEndian.Uint32(index[4:])}
	count := binary.BigEndian.Uint32(index[8:])
	index = index[:len(index)-hashSize] // without its own hash
	at := header
	for range count {
		flagsAt := at + stat + hashSize
		name := flagsAt + 2
		if len(index) < name+2 {
			return nil, false
		}
		e.stat, e.id = index[at:at+stat], index[at+stat:flagsAt]
		e.flags, e.more = binary.BigEndian.Uint16(index[flagsAt:]), binary.BigEndian.Uint16(index[name:])
		if e.flags&hasMoreFlags != 0 {
			name += 2
		}
		length := bytes.IndexByte(index[min(name+1, len(index)):], 0) + 1 // version 4 begins with a number
		if length < 1 {
			return nil, false
		}
		e.name = index[name : name+length]
		visit(e)
		if at += (name - at + length + 8) &^ 7; e.version == 4 {
			at = name + length + 1
		}
	}
	return index[min(at, len(index)):], true
}

// extensionsIn returns the extensions of an index by their names.
func extensionsIn(rest []byte) (extensions map[string][]byte, ok bool) {
	extensions = map[string][]byte{}
	for len(rest) >= 8 {
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) {
			return extensions, false
		}
		extensions[string(rest[:4])] = rest[8 : 8+size]
		rest = rest[8+size:]
	}
	return extensions, len(rest) == 0
}
