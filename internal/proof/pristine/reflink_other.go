//go:build !darwin

package pristine

import (
	"errors"
	"io/fs"
)

// reflink always fails, so that the caller copies: on Linux io.Copy shares bytes where the file
// system can.
func reflink(string, string, fs.FileMode) error { return errors.ErrUnsupported }
