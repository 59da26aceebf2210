package pristine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// Mode is how a view is made.
type Mode string

// The modes, strongest first.
const (
	Overlay Mode = "overlay"
	Copy    Mode = "copy"
	InPlace Mode = "inplace"
)

// Edit is one file that differs in a view. Name is relative to the workspace, with slashes. Source
// is a file or link to put there. If it is "", the file or folder at Name is removed.
type Edit = process.Edit

// Options define what a view shows and how.
type Options struct {
	// Dir is the workspace.
	Dir string
	// Folder is an empty folder outside Dir that only its owner can enter. It holds temporary files
	// and is empty again after Close. For an in-place view it may be inside Dir.
	Folder string
	Mode   Mode
	// Edits are applied by Open. Their sources must exist until Close. A view in place has none.
	Edits []Edit
	// Files are the files of the tree, for a copy. Everything else in Dir counts as ignored and is
	// shared by links.
	Files []string
	// Surroundings are the saved files outside the tree; nil leaves them alone.
	Surroundings *Surroundings
	// NoNetwork cuts checks off from the network. It requires a system with enclosures.
	NoNetwork bool
	// OverlayWorked means that an overlay of Dir with a Folder next to this one already worked.
	// Without edits Open then has nothing to do before the first command.
	OverlayWorked bool
}

// View is a workspace with edits. Only one view of a workspace may be open at a time, and only one
// process at a time may run in it.
type View struct {
	options Options
	// the context of Open: a view lives as long as the work that it was opened for
	ctx     context.Context
	backend backend
	cover   coverPlan
	edits   editLog
}

// backend implements one mode.
type backend interface {
	dir() string
	enter(s *process.Spec)
	applyEdits(ctx context.Context, edits []Edit) error
	// writtenFinder returns a function that looks up what commands wrote at a name, or nil if the
	// mode does not record it.
	writtenFinder() func(name string) (file string, own bool)
	// firstStamp returns the stamp of a file as the view showed it at first. It reports false for a
	// file that becomes the view's own only when it is written.
	firstStamp(name string) (stamp, bool)
	close() error
}

// Open opens a view. The context bounds the whole view, including ApplyEdits. The caller must close
// the view.
func Open(ctx context.Context, o Options) (*View, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	v := &View{options: o, ctx: ctx}
	around, err := o.Surroundings.planCover(o)
	if err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	v.cover = around
	switch o.Mode {
	case Overlay:
		v.backend, err = openOverlay(ctx, &v.options, around)
	case Copy:
		v.backend, err = openCopy(ctx, &v.options)
	case InPlace:
		v.backend, err = openInPlace(ctx, &v.options)
	}
	if err == nil && o.NoNetwork && o.Mode != Overlay {
		if err = (&process.Enclosure{NoNetwork: true}).Make(ctx); err != nil {
			err = errors.Join(fmt.Errorf("cut off network: %w", err), v.backend.close())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open view: %w", err), around.discard(o.Folder))
	}
	v.edits.record(o.Edits, v.backend.writtenFinder())
	return v, nil
}

func (o *Options) check() error {
	for _, dir := range []string{o.Dir, o.Folder} {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() || !filepath.IsAbs(dir) {
			return fmt.Errorf("%s is not a folder with an absolute path", dir)
		}
	}
	// an in-place view may be inside
	if _, ok := relativeTo(realPath(o.Folder), realPath(o.Dir)); ok && o.Mode != InPlace {
		return fmt.Errorf("%s is inside the workspace", o.Folder)
	}
	switch o.Mode {
	case Overlay, Copy, InPlace:
		return nil
	}
	return fmt.Errorf("unknown mode %q", o.Mode)
}

// OnDisk reports whether the view is a working overlay that keeps writes on disk: see
// Options.OverlayWorked.
func (v *View) OnDisk() bool {
	o, ok := v.backend.(*overlay)
	return ok && !o.inMemory
}

// Mode is how the view was made.
func (v *View) Mode() Mode { return v.options.Mode }

// Dir is where checks find the workspace.
func (v *View) Dir() string { return v.backend.dir() }

// Enter makes a command run in the view. It sets the command's folder, if that is in the workspace,
// its environment, and its enclosure.
func (v *View) Enter(s *process.Spec) {
	if v.options.NoNetwork {
		enclosure(s).NoNetwork = true
	}
	v.backend.enter(s)
	s.Env = append(s.Env[:len(s.Env):len(s.Env)], v.cover.env...)
}

// enclosure gives a command its own enclosure. It copies an existing one, because the caller may
// share it.
func enclosure(s *process.Spec) *process.Enclosure {
	e := &process.Enclosure{}
	if s.Enclosure != nil {
		*e = *s.Enclosure
	}
	s.Enclosure = e
	return e
}

// ApplyEdits applies further edits to an open view. No command may be running in it. In place the
// error is ErrInPlace.
func (v *View) ApplyEdits(edits []Edit) error {
	if len(edits) == 0 {
		return nil
	}
	if err := v.backend.applyEdits(v.ctx, edits); err != nil {
		return fmt.Errorf("edit view: %w", err)
	}
	v.edits.record(edits, v.backend.writtenFinder())
	return nil
}

// Close discards the view. What commands wrote in place stays.
func (v *View) Close() error {
	if err := errors.Join(v.backend.close(), v.cover.discard(v.options.Folder)); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// Sweep removes views that were never closed because their process was killed. No view may be open.
func Sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep views: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if err := removeAll(folder, names...); err != nil {
		return fmt.Errorf("sweep views: %w", err)
	}
	return nil
}

// removeAll removes entries of a folder, including those without write permission.
func removeAll(folder string, names ...string) error {
	edits := make([]Edit, 0, len(names))
	for _, name := range names {
		edits = append(edits, Edit{Name: name})
	}
	err := process.ApplyEdits(folder, edits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// relativeTo returns the path relative to a folder; "." is the folder itself.
func relativeTo(path, folder string) (rest string, ok bool) {
	rest, err := filepath.Rel(folder, path)
	if err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rest, true
}

// realPath resolves the links in a path, as far as it exists.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return real
}
