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
	chapters, err := v.journal.chapters()
	if err != nil {
		return nil, err
	}
	if len(chapters) > 0 {
		return nil, fmt.Errorf("%s: an earlier view was not closed; recover it first", o.Journal)
	}
	if err := v.lay(ctx, o.Edits); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (v *inPlace) dir() string { return v.workspace }

func (v *inPlace) enter(*process.Spec) {}

func (v *inPlace) written() func(name string) (file string, own bool) { return nil }

func (v *inPlace) lay(ctx context.Context, edits []Edit) error {
	if len(edits) == 0 {
		return nil
	}
	if err := v.journal.begin(ctx, v.workspace, edits); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return process.ApplyEdits(v.workspace, edits)
}

// close is not bound by a context: a workspace is put back whatever else ends.
func (v *inPlace) close() error {
	_, err := v.journal.undo(func() error { return nil })
	return err
}

// Recover puts back what a view in place left that was never closed, since its process was killed. It names what it changed. If nothing is
// there, or only a journal that was not yet complete, which means that no edit was made, there is nothing to do. It may be interrupted and
// called again.
func Recover(ctx context.Context, journalPath string) (restored []string, err error) {
	j := journal{path: journalPath}
	restored, err = j.undo(ctx.Err)
	if err != nil {
		return restored, fmt.Errorf("recover workspace: %w", err)
	}
	return restored, nil
}
