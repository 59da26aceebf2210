package runlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
)

// makeFolder creates a folder and its parents, each durably: the name of a new folder is flushed with the folder that holds it.
func makeFolder(path string) error {
	if isFolder(path) {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	err := os.Mkdir(path, folderMode)
	switch {
	case err == nil:
		return flushFolder(parent)
	case errors.Is(err, fs.ErrExist) && isFolder(path): // somebody else was faster
		return nil
	}
	return unwritable("mkdir", path, err)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// flushFolder makes the names in a folder durable.
func flushFolder(path string) error {
	return unwritable("fsync", path, atomicfile.SyncDir(path))
}

// replaceFile puts a whole new file in a path's place, durably.
func replaceFile(path string, content []byte) error {
	// everything but a rename says what it did
	return unwritable("rename", path, atomicfile.Write(path, content, fileMode))
}
