//go:build !darwin

package pristine

import (
	"errors"
	"io/fs"
)

// reflink leaves it to the usual copy: on Linux that shares bytes by itself where the file system can.
func reflink(string, string, fs.FileMode) error { return errors.ErrUnsupported }
