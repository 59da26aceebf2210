package inside

// Name is what this program calls itself while it makes an enclosure: argv[0], which no user types.
const Name = "ralph: enclosure"

// MountKind is what a mount does.
type MountKind string

const (
	// Overlay shows Lower at Target. Whatever is written there goes to Upper. Target may be Lower
	// itself. What is mounted below Lower is seen below Target, too, but writes to it go through.
	Overlay MountKind = "overlay"
	// Bind shows the file or folder Source at Target, which must be there and be of the same kind.
	// What is mounted below Source is seen, too.
	Bind MountKind = "bind"
	// Tmpfs is an empty folder in memory at Target.
	Tmpfs MountKind = "tmpfs"
)

// Mount is one change of what is seen. Paths are absolute and are looked up with the mounts before
// it in place.
type Mount struct {
	Kind   MountKind
	Target string
	// Source is what a Bind shows.
	Source string
	// Lower, Upper and Work are the folders of an Overlay. Upper and Work are of one file system and
	// are made if they are missing; Work is emptied. Several trees may use them one after the other,
	// never at the same time. It is not waited for that what is written there is on disk.
	Lower, Upper, Work string
}
