package inside

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

func (o *Orders) apply() error {
	if dir, err := syscall.Getwd(); err == nil && !path.IsAbs(o.Dir) {
		// A mount may soon hide what is our folder now.
		o.Dir = path.Join(dir, o.Dir)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return wrap("make mounts private", err)
	}
	var foreign []string
	for _, m := range o.Mounts {
		kept, err := m.mount(o.OwnUsers)
		if err != nil {
			return wrap("mount "+string(m.Kind)+" on "+m.Target, err)
		}
		foreign = append(foreign, kept...)
	}
	if err := o.edit(foreign); err != nil {
		return err
	}
	if o.NoNetwork {
		if err := raiseLoopback(); err != nil {
			return wrap("bring up loopback", err)
		}
	}
	if o.OwnUsers {
		return dropCapabilities(o.Rights)
	}
	return nil
}

// edit makes the edits. It refuses to change one of the foreign folders, which no overlay covers.
func (o *Orders) edit(foreign []string) error {
	if len(o.Edits) == 0 {
		return nil
	}
	root, err := realPath(o.Root) // like the paths of the foreign folders
	if err != nil {
		return wrap("find folder of edits", err)
	}
	for _, e := range o.Edits {
		name := path.Join(root, e.Name)
		for _, folder := range foreign {
			if isBelow(name, folder) || isBelow(folder, name) {
				return errors.New("edit " + e.Name + ": " + folder + " is a separate file system")
			}
		}
	}
	return ApplyEdits(root, o.Edits)
}

func isBelow(path, folder string) bool {
	return path == folder || len(path) > len(folder) && path[:len(folder)] == folder && path[len(folder)] == '/'
}

// mount creates the mount. It returns the folders that it left unchanged.
func (m *Mount) mount(ownUsers bool) (foreign []string, err error) {
	target := m.Target
	switch m.Kind {
	case Bind:
		return nil, syscall.Mount(m.Source, target, "", syscall.MS_BIND|syscall.MS_REC, "")
	case Tmpfs:
		return nil, syscall.Mount("tmpfs", target, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0700")
	case Overlay:
		return m.overlay(ownUsers)
	}
	return nil, errors.ErrUnsupported
}

func (m *Mount) overlay(ownUsers bool) (foreign []string, err error) {
	target, err := realPath(m.Target)
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
	// Folders are named by descriptors: a path may contain characters that are special in options, and
	// may be longer than options can be.
	var opened handles
	defer opened.close()
	options := "lowerdir=" + opened.open(m.Lower) +
		",upperdir=" + opened.open(m.Upper) +
		",workdir=" + opened.open(m.Work) + ",index=off,"
	if ownUsers {
		options += "userxattr"
	} else {
		options += "redirect_dir=on" // allows renaming a folder
	}
	below := make([]string, len(submounts))
	for i, path := range submounts {
		below[i] = opened.open(path)
	}
	if opened.err != nil {
		return nil, opened.err
	}
	if err := mountOverlay(target, options); err != nil {
		if ownUsers && len(submounts) > 0 && err == syscall.EINVAL {
			return nil, wrap(err.Error(), errors.New(submounts[0]+" is mounted below it, and only root may expose it"))
		}
		return nil, err
	}
	for i, path := range submounts {
		if err := syscall.Mount(below[i], path, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return nil, wrap("show "+path, err)
		}
	}
	return submounts, nil
}

// mountOverlay uses a volatile overlay if possible: otherwise unmounting waits until the whole disk
// is synced. Not every kernel supports that.
func mountOverlay(target, options string) error {
	err := syscall.Mount("overlay", target, "overlay", 0, options+",volatile")
	if err == syscall.EINVAL {
		err = syscall.Mount("overlay", target, "overlay", 0, options)
	}
	return err
}

func (m *Mount) makeFolders() error {
	// The root of an overlay has the permissions of its upper folder.
	if err := mkdirLike(m.Upper, m.Lower); err != nil {
		return err
	}
	// The content of the work folder belongs to the previous mount, which is gone.
	if err := os.RemoveAll(m.Work); err != nil {
		return err
	}
	return os.Mkdir(m.Work, 0o700)
}

// mkdirLike creates a folder, if it is missing, with the permissions of another one.
func mkdirLike(path, model string) error {
	var info syscall.Stat_t
	if err := syscall.Stat(model, &info); err != nil {
		return wrap("look at "+model, err)
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if int(info.Uid) != os.Getuid() || int(info.Gid) != os.Getgid() {
		// Not every owner can be mapped into a user namespace.
		_ = os.Chown(path, int(info.Uid), int(info.Gid))
	}
	return os.Chmod(path, os.FileMode(info.Mode&0o777))
}

// realPath returns the path of a folder without links.
func realPath(name string) (string, error) {
	fd, err := openPath(name)
	if err != nil {
		return "", &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	defer syscall.Close(fd)
	return os.Readlink(descriptor(fd))
}

func openPath(name string) (int, error) { return syscall.Open(name, openPathOnly|syscall.O_CLOEXEC, 0) }

func descriptor(fd int) string { return "/proc/self/fd/" + itoa(fd) }

// handles are files opened with O_PATH.
type handles struct {
	fds []int
	err error // all errors so far
}

// open returns a path that leads to the same file regardless of what is mounted over it.
func (h *handles) open(path string) string {
	fd, err := openPath(path)
	if err != nil {
		h.err = errors.Join(h.err, wrap("open "+path, err))
		return ""
	}
	h.fds = append(h.fds, fd)
	return descriptor(fd)
}

func (h *handles) close() {
	for _, fd := range h.fds {
		_ = syscall.Close(fd)
	}
}

// mountsBelow lists the topmost mount points below a folder.
func mountsBelow(folder string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text), folder), nil
}

func parseMounts(mountinfo, folder string) []string {
	var found []string
	for line := range split(mountinfo, '\n') {
		const place = 4
		fields := slices.Collect(split(line, ' '))
		if len(fields) <= place {
			continue
		}
		path := unescapeMount(fields[place])
		if path == folder || folder != "/" && !isBelow(path, folder) {
			continue
		}
		// A mount is listed after the one that contains it, so the topmost one is already in the list.
		covered := slices.ContainsFunc(found, func(other string) bool { return isBelow(path, other) })
		if !covered {
			found = append(found, path)
		}
	}
	return found
}

// unescapeMount undoes the kernel's escaping of spaces, tabs, newlines and backslashes: \040.
func unescapeMount(field string) string {
	plain := make([]byte, 0, len(field))
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+3 < len(field) {
			plain = append(plain, (field[i+1]-'0')<<6|(field[i+2]-'0')<<3|(field[i+3]-'0'))
			i += 3
			continue
		}
		plain = append(plain, field[i])
	}
	return string(plain)
}
