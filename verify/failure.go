package verify

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/ralphloop/ralph"
)

// impossible is the error of something that cannot be done with this workspace, its settings or this
// system.
type impossible struct{ error }

func (i impossible) Unwrap() error { return i.error }

// ownFailure marks an error of an Examiner with [ralph.ErrIO]. An error is a failure of the harness,
// which must not count against the agent or a check, unless it is known to be something else.
func ownFailure(err error) error {
	_, cannot := errors.AsType[impossible](err)
	switch {
	case err == nil, cannot, errors.Is(err, ralph.ErrIO), errors.Is(err, ralph.ErrNoView),
		errors.Is(err, ralph.ErrDisturbed), errors.Is(err, errNotPlanted),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ralph.ErrIO, err)
}

// isStorageFailure reports whether the disk that holds views is full or broken.
func isStorageFailure(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EROFS)
}
