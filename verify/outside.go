package verify

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// ChangedInCopy implements [ralph.OutsideAccepter].
func (e *Examiner) ChangedInCopy() []string {
	return e.Surroundings.VisibleChanges(pristine.Copy, e.Dir)
}

// AcceptOutside implements [ralph.OutsideAccepter].
func (e *Examiner) AcceptOutside(names []string) (known []string, err error) {
	var paths []string
	for _, name := range names {
		path := filepath.FromSlash(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.Dir, path)
		}
		paths = append(paths, path)
	}
	accepted, err := e.Surroundings.Accept(paths)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	for i, path := range paths {
		if slices.Contains(accepted, path) {
			known = append(known, names[i])
		}
	}
	return known, nil
}
