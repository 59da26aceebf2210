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

// isolation is the strongest one that works here, as far as is known.
type isolation struct {
	mode  pristine.Mode
	why   string // it is not a stronger one
	tried bool   // an overlay worked
}

// view is a Checker in a view of the workspace.
type view struct {
	Shell
	made   *pristine.View
	mode   pristine.Mode
	why    string
	folder string

	examiner *Examiner
	in       ralph.ViewInput
	planted  bool                        // by the user's own command, which may do so in a test
	suspects map[string]ralph.CheckInput // tests of the base that were rewritten, and the check that ran
}

// Isolation is overlay, copy or inplace, and why it is not a stronger one.
func (v *view) Isolation() (mode, why string) { return string(v.mode), v.why }

// Close takes the view down. What an in-place view changed is put back.
func (v *view) Close() error {
	if v.mode == pristine.InPlace {
		v.examiner.stood = standings{} // the checks may have written tests
	}
	if err := v.made.Close(); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	if err := os.RemoveAll(v.folder); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// Open makes a view.
func (e *Examiner) Open(ctx context.Context, in ralph.ViewInput) (ralph.View, error) {
	v, err := e.open(ctx, in)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (e *Examiner) open(ctx context.Context, in ralph.ViewInput) (*view, error) {
	found, err := e.sort(ctx, in.Base, in.Now)
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

// tempFolder makes a folder for what views and searches need.
func (e *Examiner) tempFolder(prefix string) (string, error) {
	if err := os.MkdirAll(e.Folder, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(e.Folder, prefix)
}

func (e *Examiner) openIn(ctx context.Context, in ralph.ViewInput, found sortedChanges, folder string) (*view, error) {
	kept, inner := filepath.Join(folder, "base"), filepath.Join(folder, "view")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		return nil, err
	}
	edits, err := e.edits(ctx, in.Kind, found, kept)
	if err != nil {
		return nil, err
	}
	made, err := e.make(ctx, in, pristine.Options{
		Dir: in.Dir, Folder: inner, Journal: e.Journal, Edits: edits, Around: e.Around, NoNetwork: e.NoNetwork, Tried: e.best.tried,
	})
	if err != nil {
		return nil, err
	}
	mode, why := e.mode(ctx, in)
	e.best.tried = e.best.tried || made.OnDisk()
	shell := e.Shell
	// Compiled files that lie in the workspace are ignored ones, and nobody knows what is in them. Nor should checks leave any there.
	shell.Env = append(slices.Clip(shell.Env), "PYTHONPYCACHEPREFIX="+filepath.Join(folder, "pycache"))
	if in.Access == ralph.AccessIsolated {
		shell.Env = WithoutWorkspace(shell.Env, in.Dir)
	}
	if in.Kind == ralph.ViewHidden || in.Kind == viewHiddenBase {
		shell.Env = append(slices.Clip(shell.Env), "RALPH_HIDDEN_DIR="+e.HiddenDir)
	}
	shell.Enter = made.Enter
	return &view{Shell: shell, made: made, mode: mode, why: why, folder: folder, examiner: e, in: in}, nil
}

// make opens a view as well as it can be done. A mode that nobody asked for, and that turns out not to work for these edits, is given up for the rest of the
// run: an overlay may be refused in one folder of the workspace and work in all others.
func (e *Examiner) make(ctx context.Context, in ralph.ViewInput, options pristine.Options) (*pristine.View, error) {
	before := e.best
	var first error
	for {
		mode, _ := e.mode(ctx, in)
		made, err := e.makeAs(ctx, in, mode, options)
		if err == nil {
			return made, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || e.Isolation != "" || mode == pristine.InPlace {
			if e.Isolation == "" && before.mode != "" {
				e.best.mode, e.best.why = before.mode, before.why // nothing works, so it is not the mode
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

func (e *Examiner) makeAs(ctx context.Context, in ralph.ViewInput, mode pristine.Mode, options pristine.Options) (*pristine.View, error) {
	options.Mode = mode
	if mode == pristine.Copy && e.Copies != nil && in.Now.Snapshot != "" {
		var err error
		if options.Files, err = e.Copies.Files(ctx, in.Now.Snapshot); err != nil {
			return nil, err
		}
	}
	return pristine.Open(ctx, options)
}

// Aside opens a view of the workspace as it stands for somebody who is to look and leave no trace: what he is started with, and how the view is
// closed. What instructs agents is as at the base: nobody writes to his own reviewer that way. Where there is no overlay, he works in the workspace
// itself.
func (e *Examiner) Aside(ctx context.Context, in ralph.ViewInput) (enter func(*process.Spec), leave func() error, err error) {
	if mode, _ := e.mode(ctx, in); mode != pristine.Overlay {
		return nil, func() error { return nil }, nil
	}
	in.Kind = ralph.ViewReviewed
	v, err := e.open(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	return v.made.Enter, v.Close, nil
}

// mode is how a view is made: in place for a check that needs it, else as the user wants, else as well as it can be done here.
func (e *Examiner) mode(ctx context.Context, in ralph.ViewInput) (pristine.Mode, string) {
	switch {
	case in.Access == ralph.AccessInPlace:
		return pristine.InPlace, ""
	case e.Isolation != "":
		return e.Isolation, ""
	}
	if e.best.mode == "" && in.Dir != "" {
		_ = os.MkdirAll(e.Folder, 0o700) // where it cannot be made, the answer says so
		e.best.mode, e.best.why = pristine.Strongest(ctx, in.Dir, e.Folder)
	}
	if e.best.mode == pristine.Copy && (e.Copies == nil || in.Now.Snapshot == "") {
		return pristine.InPlace, e.best.why + "; which files belong to the tree is not known, so it is not copied either"
	}
	return e.best.mode, e.best.why
}

// WithoutWorkspace takes the folders of the workspace out of PATH, and those that depend on where a command runs: an agent can put programs there.
func WithoutWorkspace(env []string, dir string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "NODE_TEST_CONTEXT=") // with it, node --test runs nothing and is green
	})
	for i, entry := range kept {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		folders := slices.DeleteFunc(filepath.SplitList(list), func(folder string) bool {
			return !filepath.IsAbs(folder) || inside(folder, dir) || inside(resolved(folder), resolved(dir))
		})
		kept[i] = "PATH=" + strings.Join(folders, string(filepath.ListSeparator))
	}
	return kept
}
