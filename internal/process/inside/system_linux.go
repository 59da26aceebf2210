package inside

import (
	"os"
	"syscall"
	"unsafe"
)

// What package syscall lacks, the same on every architecture; the names are those of x/sys/unix,
// whose values a test compares.
const (
	openPathOnly          = 0x200000 // O_PATH
	prCapBSetDrop         = 24       // PR_CAPBSET_DROP
	prCapAmbient          = 47       // PR_CAP_AMBIENT
	prCapAmbientClearAll  = 4        // PR_CAP_AMBIENT_CLEAR_ALL
	linuxCapabilityFormat = 0x20080522
)

// interfaceRequest is struct ifreq with the part of its union that holds flags. The rest of the
// union is only room.
type interfaceRequest struct {
	name  [syscall.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

func raiseLoopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	device := &interfaceRequest{name: [syscall.IFNAMSIZ]byte{'l', 'o'}}
	for _, request := range []uintptr{syscall.SIOCGIFFLAGS, syscall.SIOCSIFFLAGS} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request,
			uintptr(unsafe.Pointer(device))); errno != 0 {
			return errno
		}
		device.flags |= syscall.IFF_UP
	}
	return nil
}

// giveUpRights leaves the program what it would have without an enclosure: nothing for most users.
// One who is user 0 gets with a program all rights that are not out of bounds; out of bounds are
// those that the harness did not have either.
func giveUpRights(had uint64) error {
	if errno := prctl(prCapAmbient, prCapAmbientClearAll); errno != 0 {
		return wrap("give up rights", errno)
	}
	for right := range 64 {
		if os.Getuid() != 0 || had&(1<<right) != 0 {
			continue
		}
		// The last ones are not known to every kernel.
		if errno := prctl(prCapBSetDrop, uintptr(right)); errno != 0 && errno != syscall.EINVAL {
			return wrap("give up rights", errno)
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: linuxCapabilityFormat}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return wrap("give up rights", errno)
	}
	return nil
}

func prctl(option, argument uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return errno
}

// itoa writes a number that is not negative.
func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
