package pristine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/process"
)

// Names that an overlay uses in Options.Folder.
const (
	upperName   = "upper"
	workName    = "work"
	scratchName = "scratch"
	probeName   = "probe"
)

// overlay mounts itself over the workspace again for every command, with what earlier commands
// wrote.
type overlay struct {
	workspace string
	folder    string
	binds     []process.Mount
	inMemory  bool
	edits     []Edit // edits are repeated for every command if nothing is kept between them
}

func openOverlay(ctx context.Context, o *Options, around coverPlan) (*overlay, error) {
	v := &overlay{workspace: o.Dir, folder: o.Folder, binds: around.binds}
	edits := append(append([]Edit{}, o.Edits...), around.edits...)
	if o.OverlayWorked && len(edits) == 0 {
		return v, nil
	}
	err := v.applyEdits(ctx, edits)
	if err == nil {
		return v, nil
	}
	onDisk := err
	if err := v.useMemory(); err == nil && v.applyEdits(ctx, edits) == nil {
		return v, nil
	}
	return nil, errors.Join(onDisk, v.close())
}

// useMemory is for file systems that cannot serve as the upper layer of an overlay, such as
// overlays.
func (v *overlay) useMemory() error {
	v.inMemory, v.edits = true, nil
	if err := removeAll(v.folder, upperName, workName); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(v.folder, scratchName), 0o700)
}

func (v *overlay) mounts() []process.Mount {
	base := v.folder
	var list []process.Mount
	if v.inMemory {
		base = filepath.Join(v.folder, scratchName)
		list = append(list, process.Mount{Kind: process.Tmpfs, Target: base})
	}
	list = append(list, process.Mount{Kind: process.Overlay, Target: v.workspace, Lower: v.workspace,
		Upper: filepath.Join(base, upperName), Work: filepath.Join(base, workName)})
	return append(list, v.binds...)
}

func (v *overlay) dir() string { return v.workspace }

func (v *overlay) enter(s *process.Spec) {
	e := enclosure(s)
	e.Mounts = append(v.mounts(), e.Mounts...)
	if len(v.edits) > 0 {
		e.Root = v.workspace
		e.Edits = append(append([]Edit{}, v.edits...), e.Edits...)
	}
}

// applyEdits edits through the overlay itself, because only the kernel knows how to record a
// deletion there.
func (v *overlay) applyEdits(ctx context.Context, edits []Edit) error {
	all := append(append([]Edit{}, v.edits...), edits...)
	e := process.Enclosure{Mounts: v.mounts(), Root: v.workspace, Edits: all}
	if err := e.Make(ctx); err != nil {
		return err
	}
	if v.inMemory {
		v.edits = all
	}
	return nil
}

func (v *overlay) writtenFinder() func(name string) (file string, own bool) {
	if v.inMemory {
		return nil
	}
	l := upperLayer{root: filepath.Join(v.folder, upperName), states: map[string]folderState{}}
	return l.find
}

// firstStamp knows none: the upper layer has only files that were written.
func (v *overlay) firstStamp(string) (stamp, bool) { return stamp{}, false }

func (v *overlay) close() error { return removeAll(v.folder, upperName, workName, scratchName) }

// StrongestMode tries which mode works for a workspace with a folder for its views. why explains
// why it is not Overlay. If an overlay works but can hold writes only in memory, the mode is
// Overlay and why says so. An error means that the folder cannot be written.
func StrongestMode(ctx context.Context, dir, folder string) (mode Mode, why string, err error) {
	if _, inside := relativeTo(realPath(folder), realPath(dir)); inside {
		return InPlace, "the folder for views would be inside the workspace: " + folder, nil
	}
	probe := filepath.Join(folder, probeName)
	defer removeAll(folder, probeName) //nolint:errcheck // the owner of the folder removes what is left
	if err := os.Mkdir(probe, 0o700); err != nil {
		return "", "", fmt.Errorf("write files for a view: %w", err)
	}
	kept, err := tryOverlay(ctx, dir, probe)
	if err == nil && kept {
		return Overlay, "", nil
	}
	if err == nil {
		return Overlay, "files that checks write stay in memory, and the next check does not see them, because the " +
			"file system of " + folder + " does not support overlays", nil
	}
	why = "no overlay: " + err.Error()
	if errors.Is(err, errors.ErrUnsupported) {
		why = "this system does not support overlays"
	}
	if err := os.Symlink(dir, filepath.Join(probe, "link")); err != nil {
		return InPlace, why + ", and no copy: " + err.Error(), nil
	}
	return Copy, why, nil
}

// tryOverlay opens a view that adds one file, and checks that the file was written to the right
// place.
func tryOverlay(ctx context.Context, dir, probe string) (kept bool, err error) {
	source := filepath.Join(probe, "source")
	if err := os.WriteFile(source, nil, 0o600); err != nil {
		return false, err
	}
	name := "." + rand.Text()
	o := Options{Dir: dir, Folder: probe, Mode: Overlay, Edits: []Edit{{Name: name, Source: source}}}
	v, err := openOverlay(ctx, &o, coverPlan{})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		_ = os.Remove(filepath.Join(dir, name))
		return false, errors.New("a test write reached the workspace")
	}
	if v.inMemory {
		return false, nil
	}
	if _, err := os.Lstat(filepath.Join(probe, upperName, name)); err != nil {
		return false, fmt.Errorf("a test write was lost: %w", err)
	}
	return true, nil
}
