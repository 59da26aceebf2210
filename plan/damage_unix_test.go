//go:build unix

package plan

import (
	"errors"
	"os"
	"syscall"
)

func init() {
	damages["a pipe"] = struct {
		ruin   func(d *desk, path string) error
		injury string
	}{func(_ *desk, path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "is a pipe"}
}
