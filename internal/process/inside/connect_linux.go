//go:build amd64 || arm64

package inside

import (
	"os"
	"syscall"
	"unsafe"
)

// Numbers of system calls that have the same number everywhere, and of ioctls.
const (
	sysPidfdOpen  = 434
	sysPidfdGetfd = 438
	ofThread      = syscall.O_EXCL // flag of pidfd_open

	seccompReceive = 0xc0502100
	seccompSend    = 0xc0182101
	seccompIsValid = 0x40082102

	continueCall = 1 // flag of an answer: the kernel does what was asked

	soDomain = 39

	maxAddress     = 128 // bytes of an address
	maxConnections = 256 // that are being made at once
)

// notice is a system call that waits for the guard's answer.
type notice struct {
	ID    uint64
	PID   uint32 // of the thread
	Flags uint32
	Call  struct {
		Number  int32
		Machine uint32
		At      uint64
		Args    [6]uint64
	}
}

type verdict struct {
	ID    uint64
	Value int64
	Error int32 // negative
	Flags uint32
}

// answerConnections makes the connections of a tree on its behalf, except for those that are refused. It
// does not return.
func answerConnections(listener int) {
	atOnce := make(chan struct{}, maxConnections)
	for {
		var asked notice
		_, _, errno := syscall.Syscall(
			syscall.SYS_IOCTL, uintptr(listener), seccompReceive, uintptr(unsafe.Pointer(&asked)))
		switch errno {
		case 0:
		case syscall.EINTR, syscall.ENOENT: // it is gone
			continue
		default:
			return
		}
		atOnce <- struct{}{}
		go func() {
			defer func() { <-atOnce }()
			v := decideConnection(listener, &asked)
			v.ID = asked.ID
			_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), seccompSend, uintptr(unsafe.Pointer(&v)))
		}()
	}
}

// decideConnection makes one connection, on the tree's own socket and to the address as it was read here:
// the tree could change both after a mere permission. A socket that is not of the internet is the kernel's
// matter; a program that puts another one in its place meanwhile is stopped by its Landlock rules.
func decideConnection(listener int, asked *notice) verdict {
	address, errno := readAddress(asked)
	if errno != 0 {
		return verdict{Error: -int32(errno)}
	}
	socket, errno := takeSocket(asked)
	if errno != 0 {
		return verdict{Error: -int32(errno)}
	}
	defer syscall.Close(socket)
	// Another process may have the number of one that has ended meanwhile.
	_, _, errno = syscall.Syscall(
		syscall.SYS_IOCTL, uintptr(listener), seccompIsValid, uintptr(unsafe.Pointer(&asked.ID)))
	if errno != 0 {
		return verdict{Error: -int32(errno)}
	}
	domain, err := syscall.GetsockoptInt(socket, syscall.SOL_SOCKET, soDomain)
	switch {
	case err != nil:
		errno, _ := err.(syscall.Errno)
		return verdict{Error: -int32(errno)}
	case domain != syscall.AF_INET && domain != syscall.AF_INET6:
		return verdict{Flags: continueCall}
	case isMetadata(address):
		return verdict{Error: -int32(syscall.EACCES)}
	}
	var first *byte
	if len(address) > 0 {
		first = &address[0]
	}
	_, _, errno = syscall.Syscall(
		syscall.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(first)), uintptr(len(address)))
	return verdict{Error: -int32(errno)}
}

// readAddress reads the address from the memory of the program.
func readAddress(asked *notice) ([]byte, syscall.Errno) {
	length := asked.Call.Args[2]
	if length > maxAddress {
		return nil, syscall.EINVAL
	}
	memory, err := os.Open("/proc/" + itoa(int(asked.PID)) + "/mem")
	if err != nil {
		return nil, syscall.EACCES
	}
	defer memory.Close()
	address := make([]byte, length)
	if _, err := memory.ReadAt(address, int64(asked.Call.Args[1])); err != nil && length > 0 {
		return nil, syscall.EFAULT
	}
	return address, 0
}

// takeSocket returns a copy of the descriptor of the thread, which may have others than its process. Before
// Linux 6.9 only those of the process can be copied.
func takeSocket(asked *notice) (int, syscall.Errno) {
	handle, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(asked.PID), ofThread, 0)
	if errno == syscall.EINVAL {
		process, failed := processOf(asked.PID)
		if failed != 0 {
			return -1, failed
		}
		handle, _, errno = syscall.Syscall(sysPidfdOpen, uintptr(process), 0, 0)
	}
	if errno != 0 {
		return -1, errno
	}
	defer syscall.Close(int(handle))
	socket, _, errno := syscall.Syscall(sysPidfdGetfd, handle, uintptr(int32(asked.Call.Args[0])), 0)
	return int(socket), errno
}

// processOf returns the process of a thread.
func processOf(thread uint32) (int, syscall.Errno) {
	text, err := os.ReadFile("/proc/" + itoa(int(thread)) + "/status")
	if err != nil {
		return 0, syscall.ESRCH
	}
	for line := range split(string(text), '\n') {
		const name = "Tgid:\t"
		if len(line) > len(name) && line[:len(name)] == name {
			if pid, ok := atoi(line[len(name):]); ok {
				return int(pid), 0
			}
		}
	}
	return 0, syscall.ESRCH
}
