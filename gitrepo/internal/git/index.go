package git

import (
	"bytes"
	"encoding/binary"
)

// Flags of an entry in git's index.
const (
	assumeUnchanged = 1 << 15
	hasMoreFlags    = 1 << 14
	skipWorktree    = 1 << 14 // among the further flags
)

// HidesFiles reports whether an index tells git not to look at some files, so that git sees no change in
// them. It also does so if it cannot read the index, or if entries are in another file.
func HidesFiles(index []byte, hashSize int) bool {
	const header, stat = 12, 40
	if len(index) == 0 {
		return false
	}
	if len(index) < header+hashSize || string(index[:4]) != "DIRC" {
		return true
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	index = index[:len(index)-hashSize] // without its own hash
	at := header
	for range count {
		flagsAt := at + stat + hashSize
		name := flagsAt + 2
		if len(index) < name+2 {
			return true
		}
		flags, more := binary.BigEndian.Uint16(index[flagsAt:]), binary.BigEndian.Uint16(index[name:])
		if flags&assumeUnchanged != 0 || flags&hasMoreFlags != 0 && more&skipWorktree != 0 {
			return true
		}
		if flags&hasMoreFlags != 0 {
			name += 2
		}
		length := bytes.IndexByte(index[min(name+1, len(index)):], 0) + 1 // version 4 begins with a number
		if length < 1 {
			return true
		}
		if at += (name - at + length + 8) &^ 7; version == 4 {
			at = name + length + 1
		}
	}
	return inOtherFile(index[min(at, len(index)):])
}

// inOtherFile looks for the extension of an index that is split.
func inOtherFile(extensions []byte) bool {
	for len(extensions) >= 8 {
		size := uint64(binary.BigEndian.Uint32(extensions[4:]))
		if string(extensions[:4]) == "link" || size > uint64(len(extensions)-8) {
			return true
		}
		extensions = extensions[8+size:]
	}
	return len(extensions) > 0
}
