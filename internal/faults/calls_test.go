//go:build linux && amd64

package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// call is one write-class system call on a file.
type call struct {
	Program    string // ofRalph, ofHelper or ofGit
	Name, Path string // the path without what differs from run to run
	Size       uint64 // bytes to write, or 0
	Key        string // all of that, and how often the program had done it

	process, thread int
}

// operand says where a call names its file.
type operand struct {
	name string
	fd   int // the argument that is an open file or a folder, or none
	text int // the argument that is a path, or none
}

const none = -1

// writing are the calls that change a file system. openat is one if it may write.
var writing = map[uint64]operand{
	unix.SYS_WRITE:           {"write", 0, none},
	unix.SYS_PWRITE64:        {"pwrite64", 0, none},
	unix.SYS_WRITEV:          {"writev", 0, none},
	unix.SYS_PWRITEV:         {"pwritev", 0, none},
	unix.SYS_COPY_FILE_RANGE: {"copy_file_range", 2, none},
	unix.SYS_SENDFILE:        {"sendfile", 0, none},
	unix.SYS_FALLOCATE:       {"fallocate", 0, none},
	unix.SYS_FTRUNCATE:       {"ftruncate", 0, none},
	unix.SYS_FCHMOD:          {"fchmod", 0, none},
	unix.SYS_FSYNC:           {"fsync", 0, none},
	unix.SYS_FDATASYNC:       {"fdatasync", 0, none},
	unix.SYS_OPENAT:          {"open", 0, 1},
	unix.SYS_OPEN:            {"open", none, 0},
	unix.SYS_CREAT:           {"create", none, 0},
	unix.SYS_TRUNCATE:        {"truncate", none, 0},
	unix.SYS_CHMOD:           {"chmod", none, 0},
	unix.SYS_FCHMODAT:        {"chmod", 0, 1},
	unix.SYS_FCHMODAT2:       {"chmod", 0, 1},
	unix.SYS_MKDIR:           {"mkdir", none, 0},
	unix.SYS_MKDIRAT:         {"mkdir", 0, 1},
	unix.SYS_RMDIR:           {"rmdir", none, 0},
	unix.SYS_UNLINK:          {"unlink", none, 0},
	unix.SYS_UNLINKAT:        {"unlink", 0, 1},
	unix.SYS_RENAME:          {"rename", none, 1}, // named after the new path
	unix.SYS_RENAMEAT:        {"rename", 2, 3},
	unix.SYS_RENAMEAT2:       {"rename", 2, 3},
	unix.SYS_LINK:            {"link", none, 1},
	unix.SYS_LINKAT:          {"link", 2, 3},
	unix.SYS_SYMLINK:         {"symlink", none, 1},
	unix.SYS_SYMLINKAT:       {"symlink", 1, 2},
}

// describe returns the name, path and size of a write-class call on a file.
func (t *tracer) describe(tid int, info syscallStop) (call, bool) {
	o, known := writing[info.number]
	if !known {
		return call{}, false
	}
	c := call{Name: o.name}
	switch info.number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		c.Size = info.args[2]
	case unix.SYS_UNLINKAT:
		if info.args[2]&unix.AT_REMOVEDIR != 0 {
			c.Name = "rmdir"
		}
	case unix.SYS_OPEN, unix.SYS_OPENAT:
		if info.args[o.text+1]&unix.O_CREAT != 0 {
			c.Name = "create"
		}
	}
	var ok bool
	c.Path, ok = t.file(tid, o, info.args)
	return c, ok
}

// writeFlags are the flags of openat with which it may write.
const writeFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// file returns the normalized path of the file that a call changes, if it is one: pipes, devices
// and the kernel's own files are not.
func (t *tracer) file(tid int, o operand, args [6]uint64) (string, bool) {
	var folder, text string
	var err error
	switch {
	case o.fd == none || int32(args[o.fd]) == unix.AT_FDCWD:
		folder, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", tid))
	default:
		folder, err = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(args[o.fd])))
	}
	if err != nil {
		return "", false
	}
	if o.text != none {
		text = stringAt(tid, uintptr(args[o.text]))
	}
	path := filepath.Join(folder, text)
	if filepath.IsAbs(text) {
		path = filepath.Clean(text)
	}
	for _, other := range []string{"/proc/", "/sys/", "/dev/null", "/dev/tty", "/dev/pts/"} {
		if strings.HasPrefix(path, other) {
			return "", false
		}
	}
	if !filepath.IsAbs(path) { // pipe:[1], socket:[1], anon_inode:[eventfd]
		return "", false
	}
	return normalize(t.world, path), true
}

// stringAt reads a path from the memory of a thread.
func stringAt(tid int, address uintptr) string {
	var text []byte
	for len(text) < unix.PathMax { // memory may end with the page
		chunk := make([]byte, 256-address%256)
		n, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &chunk[0], Len: uint64(len(chunk))}},
			[]unix.RemoteIovec{{Base: address, Len: len(chunk)}}, 0)
		if err != nil || n <= 0 {
			break
		}
		if before, _, ended := bytes.Cut(chunk[:n], []byte{0}); ended {
			return string(append(text, before...))
		}
		text, address = append(text, chunk[:n]...), address+uintptr(n)
	}
	return string(text)
}

// varying are the parts of paths that differ from run to run, and what stands for them.
var varying = []struct {
	is    *regexp.Regexp
	means string
}{
	{regexp.MustCompile(` \(deleted\)$`), ""},
	{regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`), "RUN"},
	{regexp.MustCompile(`\b[0-7][0-9a-hjkmnp-tv-z]{25}\b`), "RUN"},
	{regexp.MustCompile(`^state/[^/]*-[0-9a-f]{10}\b`), "state/ID"},
	{regexp.MustCompile(`\b[0-9a-f]{2}/\.?[0-9a-f]{38}\b`), "XX/OBJECT"},
	{regexp.MustCompile(`/objects/[0-9a-f]{2}\b`), "/objects/XX"},
	{regexp.MustCompile(`\b(tmp_obj_|tmp_pack_|tmp_idx_|bulk_fsync_|tmp_objdir-[a-z-]*-)[0-9A-Za-z]{6}\b`), "${1}TMP"},
	{regexp.MustCompile(`(tmp_objdir-[a-z-]*-TMP/)[0-9a-f]{2}\b`), "${1}XX"},
	{regexp.MustCompile(`\b(pack-)[0-9a-f]{40,64}\b`), "${1}X"},
	{regexp.MustCompile(`\b[0-9a-f]{40,64}\b`), "HASH"},
	{regexp.MustCompile(`\d{6,}`), "TMP"},
}

// normalize returns a path without what differs from run to run.
func normalize(world, path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, world), "/")
	for _, part := range varying {
		path = part.is.ReplaceAllString(path, part.means)
	}
	return path
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"/w/state/project-92d9deb053/runs/01M7MBBD3AB1SFVR2811NMB965/events.jsonl", "state/ID/runs/RUN/events.jsonl"},
		{"/w/state/project-92d9deb053/.workspace.2531990541", "state/ID/.workspace.TMP"},
		{"/w/state/project-92d9deb053/snapshots.git/objects/51/.5f4836297fdf7567c066983c16e5eff598f7bd.735192041",
			"state/ID/snapshots.git/objects/XX/OBJECT.TMP"},
		{"/w/state/project-92d9deb053/snapshots.git/objects/tmp_objdir-bulk-fsync-JMWTfj/a0/tmp_obj_gZKKip",
			"state/ID/snapshots.git/objects/tmp_objdir-bulk-fsync-TMP/XX/tmp_obj_TMP"},
		{"/w/state/project-92d9deb053/snapshots.git/objects/4a", "state/ID/snapshots.git/objects/XX"},
		{"/w/project/.git/refs/heads/ralph/01m7mbbd3ab1sfvr2811nmb965.lock", "project/.git/refs/heads/ralph/RUN.lock"},
		{"/w/project/.ralph/tasks.json", "project/.ralph/tasks.json"},
		{"/elsewhere/file", "elsewhere/file"},
	} {
		if got := normalize("/w", c.path); got != c.want {
			t.Errorf("normalize(%q) = %q, want %q", c.path, got, c.want)
		}
	}
}
