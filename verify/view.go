package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// isolation is the strongest mode found to work here so far.
type isolation struct {
	mode          pristine.Mode
	why           string // why no stronger mode is used
	overlayWorked bool   // worked is set once an overlay worked
}

// view is a Checker that runs in a view of the workspace.
type view struct {
	Shell
	isolated *pristine.View
	mode     pristine.Mode
	why      string
	folder   string

	examiner *Examiner
	in       ralph.ViewInput
	planted  bool // planted is set once the user's own canary command ran, because it may edit a test.
	// suspects are tests from the base that were rewritten, with the check that was running.
	suspects map[string]ralph.CheckInput
}

// Isolation returns overlay, copy or inplace, and why no stronger mode is used.
func (v *view) Isolation() (mode, why string) { return string(v.mode), v.why }

// Close removes the view. An in-place view restores the files that it changed.
func (v *view) Close() error {
	if v.mode == pristine.InPlace {
		v.examiner.testStamps = testStamps{} // the checks may have written tests
	}
	if err := v.isolated.Close(); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	if err := os.RemoveAll(v.folder); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// Open opens a view.
func (e *Examiner) Open(ctx context.Context, in ralph.ViewInput) (ralph.View, error) {
	v, err := e.open(ctx, in)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (e *Examiner) open(ctx context.Context, in ralph.ViewInput) (*view, error) {
	found, err := e.classify(ctx, in.Base, in.Now)
	if err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	folder, err := e.tempFolder("view-")
	if err != nil {
		return nil, fmt.Errorf("open view: %w: %w", ralph.ErrIO, err)
	}
	v, err := e.openIn(ctx, in, found, folder)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open view: %w", err), os.RemoveAll(folder))
	}
	return v, nil
}

// tempFolder creates a folder for a view or a search.
func (e *Examiner) tempFolder(prefix string) (string, error) {
	if err := os.MkdirAll(e.Folder, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(e.Folder, prefix)
}

func (e *Examiner) openIn(
	ctx context.Context, in ralph.ViewInput, found classifiedChanges, folder string,
) (*view, error) {
	kept, inner := filepath.Join(folder, "base"), filepath.Join(folder, "view")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		return nil, err
	}
	edits, err := e.edits(ctx, in.Kind, found, kept)
	if err != nil {
		return nil, err
	}
	made, err := e.openStrongest(ctx, in, pristine.Options{
		Dir:           in.Dir,
		Folder:        inner,
		Journal:       e.Journal,
		Edits:         edits,
		Surroundings:  e.Surroundings,
		NoNetwork:     e.NoNetwork,
		OverlayWorked: e.best.overlayWorked,
	})
	if err != nil {
		return nil, err
	}
	mode, why := e.mode(ctx, in)
	e.best.overlayWorked = e.best.overlayWorked || made.OnDisk()
	shell := e.Shell
	// Compiled files in the workspace are ignored by git, so their content is unknown. Checks must
	// not leave any there either.
	shell.Env = append(slices.Clip(shell.Env), "PYTHONPYCACHEPREFIX="+filepath.Join(folder, "pycache"))
	if in.Access == ralph.AccessIsolated {
		shell.Env = WithoutWorkspace(shell.Env, in.Dir)
	}
	if in.Kind == ralph.ViewHidden || in.Kind == viewHiddenBase {
		shell.Env = append(slices.Clip(shell.Env), "RALPH_HIDDEN_DIR="+e.HiddenDir)
	}
	shell.Enter = made.Enter
	return &view{Shell: shell, isolated: made, mode: mode, why: why, folder: folder, examiner: e, in: in}, nil
}

// openStrongest opens a view in the strongest mode that works. If a mode was not requested by the
// user and fails for these edits, it is not used again in this run: an overlay may be refused in
// one folder of the workspace and work in all others.
func (e *Examiner) openStrongest(
	ctx context.Context, in ralph.ViewInput, options pristine.Options,
) (*pristine.View, error) {
	before := e.best
	var first error
	for {
		mode, _ := e.mode(ctx, in)
		made, err := e.openMode(ctx, in, mode, options)
		if err == nil {
			return made, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || e.Isolation != "" || mode == pristine.InPlace {
			if e.Isolation == "" && before.mode != "" {
				// no mode works, so the mode is not the reason
				e.best.mode, e.best.why = before.mode, before.why
			}
			return nil, first
		}
		if mode == pristine.Overlay {
			e.best = isolation{mode: pristine.Copy, why: "no overlay: " + err.Error()}
		} else {
			e.best = isolation{mode: pristine.InPlace, why: e.best.why + "; and no copy: " + err.Error()}
		}
	}
}

func (e *Examiner) openMode(
	ctx context.Context, in ralph.ViewInput, mode pristine.Mode, options pristine.Options,
) (*pristine.View, error) {
	options.Mode = mode
	if mode == pristine.Copy && e.Snapshots != nil && in.Now.Snapshot != "" {
		var err error
		if options.Files, err = e.Snapshots.Files(ctx, in.Now.Snapshot); err != nil {
			return nil, err
		}
	}
	return pristine.Open(ctx, options)
}

// OpenForReview opens a view of the current workspace for a reviewer that must not leave traces. It
// returns how to start a command in the view, and how to close it. Files that instruct agents are
// shown as at the base, so that an agent cannot write instructions to its own reviewer. Without
// overlays the reviewer works in the workspace itself.
func (e *Examiner) OpenForReview(
	ctx context.Context, in ralph.ViewInput,
) (enter func(*process.Spec), leave func() error, err error) {
	if mode, _ := e.mode(ctx, in); mode != pristine.Overlay {
		return nil, func() error { return nil }, nil
	}
	in.Kind = ralph.ViewReviewed
	v, err := e.open(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	return v.isolated.Enter, v.Close, nil
}

// mode chooses how to make a view: in place for a check that needs it, else as the user asked, else
// the strongest mode that works here.
func (e *Examiner) mode(ctx context.Context, in ralph.ViewInput) (pristine.Mode, string) {
	switch {
	case in.Access == ralph.AccessInPlace:
		return pristine.InPlace, ""
	case e.Isolation != "":
		return e.Isolation, ""
	}
	if e.best.mode == "" && in.Dir != "" {
		_ = os.MkdirAll(e.Folder, 0o700) // if it cannot be made, StrongestMode reports that
		e.best.mode, e.best.why = pristine.StrongestMode(ctx, in.Dir, e.Folder)
	}
	if e.best.mode == pristine.Copy && (e.Snapshots == nil || in.Now.Snapshot == "") {
		return pristine.InPlace, e.best.why + "; no copy either, because it is unknown which files belong to the tree"
	}
	return e.best.mode, e.best.why
}

// WithoutWorkspace removes folders of the workspace and relative folders from PATH, because an
// agent can put programs there.
func WithoutWorkspace(env []string, dir string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		// with it, node --test runs nothing and passes
		return strings.HasPrefix(entry, "NODE_TEST_CONTEXT=")
	})
	for i, entry := range kept {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		folders := slices.DeleteFunc(filepath.SplitList(list), func(folder string) bool {
			return !filepath.IsAbs(folder) || isInside(folder, dir) || isInside(resolveLinks(folder), resolveLinks(dir))
		})
		kept[i] = "PATH=" + strings.Join(folders, string(filepath.ListSeparator))
	}
	return kept
}
