package process

import (
	"context"
	"errors"
	"fmt"
)

// ErrEnclosure says that an Enclosure could not be made, so that the program was never started. It is in Result.StartError.
var ErrEnclosure = errors.New("enclosure could not be made")

// Enclosure makes a tree see the file system otherwise than the rest of the machine does. Nothing of it is left when the tree is gone, however it
// ends, except for what was written into the folders that it names.
//
// It is there on Linux, for root and, where the system lets users have namespaces of their own, for everybody. Elsewhere, and where the system
// forbids it, the tree does not start; the error is ErrEnclosure, and errors.ErrUnsupported where there is no such thing.
//
// The program keeps its user, its groups as far as the kernel shows them, and its rights. A user's files are his own inside, too; those of others
// seem to belong to nobody.
type Enclosure struct {
	// Mounts are made one after the other.
	Mounts []Mount
	// Root is the folder, as it is seen after the mounts, in which Edits are made. Edits without a Root are a mistake.
	Root  string
	Edits []Edit
	// NoNetwork leaves the tree nothing but a loopback device of its own.
	NoNetwork bool
}

// MountKind is what a mount does.
type MountKind string

const (
	// Overlay shows Lower at Target. Whatever is written there goes to Upper. Target may be Lower itself. What is mounted below Lower is seen below
	// Target, too, but writes to it go through.
	Overlay MountKind = "overlay"
	// Bind shows the file or folder Source at Target, which must be there and be of the same kind. What is mounted below Source is seen, too.
	Bind MountKind = "bind"
	// Tmpfs is an empty folder in memory at Target.
	Tmpfs MountKind = "tmpfs"
)

// Mount is one change of what is seen. Paths are absolute and are looked up with the mounts before it in place.
type Mount struct {
	Kind   MountKind
	Target string
	// Source is what a Bind shows.
	Source string
	// Lower, Upper and Work are the folders of an Overlay. Upper and Work are of one file system and are made if they are missing; Work is emptied.
	// Several trees may use them one after the other, never at the same time. It is not waited for that what is written there is on disk.
	Lower, Upper, Work string
}

// Make makes the enclosure, with its edits, and takes it down again at once. What was edited stays in the Upper of an Overlay, where the next tree
// finds it. The error is nil, ErrEnclosure, or the context's.
func (e *Enclosure) Make(ctx context.Context) error {
	result, err := Run(ctx, Spec{Argv: []string{enclosureName}, Enclosure: e, makeOnly: true})
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

// CanEnclose tries whether this system lets this user have an enclosure at all. nil means yes. Whether an Overlay of a certain folder works,
// only Make can tell.
func CanEnclose(ctx context.Context) error { return (&Enclosure{}).Make(ctx) }

// enclosureName is what this program calls itself while it makes an enclosure: argv[0], which no user types.
const enclosureName = "ralph: enclosure"
