//go:build unix

package gittest

import (
	"errors"
	"os"
	"syscall"
)

// MakePipe replaces a file with a pipe. Opening it for reading blocks forever.
func MakePipe(w Workspace, name string) {
	w.Helper()
	if err := os.Remove(w.Path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	w.Must(syscall.Mkfifo(w.Path(name), 0o600))
}
