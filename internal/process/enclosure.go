package process

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// ErrEnclosure means that an Enclosure could not be created, so that the program was never started.
// It is in Result.StartError.
var ErrEnclosure = errors.New("cannot create the enclosure")

// Enclosure makes a tree see a different file system than the rest of the machine. Nothing of it
// remains when the tree is gone, however it ends, except for what was written into the folders that
// it names.
//
// It works on Linux, for root and, where the system allows user namespaces, for every user.
// Elsewhere, and where the system forbids it, the tree does not start. The error is ErrEnclosure,
// and also errors.ErrUnsupported on a system without enclosures.
//
// The program keeps its user, its groups as far as the kernel shows them, and its capabilities. A
// user owns the same files inside; files of other users seem to belong to nobody (the overflow
// user).
type Enclosure struct {
	// Mounts are created in order.
	Mounts []Mount
	// Root is the folder, as seen after the mounts, in which Edits are made. Edits need a Root.
	Root  string
	Edits []Edit
	// NoNetwork leaves the tree only a private loopback device.
	NoNetwork bool
}

type (
	// Mount is one change to the visible file system.
	Mount = inside.Mount
	// MountKind is the kind of a mount.
	MountKind = inside.MountKind
	// Edit replaces or deletes one file of a folder.
	Edit = inside.Edit
)

// The kinds of mounts; see package inside.
const (
	Overlay = inside.Overlay
	Bind    = inside.Bind
	Tmpfs   = inside.Tmpfs
)

// ApplyEdits makes edits in a folder, as an Enclosure does in its Root.
func ApplyEdits(dir string, edits []Edit) error {
	if err := checkNames(edits); err != nil {
		return err
	}
	return inside.ApplyEdits(dir, edits)
}

func checkNames(edits []Edit) error {
	for _, e := range edits {
		if !filepath.IsLocal(filepath.FromSlash(e.Name)) || path.Clean(e.Name) == "." {
			return fmt.Errorf("edit %q: not a path below the folder", e.Name)
		}
	}
	return nil
}

// Make creates the enclosure with its edits, and removes it at once. The edits stay in the Upper of
// an Overlay, where the next tree finds them. The error is nil, ErrEnclosure, or the context's.
func (e *Enclosure) Make(ctx context.Context) error {
	result, err := Run(ctx, Spec{Argv: []string{inside.Name}, Enclosure: e, makeOnly: true})
	switch {
	case err != nil:
		return fmt.Errorf("make enclosure: %w", err)
	case result.StartError != nil:
		return result.StartError
	case result.State == Canceled:
		return fmt.Errorf("make enclosure: %w", context.Cause(ctx))
	case result.ExitCode != 0:
		return fmt.Errorf("%w: it ended with %d", ErrEnclosure, result.ExitCode)
	}
	return nil
}

// CanEnclose checks whether this system allows this user to create an enclosure. nil means yes.
// Only Make can tell whether an Overlay of a certain folder works.
func CanEnclose(ctx context.Context) error { return (&Enclosure{}).Make(ctx) }
