package runlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// flushFolder makes the names in a folder durable. Windows has no such call and needs none.
func flushFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return unwritable("open", path, err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return unwritable("fsync", path, err)
	}
	return nil
}

// replaceFile puts a whole new file in a path's place: whoever reads it sees the old content or the new one, never a part.
func replaceFile(path string, content []byte) error {
	folder := filepath.Dir(path)
	temp, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return unwritable("create", path, err)
	}
	defer os.Remove(temp.Name()) // in vain once it is renamed
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return unwritable("write", path, err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return unwritable("rename", path, err)
	}
	return flushFolder(folder)
}
