package verify

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// standings is how tests of the base stood in the workspace when a tree was compared with it. Views show these very files, so that somebody outside of
// a view could swap one while a check runs, and put it back.
type standings struct {
	now   string
	files map[string]standing
}

// remember looks how tests stand.
func (e *Examiner) remember(ctx context.Context, in ralph.ViewInput) error {
	e.stood = standings{}
	tests, err := e.testsAsAtBase(ctx, in)
	if err != nil || e.Workspace != "" {
		return err
	}
	files := make(map[string]standing, len(tests))
	for _, name := range tests {
		if s, known := standingOf(filepath.Join(e.Dir, filepath.FromSlash(name))); known {
			files[name] = s
		}
	}
	e.stood = standings{in.Now.Snapshot, files}
	return nil
}

// swapped names the tests to which something was done since. Where checks themselves write to the workspace nobody can tell.
func (v *view) swapped() []string {
	e := v.examiner
	if v.mode == pristine.InPlace || e.stood.now != v.in.Now.Snapshot {
		return nil
	}
	var names []string
	for name, stood := range e.stood.files {
		if s, known := standingOf(filepath.Join(e.Dir, filepath.FromSlash(name))); !known || s != stood {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
