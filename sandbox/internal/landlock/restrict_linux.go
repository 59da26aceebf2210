package landlock

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// The system calls have the same numbers on all architectures.
const (
	createRuleset = 444
	addRule       = 445
	restrictSelf  = 446

	askVersion  = 1 // flag of createRuleset
	pathBeneath = 1 // kind of rule

	setNoNewPrivileges  = 38 // operations of prctl
	dropFromBoundingSet = 24
	lastCapability      = 63
)

// What the kernel distinguishes, in the order of its bits.
const (
	execute uint64 = 1 << iota
	writeFile
	readFile
	readDir
	removeDir
	removeFile
	makeChar
	makeDir
	makeReg
	makeSock
	makeFifo
	makeBlock
	makeSym
	refer
	truncate
	ioctlDev

	everything = ioctlDev<<1 - 1
	ofFiles    = execute | writeFile | readFile | truncate | ioctlDev // all that a rule for a file can allow

	reading = execute | readFile | readDir
	// A device could be the disk itself, so none can be made.
	writing = everything &^ (makeChar | makeBlock)

	abstractSockets = 1 << 0 // scopes: they do not reach out of the restricted processes
	signals         = 1 << 1
)

// devices are what every program may write to.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

func init() {
	if len(os.Args) > 2 && os.Args[0] == Self && os.Args[1] == Name {
		restrictAndExecute(os.Args[2:])
	}
}

// restrictAndExecute executes the program after the rules. It does not return.
func restrictAndExecute(args []string) {
	runtime.LockOSThread() // rules belong to threads, and the one that executes the program keeps its own
	var rules []rule
	for i, arg := range args {
		if arg == "--" {
			argv := args[i+1:]
			if len(argv) == 0 {
				fail("no program", nil)
			}
			if err := restrict(rules); err != nil {
				fail("landlock", err)
			}
			err := syscall.Exec(argv[0], argv, syscall.Environ())
			complain(argv[0], err)
			if err == syscall.ENOENT {
				syscall.Exit(127)
			}
			syscall.Exit(126)
		}
		rules = append(rules, parseRule(arg))
	}
	fail("no program", nil)
}

func complain(text string, err error) {
	line := Complaint + text
	if err != nil {
		line += ": " + err.Error()
	}
	_, _ = os.Stderr.WriteString(line + "\n")
}

func fail(text string, err error) {
	complain(text, err)
	syscall.Exit(SetupFailed)
}

// ABI returns the version of the kernel's rules; 0 if it has none.
func ABI() int {
	version, _, errno := syscall.Syscall(createRuleset, 0, 0, askVersion)
	if errno != 0 {
		return 0
	}
	return int(version)
}

type failure string

func (f failure) Error() string { return string(f) }

// restrict makes the rules and gives up all capabilities.
func restrict(rules []rule) error {
	if ABI() < NeededABI {
		return failure("this kernel is older than Linux 6.12")
	}
	attributes := struct{ files, network, scopes uint64 }{files: everything, scopes: abstractSockets | signals}
	fd, _, errno := syscall.Syscall(
		createRuleset, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return errno
	}
	set := ruleset{fd: int(fd), rules: rules}
	if err := set.addAll(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(restrictSelf, fd, 0, 0); errno != 0 {
		return errno
	}
	return syscall.Close(int(fd))
}

// dropCapabilities gives up what root could do beside the rules.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for capability := range uintptr(lastCapability + 1) {
		_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, dropFromBoundingSet, capability, 0)
		if errno == syscall.EINVAL || errno == syscall.EPERM {
			break // there are no more, or none can be dropped because there are none
		}
	}
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	_, _, errno := syscall.RawSyscall(
		syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ruleset is the kernel's list of what is allowed.
type ruleset struct {
	fd    int
	rules []rule
}

func (s *ruleset) addAll() error {
	for _, device := range devices {
		if err := s.add(device, writing); err != nil {
			return err
		}
	}
	if s.exact("/") == nil {
		if err := s.addReadable("/"); err != nil {
			return err
		}
	}
	for _, r := range s.rules {
		var err error
		switch r.access {
		case "write":
			err = s.add(r.path, writing)
		case "read":
			err = s.addReadable(r.path)
		case "hide":
		default:
			return failure("unknown rule " + r.access + ":" + r.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addReadable allows to read a path and what is below it, except for what has a rule of its own.
func (s *ruleset) addReadable(path string) error {
	if !s.hidesBelow(path) {
		return s.add(path, reading)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		child := join(path, entry.Name())
		if s.exact(child) != nil || entry.Type()&os.ModeSymlink != 0 {
			continue
		}
		if err := s.addReadable(child); err != nil {
			return err
		}
	}
	return nil
}

func (s *ruleset) exact(path string) *rule {
	for i := range s.rules {
		if s.rules[i].path == path {
			return &s.rules[i]
		}
	}
	return nil
}

func (s *ruleset) hidesBelow(path string) bool {
	for _, r := range s.rules {
		if r.access == "hide" && r.isBelow(path) {
			return true
		}
	}
	return false
}

// add allows something below a path. What does not exist, or may not be reached anyway, needs no rule.
func (s *ruleset) add(path string, access uint64) error {
	const pathOnly = 0x200000 // O_PATH
	fd, err := syscall.Open(path, pathOnly|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err == syscall.ENOENT || err == syscall.EACCES {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		access &= ofFiles
	}
	var attributes [12]byte // packed: 8 bytes of access, 4 of descriptor
	*(*uint64)(unsafe.Pointer(&attributes[0])) = access
	*(*int32)(unsafe.Pointer(&attributes[8])) = int32(fd)
	_, _, errno := syscall.Syscall6(
		addRule, uintptr(s.fd), pathBeneath, uintptr(unsafe.Pointer(&attributes[0])), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}
