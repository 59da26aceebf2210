package inside

import (
	"os"
	"sync"
	"syscall"
	"time"
)

func init() {
	if len(os.Args) == 1 && os.Args[0] == GuardName {
		watchTree()
	}
}

// guard is the parent of a program, and of all orphans of its tree.
type guard struct {
	mu      sync.Mutex // held while children are reaped, so that a signal never reaches a stranger
	program int
	trace   string
	ended   bool // the program has ended, and is reaped

	finishing  sync.Mutex // never released
	found      map[survivor]bool
	unkillable map[survivor]bool
	end        End
}

// survivor identifies a process, distinct from a later one with the same ID.
type survivor struct {
	pid   int
	start uint64
}

// watchTree starts the program and returns its status to the harness when nothing of its tree is
// left. It does not return.
func watchTree() {
	keepFiles()
	_ = prctl(prSetChildSubreaper, 1)
	setName(GuardShortName)
	g := &guard{found: make(map[survivor]bool), unkillable: make(map[survivor]bool)}
	if failed := g.start(); failed != nil {
		answer(joinFields(string(failed.Stage), itoa(int(failed.Errno))))
		syscall.Exit(1)
	}
	answer(joinFields(guardStarted, itoa(g.program)))
	leaveFiles()
	go g.obey()
	for !g.ended {
		awaitDeath()
		g.reap()
	}
	g.finish()
}

// keepFiles keeps every file but the standard ones from the program: those of the guard, and what the
// harness was started with, which may lead out of a sandbox.
func keepFiles() {
	const closeRange, everything, closeOnExec = 436, ^uintptr(0) >> 32, 4
	if _, _, errno := syscall.RawSyscall(closeRange, 3, everything, closeOnExec); errno == 0 {
		return
	}
	for fd := 3; fd < 4096; fd++ { // before Linux 5.11
		syscall.CloseOnExec(fd)
	}
}

func (g *guard) start() *GuardError {
	text, err := readOrders()
	if err != nil {
		return failedIn(BecomeGuard, errnoOf(err))
	}
	c, err := decodeCharge(text)
	if err != nil {
		return failedIn(BecomeGuard, syscall.EINVAL)
	}
	g.trace = c.Trace
	if errno := c.limitFiles(); errno != 0 {
		return failedIn(SetLimits, errno)
	}
	attr := &syscall.ProcAttr{
		Dir: c.Dir, Env: syscall.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	}
	if c.Enclosed {
		attr.Files = append(attr.Files, enclosureOrdersFD, enclosureReportFD)
		c.Apply(attr.Sys)
	}
	var gate *gate
	if c.Filtered || c.Groups != "" {
		if gate, err = throughGate(c, attr); err != nil {
			return failedIn(BecomeGuard, errnoOf(err))
		}
	}
	for pause := time.Millisecond; ; pause *= 2 {
		//nolint:forbidigo // this is a part of internal/process
		g.program, err = syscall.ForkExec(c.Program, c.Argv, attr)
		if err != syscall.ETXTBSY || pause > 200*time.Millisecond {
			break
		}
		time.Sleep(pause) // another process may have just written the program
	}
	if err != nil || gate == nil {
		return failedIn(StartProgram, errnoOf(err))
	}
	failed := gate.open(c, g.program)
	if failed != nil {
		_ = syscall.Kill(g.program, syscall.SIGKILL)
		_, _ = syscall.Wait4(g.program, nil, 0, nil)
	}
	return failed
}

// leaveFiles closes what belongs to the program, so that only the program holds it open.
func leaveFiles() {
	nothing, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for _, fd := range []int{0, 1, 2} {
		if err != nil || syscall.Dup3(nothing, fd, 0) != nil {
			_ = syscall.Close(fd)
		}
	}
	for _, fd := range []int{nothing, enclosureOrdersFD, enclosureReportFD} {
		_ = syscall.Close(fd)
	}
}

// obey does what the harness asks. If the harness dies, the pipe ends, and the tree is killed.
func (g *guard) obey() {
	var order [1]byte
	for {
		n, err := syscall.Read(controlFD, order[:])
		switch {
		case err == syscall.EINTR:
		case n == 1 && order[0] == Terminate:
			g.signal(syscall.SIGTERM)
		default:
			g.signal(syscall.SIGKILL)
			time.Sleep(time.Second)
			g.finish() // the program does not end, but the rest of its tree may
		}
	}
}

// signal sends a signal to the program and, if that is a SIGKILL, to its group.
func (g *guard) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	_ = syscall.Kill(g.program, s)
	if s == syscall.SIGKILL {
		_ = syscall.Kill(-g.program, s)
	}
}

// reap reaps all dead children, and reports whether there are others.
func (g *guard) reap() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WALL, &usage)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			g.ended = true
			return false
		case pid == 0:
			return true
		}
		g.end.CPU += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		if pid == g.program {
			g.ended, g.end.Status = true, uint32(status)
		}
	}
}

// finish kills what is left of the tree, reports, and ends this process.
func (g *guard) finish() {
	g.finishing.Lock()
	limit := time.Now().Add(KillLimit)
	alive, idle := 0, 0
	for pause := 200 * time.Microsecond; g.reap() && idle < passesForUnkillable &&
		time.Now().Before(limit); pause = min(2*pause, 5*time.Millisecond) {
		alive = g.pass()
		if idle++; alive > 0 || len(g.unkillable) == 0 {
			idle = 0
		}
		time.Sleep(pause)
	}
	for g.killJobs() && time.Now().Before(limit) {
	}
	if g.reap() {
		g.end.Unkillable = alive + len(g.unkillable)
	}
	answer(g.end.encode())
	syscall.Exit(0)
}

// passesForUnkillable is how many passes must see nothing except processes that we may not kill: one
// pass can miss a process that forks and exits meanwhile.
const passesForUnkillable = 4

// pass kills every process below this one, and returns how many it may kill.
func (g *guard) pass() int {
	all, err := Processes()
	if err != nil { // without /proc, only the group can be killed
		_ = syscall.Kill(-g.program, syscall.SIGKILL)
		return 1
	}
	below, alive := Below(all, os.Getpid()), 0
	for _, p := range below {
		// A process that starts the next one and exits is gone before we see it, but its successor is in
		// the same group. The program began a new session, so no group has members outside the tree.
		if p.Group > 1 {
			_ = syscall.Kill(-p.Group, syscall.SIGKILL)
		}
		if !p.Gone() && g.kill(p) {
			alive++
		}
	}
	return alive
}

// killJobs kills the processes that others started on behalf of the tree, such as a job of at, and
// reports whether there were any. They have the tree's environment, and are not older than this process.
func (g *guard) killJobs() (found bool) {
	all, err := Processes()
	self := all[os.Getpid()]
	if err != nil || self == nil {
		return false
	}
	for pid, p := range all {
		if p.Start >= self.Start && pid != self.PID && !p.Gone() && hasEntry(pid, g.trace) {
			found = g.kill(p) || found
		}
	}
	return found
}

// hasEntry reports whether a process was started with an entry in its environment.
func hasEntry(pid int, entry string) bool {
	env, _ := os.ReadFile("/proc/" + itoa(pid) + "/environ")
	for e := range split(string(env), 0) {
		if e == entry {
			return true
		}
	}
	return false
}

// kill reports whether the process existed and may be killed.
func (g *guard) kill(p *Process) bool {
	who := survivor{p.PID, p.Start}
	if g.unkillable[who] {
		return false
	}
	if !p.Exiting && !g.found[who] && !isSandbox(p) {
		g.found[who] = true
		g.end.Survivors++
		if len(g.end.Names) < NamesKept {
			g.end.Names = append(g.end.Names, p.Name)
		}
	}
	err := syscall.Kill(p.PID, syscall.SIGKILL)
	if err == syscall.EPERM {
		g.unkillable[who] = true
	}
	return err == nil
}

// isSandbox reports whether a process is the first one in a namespace that bubblewrap made. It ends by
// itself, a little later than the program, and is not what the program left.
func isSandbox(p *Process) bool {
	if p.Name != "bwrap" {
		return false
	}
	status, _ := os.ReadFile("/proc/" + itoa(p.PID) + "/status")
	for line := range split(string(status), '\n') {
		if len(line) > 6 && line[:6] == "NSpid:" {
			return len(line) > 8 && line[len(line)-2:] == "\t1"
		}
	}
	return false
}

// Below returns the descendants of a process.
func Below(all map[int]*Process, ancestor int) []*Process {
	known := map[int]bool{ancestor: true}
	var isBelow func(pid int) bool
	isBelow = func(pid int) bool {
		below, ok := known[pid]
		if p := all[pid]; !ok && p != nil {
			known[pid] = false // a process ID that was reused while we read could form a cycle
			below = isBelow(p.Parent)
			known[pid] = below
		}
		return below
	}
	var found []*Process
	for pid, p := range all {
		if pid != ancestor && isBelow(pid) {
			found = append(found, p)
		}
	}
	return found
}

// awaitDeath blocks until a child is dead, and does not reap it.
func awaitDeath() {
	const everyChild = 0 // P_ALL
	for {
		_, _, errno := syscall.Syscall6(
			syscall.SYS_WAITID, everyChild, 0, 0, syscall.WEXITED|syscall.WNOWAIT|syscall.WALL, 0, 0,
		)
		if errno != syscall.EINTR {
			return
		}
	}
}

func answer(text []byte) { _, _ = syscall.Write(reportFD, text) }
