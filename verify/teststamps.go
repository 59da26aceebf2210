package verify

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// testStamps are the stamps of tests from the base, taken in the workspace when its tree was
// compared. Views show these same files, so a process outside a view could swap one while a check
// runs and restore it afterwards.
type testStamps struct {
	now   string
	files map[string]fileStamp
}

// stampTests records the stamps of tests.
func (e *Examiner) stampTests(ctx context.Context, in ralph.ViewInput) error {
	e.testStamps = testStamps{}
	tests, err := e.testsAsAtBase(ctx, in)
	if err != nil || e.WorkspaceSnapshot != "" {
		return err
	}
	files := make(map[string]fileStamp, len(tests))
	for _, name := range tests {
		if stamp, known := fileStampOf(filepath.Join(e.Dir, filepath.FromSlash(name))); known {
			files[name] = stamp
		}
	}
	e.testStamps = testStamps{in.Now.Snapshot, files}
	return nil
}

// swappedTests names the tests that were modified since stampTests. In an in-place view checks
// write to the workspace themselves, so swaps cannot be detected.
func (v *view) swappedTests() []string {
	e := v.examiner
	if v.mode == pristine.InPlace || e.testStamps.now != v.in.Now.Snapshot {
		return nil
	}
	var names []string
	for name, then := range e.testStamps.files {
		if s, known := fileStampOf(filepath.Join(e.Dir, filepath.FromSlash(name))); !known || s != then {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
