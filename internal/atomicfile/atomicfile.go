// Package atomicfile replaces files so that a reader sees either the old content or the new, never
// a part, and makes names durable.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces the file at path durably: the content is synced before the rename, and the folder
// after it.
func Write(path string, content []byte, mode fs.FileMode) error {
	if err := Swap(path, content, mode); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Swap replaces the file at path with synced content, but leaves the folder's sync to the caller.
func Swap(path string, content []byte, mode fs.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // no-op once the file is renamed
	_, err = temp.Write(content)
	if err == nil && mode != 0o600 { // the mode of a new file; not every file system can change it
		err = temp.Chmod(mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// SyncDir makes the names in a folder durable. Windows has no such call and needs none.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
