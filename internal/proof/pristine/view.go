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

// The modes, the strongest first.
const (
	Overlay Mode = "overlay"
	Copy    Mode = "copy"
	InPlace Mode = "inplace"
)

// Edit is one file that is otherwise in a view. Name is below the workspace, with slashes. Source is a file or a link that is put there; "" takes
// away what is there, be it a file or a whole folder.
type Edit = process.Edit

// Options say what a view shows and how.
type Options struct {
	// Dir is the workspace.
	Dir string
	// Folder is an empty folder outside of it that only its owner can enter, for what the view needs. It is empty again after Close. One in place may have
	// it inside.
	Folder string
	// Journal is the folder where a view in place keeps what it needs to put everything back. It is the same for every view of a workspace, so that
	// the next process finds it.
	Journal string
	Mode    Mode
	// Edits are made by Open. Their sources must stay until Close.
	Edits []Edit
	// Files are those of the tree, for a copy; everything else in Dir is taken for ignored and shared by links.
	Files []string
	// Around are the files outside of the tree as they were; nil leaves those alone.
	Around *Surroundings
	// NoNetwork cuts checks off the network. It takes a system that has enclosures.
	NoNetwork bool
	// Tried says that an overlay of Dir that had its Folder beside this one worked: without edits there is nothing to do then before the first command.
	Tried bool
}

// View is a workspace with edits. Only one of a workspace may be open at a time, and one process at a time may run in it.
type View struct {
	options Options
	ctx     context.Context // of Open: a view lives as long as what it was opened for
	way     way
	around  covered
	edited  editions
}

// way is how one mode does it.
type way interface {
	dir() string
	enter(s *process.Spec)
	lay(ctx context.Context, edits []Edit) error
	written() func(name string) (file string, own bool) // looks what commands made of a file; nil if nobody can tell
	close() error
}

// Open makes a view. The context bounds it as a whole, Lay included. Whoever opened it closes it.
func Open(ctx context.Context, o Options) (*View, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	v := &View{options: o, ctx: ctx}
	around, err := o.Around.cover(o)
	if err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	v.around = around
	switch o.Mode {
	case Overlay:
		v.way, err = openOverlay(ctx, &v.options, around)
	case Copy:
		v.way, err = openCopy(ctx, &v.options)
	case InPlace:
		v.way, err = openInPlace(ctx, &v.options)
	}
	if err == nil && o.NoNetwork && o.Mode != Overlay {
		if err = (&process.Enclosure{NoNetwork: true}).Make(ctx); err != nil {
			err = errors.Join(fmt.Errorf("cut off network: %w", err), v.way.close())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open view: %w", err), around.discard(o.Folder))
	}
	v.edited.note(o.Edits, v.way.written())
	return v, nil
}

func (o *Options) check() error {
	for _, dir := range []string{o.Dir, o.Folder} {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() || !filepath.IsAbs(dir) {
			return fmt.Errorf("%s is no folder with a full path", dir)
		}
	}
	if _, ok := below(realPath(o.Folder), realPath(o.Dir)); ok && o.Mode != InPlace { // which shows what is there
		return fmt.Errorf("%s lies in the workspace", o.Folder)
	}
	switch o.Mode {
	case Overlay, Copy:
		return nil
	case InPlace:
		if !filepath.IsAbs(o.Journal) {
			return errors.New("a view in place needs the full path of a journal")
		}
		return nil
	}
	return fmt.Errorf("unknown mode %q", o.Mode)
}

// OnDisk says that the view is an overlay that worked, and keeps what is written on disk: see Options.Tried.
func (v *View) OnDisk() bool {
	o, ok := v.way.(*overlay)
	return ok && !o.inMemory
}

// Dir is where checks find the workspace.
func (v *View) Dir() string { return v.way.dir() }

// Enter makes a command run in the view: its folder, if it is in the workspace, its environment, and what it sees.
func (v *View) Enter(s *process.Spec) {
	if v.options.NoNetwork {
		enclosure(s).NoNetwork = true
	}
	v.way.enter(s)
	s.Env = append(s.Env[:len(s.Env):len(s.Env)], v.around.env...)
}

// enclosure is that of a command, which may have one already. It is a copy: the caller's may be shared.
func enclosure(s *process.Spec) *process.Enclosure {
	e := &process.Enclosure{}
	if s.Enclosure != nil {
		*e = *s.Enclosure
	}
	s.Enclosure = e
	return e
}

// Lay makes further edits in an open view. No command may be running in it.
func (v *View) Lay(edits []Edit) error {
	if len(edits) == 0 {
		return nil
	}
	if err := v.way.lay(v.ctx, edits); err != nil {
		return fmt.Errorf("edit view: %w", err)
	}
	v.edited.note(edits, v.way.written())
	return nil
}

// Close throws the view away. In place it puts back everything that was edited.
func (v *View) Close() error {
	if err := errors.Join(v.way.close(), v.around.discard(v.options.Folder)); err != nil {
		return fmt.Errorf("close view: %w", err)
	}
	return nil
}

// Sweep empties a folder of views that were never closed, since their process was killed. None may be open. Recover comes first: it needs none of it.
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
	if err := wipe(folder, names...); err != nil {
		return fmt.Errorf("sweep views: %w", err)
	}
	return nil
}

// wipe removes entries of a folder, also those that their owner has locked.
func wipe(folder string, names ...string) error {
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

// below gives the rest of a path in a folder; "." is the folder itself.
func below(path, folder string) (rest string, ok bool) {
	rest, err := filepath.Rel(folder, path)
	if err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rest, true
}

// realPath is a path without links, as far as it exists.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return real
}
