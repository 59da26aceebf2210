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
	// edits are those of the whole view. They are committed before its first command, if it is one of a checkout.
	edits   []pristine.Edit
	isClone bool
	settled bool
}

// Isolation returns overlay, copy or inplace, and why no stronger mode is used.
func (v *view) Isolation() (mode, why string) { return string(v.mode), v.why }

// Close removes the view. What checks wrote in place stays.
func (v *view) Close() error {
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
	if asked.Access == ralph.AccessFolder {
		asked.Now.Cloned = "" // it is about the workspace, not about a clone
	}
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
	options, layer, err := e.layers(ctx, asked)
	if err != nil {
		return nil, err
	}
	edits, err := e.edits(ctx, asked.Kind, found, layer, kept)
	if err != nil {
		return nil, err
	}
	v := &view{folder: folder, examiner: e, in: asked.ViewInput, isClone: len(options.Layers) > 0}
	v.edits = v.belowTop(edits)
	options.Folder, options.Edits, options.Surroundings = inner, v.edits, e.Surroundings
	options.NoNetwork, options.OverlayWorked = e.NoNetwork, e.best.overlayWorked
	made, err := e.openStrongest(ctx, asked, options)
	if err != nil {
		return nil, err
	}
	v.isolated = made
	if v.mode, v.why, err = e.mode(ctx, asked); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	e.best.overlayWorked = e.best.overlayWorked || made.OnDisk()
	v.Shell = e.Shell
	if asked.Access == ralph.AccessIsolated {
		v.Env = WithoutWorkspace(v.Env, asked.Dir)
	}
	v.Enter = made.Enter
	v.answer = answerFor(ctx, e, asked.ViewInput, folder)
	if e.Ground.setsUp(asked.ViewInput) && v.mode != pristine.InPlace {
		v.Prepare = (&setup{command: e.Ground.Setup, view: made}).prepare
	}
	if v.mode == pristine.InPlace {
		v.unhidden = changeNames(found.meaning.Unseen)
	}
	return v, nil
}

// layers returns what a view shows below its edits, and the snapshot that these begin from: a checkout, or the
// workspace itself.
func (e *Examiner) layers(ctx context.Context, asked request) (pristine.Options, string, error) {
	mode, _, err := e.mode(ctx, asked)
	if err != nil {
		return pristine.Options{}, "", err
	}
	if e.Ground != nil && asked.Access != ralph.AccessFolder && asked.Base.Snapshot != "" && mode != pristine.InPlace {
		return e.Ground.layers(ctx, asked.ViewInput)
	}
	return pristine.Options{Dir: asked.Dir, Top: asked.Dir}, cmp.Or(e.WorkspaceSnapshot, asked.Now.Snapshot), nil
}

// belowTop returns edits with names relative to the top of the view.
func (v *view) belowTop(edits []pristine.Edit) []pristine.Edit {
	prefix := ""
	if v.isClone {
		prefix = v.examiner.Ground.prefix()
	}
	named := slices.Clone(edits)
	for i := range named {
		named[i].Name = prefix + named[i].Name
	}
	return named
}

// settle commits the files of a view in its own .git, so that git sees no difference, whatever was planted.
func (v *view) settle(ctx context.Context) error {
	if !v.isClone || v.settled || len(v.edits) == 0 {
		return nil
	}
	v.settled = true
	g := v.examiner.Ground
	var all []ralph.FileEdit
	for _, e := range v.edits {
		all = append(all, ralph.FileEdit(e))
	}
	files, err := g.Checkouts.CommitEdits(ctx, *g.made, all, filepath.Join(v.folder, "commit"))
	if err != nil {
		return fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	var edits []pristine.Edit
	for _, f := range files {
		edits = append(edits, pristine.Edit(f))
	}
	if err := v.isolated.ApplyEdits(edits); err != nil {
		return fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return nil
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
		made, err := openMode(ctx, mode, options)
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

func openMode(ctx context.Context, mode pristine.Mode, options pristine.Options) (*pristine.View, error) {
	if options.Mode = mode; mode == pristine.InPlace {
		options.Edits, options.Layers, options.Live = nil, nil, nil // the workspace stays as it is
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
	if err := v.settle(ctx); err != nil {
		return nil, nil, ownFailure(errors.Join(err, v.Close()))
	}
	return v.isolated.Enter, v.Close, nil
}

// isNamed reports whether a request can be met only in the mode that the user named.
func (e *Examiner) isNamed(asked request) bool {
	named := e.Isolation == pristine.Overlay || e.Isolation == pristine.Copy
	return named || e.Isolation != "" && !asked.apart
}

// mode chooses how to make a view: as the user asked, else the strongest mode that works here.
func (e *Examiner) mode(ctx context.Context, asked request) (pristine.Mode, string, error) {
	if e.isNamed(asked) {
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
	if e.best.mode == pristine.Copy && (e.Ground == nil || asked.Now.Snapshot == "") {
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
