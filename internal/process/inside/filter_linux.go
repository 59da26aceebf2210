//go:build amd64 || arm64

package inside

import (
	"syscall"
	"unsafe"
)

const (
	prSetNoNewPrivileges = 38
	seccompSetFilter     = 1
	seccompNewListener   = 8
	seccompWaitKillable  = 32 // from Linux 5.19 on

	landlockCreate   = 444
	landlockRestrict = 446
	landlockTCP      = 2 // connections by TCP
	landlockAbstract = 1 // a scope: abstract sockets
)

// The instructions of a filter, and its answers.
const (
	load       = 0x20 // BPF_LD | BPF_W | BPF_ABS
	ifEqual    = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	ifAtLeast  = 0x35
	ifAnySet   = 0x45
	returnThat = 0x06

	allow  = 0x7fff0000
	ask    = 0x7fc00000
	refuse = 0x00050000 // with an error number

	atNumber, atMachine = 0, 4
	ioUringSetup        = 425
	multipathTCP        = 262
	fastOpen            = 0x20000000 // a flag of sending: connect with the first data
)

// allowed lets the kernel do what was asked.
var allowed = instruction{returnThat, 0, 0, allow}

type instruction struct {
	code      uint16
	yes, no   uint8
	parameter uint32
}

// answerFor takes the listener with a number from a process that is waiting at its gate, and answers on it
// from then on.
func answerFor(pid int, listenerNumber string) syscall.Errno {
	number, ok := atoi(listenerNumber)
	if !ok {
		return syscall.ESRCH
	}
	handle, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(int(handle))
	listener, _, errno := syscall.Syscall(sysPidfdGetfd, handle, uintptr(number), 0)
	if errno != 0 {
		return errno
	}
	go answerConnections(int(listener))
	return 0
}

// installFilter makes every connect wait for an answer on the returned listener, and closes the ways
// around it.
func installFilter() (listener int, errno syscall.Errno) {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return 0, errno
	}
	restrictSockets()
	program := filterProgram()
	p := struct {
		length uint16
		first  *instruction
	}{uint16(len(program)), &program[0]}
	// A signal that interrupts a program while the guard connects would let it ask again, and the guard connect
	// twice. So only a signal that kills the program interrupts it.
	for _, flags := range []uintptr{seccompNewListener | seccompWaitKillable, seccompNewListener} {
		var fd uintptr
		fd, _, errno = syscall.RawSyscall(sysSeccomp, seccompSetFilter, flags, uintptr(unsafe.Pointer(&p)))
		if errno != syscall.EINVAL {
			return int(fd), errno
		}
	}
	return 0, errno
}

// restrictSockets lets the kernel refuse connections by TCP that the guard did not make, from Linux 6.7 on,
// and abstract sockets of other programs, from Linux 6.12 on.
func restrictSockets() {
	attributes := struct{ files, network, scopes uint64 }{network: landlockTCP, scopes: landlockAbstract}
	for _, size := range []uintptr{unsafe.Sizeof(attributes), unsafe.Offsetof(attributes.scopes)} {
		rules, _, errno := syscall.RawSyscall(landlockCreate, uintptr(unsafe.Pointer(&attributes)), size, 0)
		if errno == 0 {
			_, _, _ = syscall.RawSyscall(landlockRestrict, rules, 0, 0)
			_ = syscall.Close(int(rules))
			return
		}
	}
}

// filterProgram asks about connect. It refuses sending that connects, rings of requests, and connections
// by programs of other machines, whose numbers are different.
func filterProgram() []instruction {
	flags := func(argument int) uint32 { return uint32(16 + 8*argument) }
	others := callsOfOtherMachine()
	filter := append([]instruction{
		{load, 0, 0, atMachine},
		{ifEqual, uint8(len(others)), 0, machine},
	}, others...)
	filter = append(filter,
		instruction{load, 0, 0, atNumber},
		instruction{ifAtLeast, 0, 1, 0x40000000}, // other numbers for the same calls, on x86
		refused(syscall.ENOSYS),
		instruction{ifEqual, 0, 1, uint32(syscall.SYS_CONNECT)},
		instruction{returnThat, 0, 0, ask},
		instruction{ifEqual, 0, 1, ioUringSetup},
		refused(syscall.ENOSYS),
		// Landlock does not look at sockets of this protocol, which connects to servers of TCP, too.
		instruction{ifEqual, 0, 4, uint32(syscall.SYS_SOCKET)},
		instruction{load, 0, 0, flags(2)},
		instruction{ifEqual, 0, 1, multipathTCP},
		refused(syscall.EPROTONOSUPPORT),
		allowed,
	)
	for _, sending := range []struct {
		number   uint32
		argument int
	}{{uint32(syscall.SYS_SENDTO), 3}, {uint32(syscall.SYS_SENDMSG), 2}, {sysSendmmsg, 3}} {
		filter = append(filter,
			instruction{ifEqual, 0, 4, sending.number},
			instruction{load, 0, 0, flags(sending.argument)},
			instruction{ifAnySet, 0, 1, fastOpen},
			refused(syscall.EOPNOTSUPP),
			allowed,
		)
	}
	return append(filter, allowed)
}

// callsOfOtherMachine refuses the calls that connect, and allows the others.
func callsOfOtherMachine() []instruction {
	filter := []instruction{{load, 0, 0, atNumber}}
	for _, number := range append([]uint32{ioUringSetup}, otherConnects...) {
		filter = append(filter, instruction{ifEqual, 0, 1, number}, refused(syscall.ENOSYS))
	}
	return append(filter, allowed)
}

func refused(errno syscall.Errno) instruction {
	return instruction{returnThat, 0, 0, refuse | uint32(errno)}
}
