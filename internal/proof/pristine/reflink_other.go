//go:build !linux && !darwin

package pristine

import (
	"errors"
	"io/fs"
)

// reflink is not to be had on this system.
func reflink(string, string, fs.FileMode) error { return errors.ErrUnsupported }
