package pristine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph/internal/process"
)

// inPlace is the workspace itself, edited.
type inPlace struct {
	workspace string
	journal   journal
}

func openInPlace(ctx context.Context, o *Options) (*inPlace, error) {
	v := &inPlace{workspace: o.Dir, journal: journal{path: o.Journal}}
	unfinished, err := v.journal.entryNames()
	if err != nil {
		return nil, err
	}
	if len(unfinished) > 0 {
		return nil, fmt.Errorf("%s: an earlier view was not closed; recover it first", o.Journal)
	}
	if err := v.applyEdits(ctx, o.Edits); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (v *inPlace) dir() string { return v.workspace }

func (v *inPlace) enter(*process.Spec) {}

func (v *inPlace) writtenFinder() func(name string) (file string, own bool) { return nil }

func (v *inPlace) applyEdits(ctx context.Context, edits []Edit) error {
	if len(edits) == 0 {
		return nil
	}
	if err := v.journal.begin(ctx, v.workspace, edits); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return process.ApplyEdits(v.workspace, edits)
}

// close takes no context: the workspace is restored even if everything else is canceled.
func (v *inPlace) close() error {
	_, err := v.journal.undo(func() error { return nil })
	return err
}

// Recover restores the workspace after an in-place view that was never closed because its process
// was killed. It returns the names of what it changed. It does nothing if there is no journal, or
// only an incomplete one, since no edit is made before a journal is complete. It may be interrupted
// and called again.
func Recover(ctx context.Context, journalPath string) (restored []string, err error) {
	j := journal{path: journalPath}
	restored, err = j.undo(ctx.Err)
	if err != nil {
		return restored, fmt.Errorf("recover workspace: %w", err)
	}
	return restored, nil
}
