package inside

import (
	"os"
	"slices"
	"syscall"
)

// Process is the part of /proc/<pid>/stat that is needed to find processes.
type Process struct {
	PID, Parent, Group, Session int
	Terminal                    int // the device; 0 if it has none
	Exiting                     bool
	Start                       uint64 // clock ticks since boot
	Name                        string

	state   byte
	threads int
}

// Gone reports whether no thread of the process runs any more. A dead main thread is not enough:
// the others may continue without it.
func (p *Process) Gone() bool {
	return (p.state == 'Z' || p.state == 'X') && p.threads <= 1
}

const flagExiting = 0x4 // PF_EXITING of the kernel

// Processes reads the stat of every process. The kernel's shorter lists of children are no
// substitute: many kernels are built without them, and they may omit entries while processes come
// and go.
func Processes() (map[int]*Process, error) {
	pids, err := PIDs()
	if err != nil {
		return nil, err
	}
	// Newest first: processes that fork and exit at once will soon be gone.
	slices.Sort(pids)
	slices.Reverse(pids)
	all := make(map[int]*Process, len(pids))
	buf := make([]byte, 1024)
	for _, pid := range pids {
		if p, ok := readProcess(pid, buf); ok {
			all[pid] = p
		}
	}
	return all, nil
}

// PIDs lists the processes.
func PIDs() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, wrap("list processes", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, wrap("list processes", err)
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, ok := atoi(name); ok {
			pids = append(pids, int(pid))
		}
	}
	return pids, nil
}

// ReadProcess reads the stat of one process. It returns false if there is none.
func ReadProcess(pid int) (*Process, bool) { return readProcess(pid, make([]byte, 1024)) }

// readProcess avoids os.File, because it is called for hundreds of processes.
func readProcess(pid int, buf []byte) (*Process, bool) {
	fd, err := syscall.Open("/proc/"+itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil || n <= 0 {
		return nil, false
	}
	return parseStat(string(buf[:n]))
}

// parseStat parses "pid (name) state parent …". The name may contain anything, including spaces and
// parentheses, so the fields are counted from the last parenthesis.
func parseStat(line string) (*Process, bool) {
	opening, closing := slices.Index([]byte(line), '('), len(line)-1
	for closing >= 0 && line[closing] != ')' {
		closing--
	}
	if opening < 1 || closing < opening {
		return nil, false
	}
	pid, ok := atoi(line[:opening-1])
	if !ok {
		return nil, false
	}
	const state, parent, group, session, terminal, flags, threads, start = 1, 2, 3, 4, 5, 7, 18, 20 // after a space
	p := &Process{PID: int(pid), Name: line[opening+1 : closing]}
	index := 0
	for field := range split(line[closing+1:], ' ') {
		number, isNumber := atoi(field)
		switch index {
		case state:
			if len(field) != 1 {
				return nil, false
			}
			p.state, isNumber = field[0], true
		case parent:
			p.Parent = int(number)
		case group:
			p.Group = int(number)
		case session:
			p.Session = int(number)
		case terminal:
			p.Terminal, isNumber = int(number), true // it may be negative
		case flags:
			p.Exiting = number&flagExiting != 0
		case threads:
			p.threads = int(number)
		case start:
			p.Start = number
			return p, isNumber
		default:
			isNumber = true // not needed, and may be negative
		}
		if !isNumber {
			return nil, false
		}
		index++
	}
	return nil, false
}
