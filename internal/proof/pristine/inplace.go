package pristine

import (
	"context"
	"errors"

	"github.com/ralphloop/ralph/internal/process"
)

// ErrInPlace means that a view in place cannot show anything but the workspace as it is.
var ErrInPlace = errors.New("a view in place changes nothing in the workspace")

// inPlace is the workspace itself. Its files belong to the user, so it edits and restores nothing.
type inPlace struct{ workspace string }

func openInPlace(ctx context.Context, o *Options) (*inPlace, error) {
	v := &inPlace{workspace: o.Dir}
	return v, v.applyEdits(ctx, o.Edits)
}

func (v *inPlace) dir() string { return v.workspace }

func (v *inPlace) enter(*process.Spec) {}

func (v *inPlace) writtenFinder() func(name string) (file string, own bool) { return nil }

func (v *inPlace) firstStamp(string) (stamp, bool) { return stamp{}, false }

func (v *inPlace) applyEdits(_ context.Context, edits []Edit) error {
	if len(edits) > 0 {
		return ErrInPlace
	}
	return nil
}

func (v *inPlace) close() error { return nil }
