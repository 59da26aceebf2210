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

// makeFolder creates a folder and its parents durably: after each new folder it flushes the parent.
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
	case errors.Is(err, fs.ErrExist) && isFolder(path): // another process created it first
		return nil
	}
	return ioError("mkdir", path, err)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// flushFolder makes the names in a folder durable.
func flushFolder(path string) error {
	return ioError("fsync", path, atomicfile.SyncDir(path))
}

// replaceFile atomically and durably replaces a file.
func replaceFile(path string, content []byte) error {
	// Errors of other operations than the rename already name their operation.
	return ioError("rename", path, atomicfile.Write(path, content, fileMode))
}
