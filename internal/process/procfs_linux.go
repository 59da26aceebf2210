package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// procStat is the part of /proc/<pid>/stat that is needed to find processes.
type procStat struct {
	pid, parent, group, session int
	state                       byte
	exiting                     bool
	threads                     int
	start                       uint64 // clock ticks since boot
	name                        string
}

// gone reports whether no thread of the process runs any more. A dead main thread is not enough:
// the others may continue without it.
func (p *procStat) gone() bool {
	return (p.state == 'Z' || p.state == 'X') && p.threads <= 1
}

const flagExiting = 0x4 // PF_EXITING of the kernel

// processes reads the stat of every process. The kernel's shorter lists of children are no
// substitute: many kernels are built without them, and they may omit entries while processes come
// and go.
func processes() (map[int]*procStat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	// Newest first: processes that fork and exit at once will soon be gone.
	slices.Sort(pids)
	slices.Reverse(pids)
	all := make(map[int]*procStat, len(pids))
	buf := make([]byte, 1024)
	for _, pid := range pids {
		if p, ok := readStat(pid, buf); ok {
			all[pid] = p
		}
	}
	return all, nil
}

// readStat avoids os.File, because it is called for hundreds of processes.
func readStat(pid int, buf []byte) (*procStat, bool) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil || n <= 0 {
		return nil, false
	}
	return parseStat(buf[:n])
}

// parseStat parses "pid (name) state parent …". The name may contain anything, including spaces and
// parentheses, so the fields are counted from the last parenthesis.
func parseStat(line []byte) (*procStat, bool) {
	opening, closing := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if opening < 1 || closing < opening {
		return nil, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:opening])))
	if err != nil {
		return nil, false
	}
	const state, parent, group, session, flags, threads, start = 0, 1, 2, 3, 6, 17, 19
	p := &procStat{pid: pid, name: string(line[opening+1 : closing])}
	index := 0
	for field := range bytes.FieldsSeq(line[closing+1:]) {
		var number int64
		if index != state {
			if number, err = strconv.ParseInt(string(field), 10, 64); err != nil {
				return nil, false
			}
		}
		switch index {
		case state:
			p.state = field[0]
		case parent:
			p.parent = int(number)
		case group:
			p.group = int(number)
		case session:
			p.session = int(number)
		case flags:
			p.exiting = number&flagExiting != 0
		case threads:
			p.threads = int(number)
		case start:
			p.start = uint64(number)
			return p, true
		}
		index++
	}
	return nil, false
}

// environEntry reads one variable from the environment that a process was started with. It also
// returns false if that may not be read.
func environEntry(pid int, variable string) (string, bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	return lookup(strings.Split(string(env), "\x00"), variable)
}

var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(id))
})

// Identity distinguishes a process from a later one with the same ID, even after a reboot: the text
// is the same as long as it is the same process. It returns false if there is no such process or
// only its exit status is left.
func Identity(pid int) (string, bool) {
	p, ok := readStat(pid, make([]byte, 1024))
	if !ok || p.gone() {
		return "", false
	}
	return fmt.Sprintf("%s/%d/%d", bootID(), pid, p.start), true
}
