package verify

import (
	"cmp"
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
	overlayWorked bool   // set once an overlay worked
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
	unhidden []string // added files that match a protected pattern, which checks in place can see
}

// Isolation returns overlay, copy or inplace, and why no stronger mode is used.
func (v *view) Isolation() (mode, why string) { return string(v.mode), v.why }

// Close removes the view. What checks wrote in place stays.
func (v *view) Close() error {
	if v.mode == pristine.InPlace {
		v.examiner.testStamps = testStamps{} // the checks may have written tests
	}
	v.keepCaches()
	if err := v.isolated.Close(); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	if err := os.RemoveAll(v.folder); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// request asks for a view.
type request struct {
	ralph.ViewInput
	// apart means that the view must not be the workspace itself, because it differs from it or
	// because what is written in it must not stay.
	apart bool
}

// Open opens a view. Checks that run in place find the tree as it is: a changed protected file
// refuses the claim in any case.
func (e *Examiner) Open(ctx context.Context, in ralph.ViewInput) (ralph.View, error) {
	asked := request{ViewInput: in, apart: e.WorkspaceSnapshot != "" && e.WorkspaceSnapshot != in.Now.Snapshot}
	switch in.Kind {
	case ralph.ViewClaimed:
	case ralph.ViewHidden:
		asked.apart = asked.apart || e.HiddenDir != "" || len(addedDirs(e, in.Kind)) > 0
	default:
		asked.apart = true
	}
	v, err := e.open(ctx, asked)
	if err != nil {
		return nil, ownFailure(err)
	}
	return v, nil
}

func (e *Examiner) open(ctx context.Context, asked request) (*view, error) {
	found, err := e.classify(ctx, asked.Base, asked.Now)
	if err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	folder, err := tempFolder(e, "view-")
	if err != nil {
		return nil, fmt.Errorf("open view: %w: %w", ralph.ErrIO, err)
	}
	v, err := e.openIn(ctx, asked, found, folder)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open view: %w", err), os.RemoveAll(folder))
	}
	return v, nil
}

// tempFolder creates a folder for a view or a search.
func tempFolder(e *Examiner, prefix string) (string, error) {
	if err := os.MkdirAll(e.Folder, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(e.Folder, prefix)
}

func (e *Examiner) openIn(
	ctx context.Context, asked request, found classifiedChanges, folder string,
) (*view, error) {
	kept, inner := filepath.Join(folder, "base"), filepath.Join(folder, "view")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	edits, err := e.edits(ctx, asked.Kind, found, kept)
	if err != nil {
		return nil, err
	}
	made, err := e.openStrongest(ctx, asked, pristine.Options{
		Dir:           asked.Dir,
		Folder:        inner,
		Edits:         edits,
		Surroundings:  e.Surroundings,
		NoNetwork:     e.NoNetwork,
		OverlayWorked: e.best.overlayWorked,
	})
	if err != nil {
		return nil, err
	}
	mode, why, err := e.mode(ctx, asked)
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	e.best.overlayWorked = e.best.overlayWorked || made.OnDisk()
	shell := e.Shell
	if asked.Access == ralph.AccessIsolated {
		shell.Env = WithoutWorkspace(shell.Env, asked.Dir)
	}
	shell.Enter = made.Enter
	shell.answer = answerFor(ctx, e, asked.ViewInput, folder)
	if e.setsUp(e.looked) && mode != pristine.InPlace && asked.Kind != ralph.ViewAsLeft {
		shell.Prepare = (&setup{command: e.Setup, view: made}).prepare
	}
	v := &view{Shell: shell, isolated: made, mode: mode, why: why, folder: folder, examiner: e, in: asked.ViewInput}
	if mode == pristine.InPlace {
		v.unhidden = changeNames(found.meaning.Unseen)
	}
	return v, nil
}

// openStrongest opens a view in the strongest mode that works. If a mode was not requested by the
// user and fails for these edits, it is not used again in this run: an overlay may be refused in
// one folder of the workspace and work in all others.
func (e *Examiner) openStrongest(
	ctx context.Context, asked request, options pristine.Options,
) (*pristine.View, error) {
	before := e.best
	var first error
	for {
		mode, why, err := e.mode(ctx, asked)
		if err != nil {
			return nil, err
		}
		if mode == pristine.InPlace && asked.apart {
			return nil, cmp.Or(first, fmt.Errorf("%w: %s", ralph.ErrNoView, why))
		}
		made, err := e.openMode(ctx, asked, mode, options)
		if err == nil {
			return made, nil
		}
		if isStorageFailure(err) { // no reason to run checks in the user's files
			err = fmt.Errorf("%w: %w", ralph.ErrIO, err)
			first = err
		}
		first = cmp.Or[error](first, impossible{err})
		if ctx.Err() != nil || e.isNamed(asked) || mode == pristine.InPlace || errors.Is(err, ralph.ErrIO) {
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
	ctx context.Context, asked request, mode pristine.Mode, options pristine.Options,
) (*pristine.View, error) {
	options.Mode = mode
	switch {
	case mode == pristine.InPlace:
		options.Edits = nil // the workspace stays as it is
	case mode == pristine.Copy && e.Snapshots != nil && asked.Now.Snapshot != "":
		var err error
		if options.Files, err = e.Snapshots.Files(ctx, asked.Now.Snapshot); err != nil {
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
	in.Kind = ralph.ViewReviewed
	mode, _, err := e.mode(ctx, request{ViewInput: in})
	if err != nil {
		return nil, nil, err
	}
	if mode != pristine.Overlay {
		return nil, func() error { return nil }, nil
	}
	v, err := e.open(ctx, request{ViewInput: in, apart: true})
	if err != nil {
		return nil, nil, ownFailure(err)
	}
	return v.isolated.Enter, v.Close, nil
}

// isNamed reports whether a request can be met only in one mode: the one that the user or the check
// named.
func (e *Examiner) isNamed(asked request) bool {
	named := asked.Access == ralph.AccessCopy || e.Isolation == pristine.Overlay || e.Isolation == pristine.Copy
	return named || e.Isolation != "" && !asked.apart
}

// mode chooses how to make a view: as the check needs it, else as the user asked, else the strongest
// mode that works here.
func (e *Examiner) mode(ctx context.Context, asked request) (pristine.Mode, string, error) {
	switch {
	case asked.Access == ralph.AccessInPlace && !asked.apart:
		return pristine.InPlace, "", nil
	case asked.Access == ralph.AccessCopy:
		return pristine.Copy, "", nil
	case e.isNamed(asked):
		return e.Isolation, "", nil
	}
	if e.best.mode == "" && asked.Dir != "" {
		err := os.MkdirAll(e.Folder, 0o700)
		if err == nil {
			e.best.mode, e.best.why, err = pristine.StrongestMode(ctx, asked.Dir, e.Folder)
		}
		if err != nil {
			return "", "", fmt.Errorf("%w: %w", ralph.ErrIO, err)
		}
	}
	if e.best.mode == pristine.Copy && (e.Snapshots == nil || asked.Now.Snapshot == "") {
		why := e.best.why + "; no copy either, because it is unknown which files belong to the tree"
		return pristine.InPlace, why, nil
	}
	return e.best.mode, e.best.why, nil
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
