// Package atomicfile replaces files so that a reader sees either the old content or the new, never
// a part, and makes names durable.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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
	err := swap(path, content, mode)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = path // the name of the temporary file says nothing
	}
	return err
}

func swap(path string, content []byte, mode fs.FileMode) error {
	name := filepath.Join(filepath.Dir(path), TempName())
	temp, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(name) // no-op once the file is renamed
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
	return os.Rename(name, path)
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

// Remove removes a file or a folder with everything in it. A kill in the middle leaves nothing under its
// name, only a rest that IsTemp recognizes.
func Remove(path string) error {
	aside := filepath.Join(filepath.Dir(path), TempName())
	switch err := os.Rename(path, aside); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("remove: %w", err)
	}
	return os.RemoveAll(aside)
}

// TempName returns a name for a file that is being written. It goes into the folder of the file that it
// will replace. If a kill leaves it there, IsTemp recognizes it.
func TempName() string { return tempPrefix + rand.Text() }

const tempPrefix = ".ralph-"

// IsTemp reports whether a name without a folder comes from TempName, in this version or an earlier one.
// No person and no other program chooses such a name.
func IsTemp(name string) bool {
	if rest, ok := strings.CutPrefix(name, tempPrefix); ok {
		return isRandom(strings.TrimSuffix(rest, ".tmp"))
	}
	// Earlier versions put the name of the file first.
	end := strings.LastIndexByte(name, '.')
	if end < 2 || name[0] != '.' {
		return false
	}
	lists := []string{"tasks.json", "prd.json", "IMPLEMENTATION_PLAN.md", "fix_plan.md"}
	return isRandom(name[end+1:]) || slices.Contains(lists, name[1:end]) && isShortHex(name[end+1:])
}

// isRandom reports whether a word can come from [rand.Text].
func isRandom(word string) bool {
	return len(word) == 26 && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

func isShortHex(word string) bool {
	return len(word) == 12 && strings.Trim(word, "0123456789abcdef") == ""
}
