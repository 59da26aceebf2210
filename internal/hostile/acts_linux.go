package hostile

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forkMany has as many children at once as the target says. They die with it.
func forkMany(_ io.Writer, target, _ string) error {
	count, err := strconv.Atoi(target)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the children die with the thread that made them
	for made := range count {
		pid, errno := forkSleeper()
		if errno != 0 {
			return fmt.Errorf("process %d: %w", made+1, errno)
		}
		defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	}
	return nil
}

// forkSleeper makes a child that only waits for its end. Between the fork and the end it may do nothing
// that needs Go's runtime, which does not exist in it.
//
//go:noinline
//go:norace
func forkSleeper() (pid int, errno syscall.Errno) {
	child, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if child == 0 && errno == 0 {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
		for {
			_, _, _ = syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return int(child), errno
}

func killProcess(_ io.Writer, target, _ string) error {
	pid, err := strconv.Atoi(target)
	if err != nil {
		return err
	}
	return unix.Kill(pid, unix.SIGKILL)
}

// attach stops another process as a debugger would, and lets it go.
func attach(_ io.Writer, target, _ string) error {
	pid, err := strconv.Atoi(target)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the thread is the debugger
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	return nil
}

// mountOver mounts a file system over the target.
func mountOver(_ io.Writer, target, _ string) error {
	if err := unix.Mount("none", target, "tmpfs", 0, "size=4k"); err != nil {
		return err
	}
	return unix.Unmount(target, unix.MNT_DETACH)
}

// makeUserNamespace starts this program again in a user namespace of its own.
func makeUserNamespace(io.Writer, string, string) error {
	//nolint:forbidigo // it is this process that must be allowed to do it, not package process
	started, err := os.StartProcess("/proc/self/exe", []string{"ralph", "version"}, &os.ProcAttr{
		Env: os.Environ(), Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER},
	})
	if err != nil {
		return err
	}
	_, err = started.Wait()
	return err
}

// makeDevice makes the device of a disk, and opens it.
func makeDevice(_ io.Writer, target, _ string) error {
	if err := unix.Mknod(target, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))); err != nil { // the first loop device
		return err
	}
	return os.Remove(target)
}

// typeInto types a line into a terminal that another process works in.
func typeInto(_ io.Writer, target, token string) error {
	terminal, err := unix.Open(target, unix.O_RDWR, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: target, Err: err}
	}
	defer unix.Close(terminal)
	for _, key := range []byte(token + "\n") {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(terminal), unix.TIOCSTI, uintptr(unsafe.Pointer(&key)))
		if errno != 0 {
			return errno
		}
	}
	return nil
}
