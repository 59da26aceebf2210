package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph"
)

// StampAll returns one stamp of a folder and of the files and folders below it. leaveOut is asked for names relative to
// the folder, with slashes, which is "." itself; a folder's name ends in a slash. What it leaves out is not read.
func StampAll(top string, leaveOut func(name string) bool) ralph.Stamp {
	all, count := sha256.New(), 0
	var last ralph.Stamp
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(top, path)
		if err != nil || relErr != nil {
			return nil // its folder has changed, or nothing can read it
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() && name != "." {
			name += "/"
		}
		switch {
		case count == WalkLimit:
			return fs.SkipAll
		case entry.IsDir() && name != "." && leaveOut(name):
			return fs.SkipDir
		case leaveOut(name):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		count++
		Put(all, name)
		if at := putStamp(all, info); at.After(last.At) {
			last.Last, last.At = name, at
		}
		return nil
	})
	last.ID = hex.EncodeToString(all.Sum(nil))
	return last
}

// putStamp adds the stamp of a file to a hash, and returns when the file changed.
func putStamp(to hash.Hash, info fs.FileInfo) time.Time {
	stamp := StampOf(info)
	for _, n := range []int64{int64(stamp.mode), stamp.size, stamp.Written, stamp.Changed, int64(stamp.inode)} {
		number(to, n)
	}
	if stamp.Changed == 0 {
		return info.ModTime()
	}
	return time.Unix(0, stamp.Changed)
}
