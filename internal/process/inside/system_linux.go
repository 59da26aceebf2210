package inside

import (
	"os"
	"syscall"
	"unsafe"
)

// Constants that package syscall lacks. They are the same on every architecture, and a test
// compares them with those of x/sys/unix.
const (
	openPathOnly          = 0x200000 // O_PATH
	prSetName             = 15       // PR_SET_NAME
	prCapBSetDrop         = 24       // PR_CAPBSET_DROP
	prSetChildSubreaper   = 36       // PR_SET_CHILD_SUBREAPER
	prCapAmbient          = 47       // PR_CAP_AMBIENT
	prCapAmbientClearAll  = 4        // PR_CAP_AMBIENT_CLEAR_ALL
	linuxCapabilityFormat = 0x20080522
)

// interfaceRequest is struct ifreq with the flags of its union. The rest of the union is padding.
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

// dropCapabilities leaves the program the capabilities that it would have without an enclosure:
// none for most users. For user 0, a program gets all capabilities of the bounding set, so those
// that the harness did not have are removed from it.
func dropCapabilities(had uint64) error {
	if errno := prctl(prCapAmbient, prCapAmbientClearAll); errno != 0 {
		return wrap("drop capabilities", errno)
	}
	for right := range 64 {
		if os.Getuid() != 0 || had&(1<<right) != 0 {
			continue
		}
		// Not every kernel knows the last ones.
		if errno := prctl(prCapBSetDrop, uintptr(right)); errno != 0 && errno != syscall.EINVAL {
			return wrap("drop capabilities", errno)
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: linuxCapabilityFormat}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return wrap("drop capabilities", errno)
	}
	return nil
}

func prctl(option, argument uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0)
	return errno
}

// setName sets the name that lists of processes show.
func setName(name string) {
	text := append([]byte(name), 0)
	_ = prctl(prSetName, uintptr(unsafe.Pointer(&text[0])))
}

// itoa formats a number that is not negative.
func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// atoi undoes itoa.
func atoi(text string) (n uint64, ok bool) {
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + uint64(digit-'0')
	}
	return n, text != ""
}
