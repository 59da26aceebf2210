package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What is here runs in the process that makes an enclosure, before it becomes the wanted program.

// init takes over before main and before every package that uses this one, be it in the command, a test or a program that embeds this package. Packages
// that do not may have been initialized by then.
func init() {
	if len(os.Args) > 1 && os.Args[0] == enclosureName {
		makeEnclosure(os.Args[1:])
	}
}

// makeEnclosure does not return.
func makeEnclosure(argv []string) {
	runtime.LockOSThread() // rights belong to threads
	syscall.CloseOnExec(reportFD)
	tell := os.NewFile(reportFD, "report")
	o, err := readOrders()
	if err == nil {
		err = o.carryOut()
	}
	if err == nil {
		if _, err = tell.Write([]byte{ready}); err == nil && o.MakeOnly {
			syscall.Exit(0)
		}
	}
	if err == nil {
		err = become(argv, string(o.Dir))
	}
	_ = json.NewEncoder(tell).Encode(newReport(err))
	syscall.Exit(1)
}

func readOrders() (*orders, error) {
	file := os.NewFile(ordersFD, "orders")
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	o := &orders{}
	if err := json.Unmarshal(text, o); err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return o, nil
}

func (o *orders) carryOut() error {
	if dir, err := syscall.Getwd(); err == nil && !filepath.IsAbs(string(o.Dir)) {
		// What is our folder now may be hidden below a mount soon.
		o.Dir = []byte(filepath.Join(dir, string(o.Dir)))
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	var foreign []string
	for _, m := range o.Mounts {
		kept, err := m.mount(o.OwnUsers)
		if err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Kind, m.Target, err)
		}
		foreign = append(foreign, kept...)
	}
	if err := o.edit(foreign); err != nil {
		return err
	}
	if o.NoNetwork {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("raise loopback: %w", err)
		}
	}
	if o.OwnUsers {
		return giveUpRights(o.Rights)
	}
	return nil
}

// edit refuses what would change one of the foreign folders, which no overlay covers.
func (o *orders) edit(foreign []string) error {
	if len(o.Edits) == 0 {
		return nil
	}
	root, err := filepath.EvalSymlinks(string(o.Root)) // as those of the foreign folders
	if err != nil {
		return fmt.Errorf("find folder of edits: %w", err)
	}
	edits := make([]Edit, 0, len(o.Edits))
	for _, e := range o.Edits {
		edits = append(edits, Edit{Name: string(e.Name), Source: string(e.Source)})
		path := filepath.Join(root, string(e.Name))
		for _, folder := range foreign {
			if isBelow(path, folder) || isBelow(folder, path) {
				return fmt.Errorf("edit %s: %s is a file system of its own", e.Name, folder)
			}
		}
	}
	return Lay(root, edits)
}

func isBelow(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// mount says which folders it left to be what they are.
func (m *mountOrder) mount(ownUsers bool) (foreign []string, err error) {
	target := string(m.Target)
	switch m.Kind {
	case Bind:
		return nil, unix.Mount(string(m.Source), target, "", unix.MS_BIND|unix.MS_REC, "")
	case Tmpfs:
		return nil, unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700")
	case Overlay:
		return m.overlay(ownUsers)
	}
	return nil, errors.ErrUnsupported
}

func (m *mountOrder) overlay(ownUsers bool) (foreign []string, err error) {
	target, err := filepath.EvalSymlinks(string(m.Target))
	if err != nil {
		return nil, err
	}
	if err := m.makeFolders(); err != nil {
		return nil, err
	}
	submounts, err := mountsBelow(target)
	if err != nil {
		return nil, err
	}
	// Folders are named by descriptors: a path may hold what is a mark in options, and may be longer than options can be.
	var opened handles
	defer opened.close()
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,index=off,", opened.open(string(m.Lower)), opened.open(string(m.Upper)), opened.open(string(m.Work)))
	if ownUsers {
		options += "userxattr"
	} else {
		options += "redirect_dir=on" // a folder can be renamed then
	}
	below := make([]string, len(submounts))
	for i, path := range submounts {
		below[i] = opened.open(path)
	}
	if opened.err != nil {
		return nil, opened.err
	}
	if err := mountOverlay(target, options); err != nil {
		if ownUsers && len(submounts) > 0 && err == unix.EINVAL {
			return nil, fmt.Errorf("%w: %s is mounted below it, which only root may lay open", err, submounts[0])
		}
		return nil, err
	}
	for i, path := range submounts {
		if err := unix.Mount(below[i], path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return nil, fmt.Errorf("show %s: %w", path, err)
		}
	}
	return submounts, nil
}

// mountOverlay makes it volatile if it can: otherwise its end waits until the whole disk is synced. Not every kernel knows that.
func mountOverlay(target, options string) error {
	err := unix.Mount("overlay", target, "overlay", 0, options+",volatile")
	if err == unix.EINVAL {
		err = unix.Mount("overlay", target, "overlay", 0, options)
	}
	return err
}

func (m *mountOrder) makeFolders() error {
	// The root of an overlay is as open as its upper folder.
	if err := makeLike(string(m.Upper), string(m.Lower)); err != nil {
		return err
	}
	// What is in the work folder belongs to the mount before this one, which is gone.
	if err := os.RemoveAll(string(m.Work)); err != nil {
		return err
	}
	return os.Mkdir(string(m.Work), 0o700)
}

// makeLike makes a folder, if it is missing, that is as open as another one.
func makeLike(path, model string) error {
	var info unix.Stat_t
	if err := unix.Stat(model, &info); err != nil {
		return fmt.Errorf("look at %s: %w", model, err)
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if int(info.Uid) != os.Getuid() || int(info.Gid) != os.Getgid() {
		// Not all owners can be told to a user's own namespace.
		_ = os.Chown(path, int(info.Uid), int(info.Gid))
	}
	return os.Chmod(path, os.FileMode(info.Mode&0o777))
}

// handles are files opened by name alone.
type handles struct {
	fds []int
	err error // the first
}

// open gives a path that leads to the same file whatever is mounted over it.
func (h *handles) open(path string) string {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		h.err = errors.Join(h.err, fmt.Errorf("open %s: %w", path, err))
		return ""
	}
	h.fds = append(h.fds, fd)
	return "/proc/self/fd/" + strconv.Itoa(fd)
}

func (h *handles) close() {
	for _, fd := range h.fds {
		_ = unix.Close(fd)
	}
}

// mountsBelow lists the topmost places below a folder where something else is mounted.
func mountsBelow(folder string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text), folder), nil
}

func parseMounts(mountinfo, folder string) []string {
	var found []string
	for line := range strings.Lines(mountinfo) {
		const place = 4
		fields := strings.Fields(line)
		if len(fields) <= place {
			continue
		}
		path := unescapeMount(fields[place])
		if path == folder || !isBelow(path, strings.TrimSuffix(folder, "/")) {
			continue
		}
		// A mount comes after the one that it is in, so the topmost one is there already.
		covered := false
		for _, other := range found {
			covered = covered || isBelow(path, other)
		}
		if !covered {
			found = append(found, path)
		}
	}
	return found
}

// unescapeMount undoes what the kernel does to blanks, tabs, newlines and backslashes: \040.
func unescapeMount(field string) string {
	if !strings.Contains(field, `\`) {
		return field
	}
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			if code, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, device); err != nil {
		return err
	}
	device.SetUint16(device.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, device)
}

// giveUpRights leaves the program what it would have without an enclosure: nothing for most users. One who is user 0 gets with a program all rights
// that are not out of bounds; out of bounds are those that the harness did not have either.
func giveUpRights(had uint64) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	for right := range 64 {
		if os.Getuid() != 0 || had&(1<<right) != 0 {
			continue
		}
		// The last ones are not known to every kernel.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(right), 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("give up rights: %w", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	return nil
}

// become turns this process into the program, and returns only if that fails.
func become(argv []string, dir string) error {
	s := &Spec{Argv: argv, Dir: dir}
	if err := syscall.Chdir(dir); err != nil {
		return startError(argv[0], s, err)
	}
	// These are the variables that the parent chose for the program, so nothing is read here that has another origin.
	env := syscall.Environ()
	program, err := resolve(argv[0], env)
	if err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause *= 2 {
		err := syscall.Exec(program, argv, env)
		if err != errBusy || pause > 200*time.Millisecond {
			return startError(program, s, err)
		}
		time.Sleep(pause) // as in startProcess
	}
}
