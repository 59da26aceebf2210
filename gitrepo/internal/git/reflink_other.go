//go:build !linux

package git

import (
	"errors"
	"os"
)

// reflink always fails, so that the caller copies.
func reflink(_, _ *os.File) error { return errors.ErrUnsupported }
