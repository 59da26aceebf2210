package inside

import (
	"os"
	"syscall"
)

// Apply makes a process start in the namespaces.
func (n Namespaces) Apply(sys *syscall.SysProcAttr) {
	sys.Cloneflags = syscall.CLONE_NEWNS
	if n.NoNetwork {
		sys.Cloneflags |= syscall.CLONE_NEWNET
	}
	if n.OwnUsers {
		ownUserNamespace(sys)
	}
}

// ownUserNamespace gives the process the capabilities that mounts need, only within its own
// namespaces. It keeps its user ID: programs that refuse to run as root, or behave differently
// then, must not see a difference.
func ownUserNamespace(sys *syscall.SysProcAttr) {
	sys.Cloneflags |= syscall.CLONE_NEWUSER
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	// An overlay acts with the capabilities of the process that mounts it. Without these it could not
	// copy a file up into a folder that is closed to its owner.
	sys.AmbientCaps = []uintptr{
		capSysAdmin, capNetAdmin, capChown, capDACOverride, capDACReadSearch, capFOwner, capFSetID, capSetPCap,
	}
}

// Capabilities. A test compares them with those of x/sys/unix.
const (
	capChown, capDACOverride, capDACReadSearch, capFOwner = 0, 1, 2, 3
	capFSetID, capSetPCap, capNetAdmin, capSysAdmin       = 4, 8, 12, 21
)
