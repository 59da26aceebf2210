package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SameView returns an error if /proc may show this process something else than it shows another one: then a process
// can hide its ancestors. What may not be read is not compared.
func SameView(pid int) error {
	proc, err := openProc()
	if err != nil {
		return err
	}
	defer proc.Close()
	other := strconv.Itoa(pid)
	for _, kind := range []string{"mnt", "user"} {
		own, err := proc.link("self/ns/" + kind)
		theirs, failed := proc.link(other + "/ns/" + kind)
		if hidden := cmp.Or(covered(err), covered(failed)); hidden != nil {
			return hidden
		}
		if err == nil && failed == nil && own != theirs {
			return fmt.Errorf("this process is in another namespace (%s, not %s)", own, theirs)
		}
	}
	return proc.sameMounts(other)
}

// sameMounts returns an error if this process sees something mounted in the folder of a process, or elsewhere below
// /proc where the other process does not see it.
func (p procFolder) sameMounts(other string) error {
	own, err := p.mounts("self")
	if err != nil {
		return fmt.Errorf("read the mounts of this process: %w", err)
	}
	theirs, failed := p.mounts(other)
	for _, m := range own {
		if m.hidesProcess() || failed == nil && !slices.Contains(theirs, m) {
			return fmt.Errorf("something is mounted on %s", m.point)
		}
	}
	return nil
}

// procFolder is /proc, read without anything that is mounted below it.
type procFolder struct{ *os.File }

func openProc() (procFolder, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return procFolder{}, err
	}
	var about unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &about); err != nil || about.Type != unix.PROC_SUPER_MAGIC {
		return procFolder{}, errors.Join(errors.New("/proc is not the kernel's"), err, dir.Close())
	}
	return procFolder{dir}, nil
}

// open fails with EXDEV if something is mounted on the file or a folder above it. Kernels before 5.6 and some
// containers cannot say that.
func (p procFolder) open(name string, flags int) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_XDEV}
	fd, err := unix.Openat2(int(p.Fd()), name, &how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		fd, err = unix.Openat(int(p.Fd()), name, flags|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc/" + name, Err: err}
	}
	return os.NewFile(uintptr(fd), "/proc/"+name), nil
}

// covered returns an error if opening a file failed because something is mounted there.
func covered(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok && failed.Err == unix.EXDEV {
		return fmt.Errorf("something is mounted on %s or a folder above it", failed.Path)
	}
	return nil
}

func (p procFolder) link(name string) (string, error) {
	file, err := p.open(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer file.Close()
	buf := make([]byte, 128)
	n, err := unix.Readlinkat(int(file.Fd()), "", buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// mount is what is mounted somewhere below /proc.
type mount struct{ point, device, root string }

// mounts returns what a process sees mounted below /proc.
func (p procFolder) mounts(pid string) ([]mount, error) {
	file, err := p.open(pid+"/mountinfo", unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := io.ReadAll(file)
	var all []mount
	for line := range strings.Lines(string(lines)) {
		const device, root, point = 2, 3, 4
		fields := strings.Fields(line)
		if len(fields) > point && strings.HasPrefix(fields[point], "/proc/") {
			all = append(all, mount{point: fields[point], device: fields[device], root: fields[root]})
		}
	}
	return all, err
}

// hidesProcess reports whether the mount is in the folder of a process. Systems and containers mount only on others.
func (m mount) hidesProcess() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(m.point, "/proc/"), "/")
	_, err := strconv.Atoi(name)
	return err == nil
}
