package inside

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// gateName is argv[0] of this program while it waits for its guard, before it executes the program. The guard
// limits that process, so that only the program and what it starts are limited. A guard inside of its own limits
// would die as soon as the tree has used them up.
const gateName = "gate of a process tree"

const (
	gateFD = 5 // the socket on which the gate and the guard talk

	// gateFailed is the exit status of a gate that executed no program.
	gateFailed = 125

	gateOpen  = 'o' // from the guard: execute the program
	gateReady = 'r' // from the gate: it waits; the number of its listener may follow
	gateError = 'e' // from the gate: an error number follows
)

func init() {
	if len(os.Args) > 3 && os.Args[0] == gateName {
		passGate(os.Args[1:])
	}
}

// passGate is what a gate does. Its arguments are whether to filter connections, the program, and the arguments
// of that. It does not return.
func passGate(args []string) {
	filtered, program, argv := args[0] != "", args[1], args[2:]
	runtime.LockOSThread() // filters belong to threads, and the one that executes the program keeps its own
	syscall.CloseOnExec(gateFD)
	listener := -1
	ready := []byte{gateReady}
	if filtered {
		var errno syscall.Errno
		if listener, errno = installFilter(); errno != 0 {
			failGate(errno)
		}
		ready = append(ready, itoa(listener)...)
	}
	if _, err := syscall.Write(gateFD, ready); err != nil || !awaitGate() {
		syscall.Exit(gateFailed)
	}
	_ = syscall.Close(listener)
	for pause := time.Millisecond; ; pause *= 2 {
		err := syscall.Exec(program, argv, syscall.Environ())
		if err != syscall.ETXTBSY || pause > 200*time.Millisecond {
			failGate(errnoOf(err))
		}
		sleepRaw(pause) // another process may have just written the program
	}
}

// awaitGate waits until the guard lets this process execute the program. From here on, the runtime must not
// start a thread: a limit may allow fewer than this process has. It starts none for raw system calls.
func awaitGate() bool {
	var order [1]byte
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, gateFD, uintptr(unsafe.Pointer(&order)), 1)
		if errno != syscall.EINTR {
			return errno == 0 && n == 1 && order[0] == gateOpen
		}
	}
}

func sleepRaw(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

func failGate(errno syscall.Errno) {
	_, _ = syscall.Write(gateFD, append([]byte{gateError}, itoa(int(errno))...))
	syscall.Exit(gateFailed)
}

// gate is the guard's side of the socket.
type gate struct{ ours, theirs int }

// throughGate lets a gate begin before the program of a charge.
func throughGate(c *Charge, attr *syscall.ProcAttr) (*gate, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	const closed = ^uintptr(0)
	for len(attr.Files) < gateFD {
		attr.Files = append(attr.Files, closed)
	}
	attr.Files = append(attr.Files, uintptr(pair[1]))
	c.Argv = append([]string{gateName, flagText(c.Filtered), c.Program}, c.Argv...)
	c.Program = "/proc/self/exe"
	return &gate{ours: pair[0], theirs: pair[1]}, nil
}

// open limits the process of a gate, answers its connections from then on, and returns when the program has
// taken over.
func (g *gate) open(c *Charge, pid int) *GuardError {
	defer syscall.Close(g.ours)
	_ = syscall.Close(g.theirs) // so that the socket ends with the gate
	ready, errno := g.hear()
	switch {
	case errno != 0:
		return failedIn(SetFilter, errno)
	case ready == "": // it ended too early
		return failedIn(BecomeGuard, syscall.ESRCH)
	}
	if errno := c.limit(pid); errno != 0 {
		return failedIn(SetLimits, errno)
	}
	if c.Filtered {
		if errno := answerFor(pid, ready[1:]); errno != 0 {
			return failedIn(SetFilter, errno)
		}
	}
	if _, err := syscall.Write(g.ours, []byte{gateOpen}); err != nil {
		return failedIn(BecomeGuard, errnoOf(err))
	}
	_, errno = g.hear() // the program closes the socket
	return failedIn(StartProgram, errno)
}

// hear returns what the gate says; "" means that it is gone, or has become the program.
func (g *gate) hear() (string, syscall.Errno) {
	var text [16]byte
	for {
		n, err := syscall.Read(g.ours, text[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || n <= 0:
			return "", 0
		case text[0] == gateError:
			errno, _ := atoi(string(text[1:n]))
			return "", syscall.Errno(errno)
		}
		return string(text[:n]), 0
	}
}
