package inside

// Name is argv[0] of this program while it creates an enclosure. No user types it.
const Name = "ralph: enclosure"

// MountKind is the kind of a mount.
type MountKind string

const (
	// Overlay shows Lower at Target. Writes go to Upper. Target may be Lower itself. Mounts below
	// Lower are also visible below Target, but writes to them go through.
	Overlay MountKind = "overlay"
	// Bind shows the file or folder Source at Target, which must exist and be of the same kind. Mounts
	// below Source are also visible.
	Bind MountKind = "bind"
	// Tmpfs is an empty folder in memory at Target.
	Tmpfs MountKind = "tmpfs"
)

// Mount is one change to the visible file system. Paths are absolute and are resolved with the
// earlier mounts in place.
type Mount struct {
	Kind   MountKind
	Target string
	// Source is the file or folder that a Bind shows.
	Source string
	// Lower, Upper and Work are the folders of an Overlay. Upper and Work must be on one file system
	// and are created if they are missing; Work is emptied. Several trees may use them one after the
	// other, never at the same time. Writes there are not synced to disk.
	Lower, Upper, Work string
}
