package process

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// ErrEnclosure says that an Enclosure could not be made, so that the program was never started. It
// is in Result.StartError.
var ErrEnclosure = errors.New("enclosure could not be made")

// Enclosure makes a tree see the file system otherwise than the rest of the machine does. Nothing
// of it is left when the tree is gone, however it ends, except for what was written into the
// folders that it names.
//
// It is there on Linux, for root and, where the system lets users have namespaces of their own, for
// everybody. Elsewhere, and where the system forbids it, the tree does not start; the error is
// ErrEnclosure, and errors.ErrUnsupported where there is no such thing.
//
// The program keeps its user, its groups as far as the kernel shows them, and its rights. A user's
// files are his own inside, too; those of others seem to belong to nobody.
type Enclosure struct {
	// Mounts are made one after the other.
	Mounts []Mount
	// Root is the folder, as it is seen after the mounts, in which Edits are made. Edits without a
	// Root are a mistake.
	Root  string
	Edits []Edit
	// NoNetwork leaves the tree nothing but a loopback device of its own.
	NoNetwork bool
}

type (
	// Mount is one change of what is seen.
	Mount = inside.Mount
	// MountKind is what a mount does.
	MountKind = inside.MountKind
	// Edit is one file of a folder that is to be otherwise.
	Edit = inside.Edit
)

// The kinds of mounts; package inside says what they do.
const (
	Overlay = inside.Overlay
	Bind    = inside.Bind
	Tmpfs   = inside.Tmpfs
)

// Lay makes edits in a folder, as an Enclosure does it in its Root.
func Lay(dir string, edits []Edit) error {
	if err := checkNames(edits); err != nil {
		return err
	}
	return inside.Lay(dir, edits)
}

func checkNames(edits []Edit) error {
	for _, e := range edits {
		if !filepath.IsLocal(filepath.FromSlash(e.Name)) || path.Clean(e.Name) == "." {
			return fmt.Errorf("edit %q: not a name below the folder", e.Name)
		}
	}
	return nil
}

// Make makes the enclosure, with its edits, and takes it down again at once. What was edited stays
// in the Upper of an Overlay, where the next tree finds it. The error is nil, ErrEnclosure, or the
// context's.
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

// CanEnclose tries whether this system lets this user have an enclosure at all. nil means yes.
// Whether an Overlay of a certain folder works, only Make can tell.
func CanEnclose(ctx context.Context) error { return (&Enclosure{}).Make(ctx) }
