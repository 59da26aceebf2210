package runlog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ralphloop/ralph"
)

// Damaged says where a log stops being trustworthy, and why.
type Damaged struct {
	Path   string
	Offset int64 // of the first byte of the line
	Line   int64 // from 1
	Why    string
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("log damaged at byte %d (line %d): %s: %s", d.Offset, d.Line, d.Why, d.Path)
}

// TooNew says that a later version of the program wrote the log.
type TooNew struct {
	Path    string
	Version int
}

func (t *TooNew) Error() string {
	return fmt.Sprintf("log has version %d; this program reads up to version %d: use a newer ralph: %s", t.Version,
		ralph.EventVersion, t.Path)
}

// Tail describes what was cut off the end of a log when it was reopened.
type Tail struct {
	Dropped int64 // bytes of an incomplete last line
}

// ioError marks an error of the harness's own storage and makes sure that it names the path. It
// returns nil for nil.
func ioError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); !ok {
		err = &fs.PathError{Op: op, Path: path, Err: err}
	}
	return fmt.Errorf("%w: %w", ralph.ErrIO, err)
}
