//go:build linux && amd64

package faults

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// order asks for a program to be traced.
type order struct {
	Argv, Env  []string
	Dir        string
	World      string // the folder of the try, which normalized paths leave out
	Fault      fault  // "" for none
	At         string // the key of the call
	Limit      time.Duration
	out, error *os.File
}

// traced is how a traced program ended.
type traced struct {
	Calls   []call // the write-class calls, in the order in which they began
	Hit     string // the call that the fault hit; "" if it was not reached
	Code    int    // -1 after a signal
	Hung    bool
	Trouble string // why it could not be traced
}

// tracer follows a program and everything that it starts. It stops them only at write-class calls
// (see filter), and is interested in those of Ralph itself, of the copies of itself that create
// views, and of the git commands that both start.
type tracer struct {
	world  string
	inject *injection
	result traced

	main     int
	programs map[int]string     // by process: what it runs
	process  map[int]int        // by thread, once it had its first stop
	after    map[int]func()     // by thread: what to do when its current call ends
	short    map[shortened]bool // writes that were cut, whose rest must fail
	seen     map[string]int     // how often a call was made
}

// shortened is a write of which only the first half was written.
type shortened struct {
	process    int
	name, path string
}

const (
	stopOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACECLONE |
		unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP

	// What a process runs, as far as it matters here.
	ofStart  = "start" // this program, as it installs the filter
	ofRalph  = "ralph"
	ofHelper = "helper" // Ralph itself, as it creates a view
	ofGit    = "git"
	ofOthers = "others" // agents, checks, and what they start
)

// trace runs a program with a fault, until everything that it started has ended. A program that takes
// longer than the limit is killed. The tracer is a process of its own, because it waits for all of its
// children.
func trace(o order) (traced, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return traced{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return traced{}, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return traced{}, err
	}
	defer read.Close()
	tracer := exec.Command(self)
	tracer.Env = append(os.Environ(), traceVariable+"="+string(text))
	tracer.Stdout, tracer.Stderr, tracer.ExtraFiles = o.out, o.error, []*os.File{write}
	err = tracer.Start()
	write.Close()
	if err != nil {
		return traced{}, err
	}
	var result traced
	err = json.NewDecoder(read).Decode(&result)
	if err == nil && result.Trouble != "" {
		err = errors.New(result.Trouble)
	}
	return result, cmp.Or(tracer.Wait(), err)
}

// traceVariable makes the test program trace as ordered, and report on the first file after stderr.
const traceVariable = "FAULTS_TRACE"

func followOrder(text string) {
	runtime.LockOSThread() // a tracer is a thread
	var o order
	t := &tracer{
		programs: map[int]string{}, process: map[int]int{}, after: map[int]func(){}, short: map[shortened]bool{},
		seen: map[string]int{},
	}
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		t.world, t.inject = o.World, &injection{fault: o.Fault, at: o.At}
		err = t.run(o)
	}
	if err != nil {
		t.result.Trouble = err.Error()
	}
	if err := json.NewEncoder(os.NewFile(3, "report")).Encode(t.result); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (t *tracer) run(o order) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := os.StartProcess(self, o.Argv, &os.ProcAttr{
		Dir: o.Dir, Env: append(o.Env, startVariable+"="+o.Argv[0]), Files: []*os.File{nil, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", o.Argv[0], err)
	}
	t.main = process.Pid
	defer process.Release()
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.main, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("wait for the first stop: %v, %w", status, err)
	}
	if err := unix.PtraceSetOptions(t.main, stopOptions); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	t.programs[t.main], t.process[t.main] = ofStart, t.main
	late := time.AfterFunc(o.Limit, func() { _ = process.Kill() })
	defer func() { t.result.Hung = !late.Stop() }()
	t.resume(t.main, 0)
	return t.follow()
}

// follow handles stops until nothing is left to trace.
func (t *tracer) follow() error {
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return fmt.Errorf("wait: %w", err)
		case status.Stopped():
			t.resume(tid, t.stopped(tid, status))
		default:
			if tid == t.main {
				t.result.Code = status.ExitStatus()
			}
			delete(t.programs, tid)
			delete(t.process, tid)
			delete(t.after, tid)
		}
	}
}

// stopped handles one stop, and returns the signal that the thread is to get.
func (t *tracer) stopped(tid int, status unix.WaitStatus) unix.Signal {
	signal := status.StopSignal()
	switch event := int(status) >> 16; {
	case event == unix.PTRACE_EVENT_EXEC:
		t.programs[tid] = t.programOf(tid)
	case event == unix.PTRACE_EVENT_SECCOMP:
		t.called(tid)
	case signal == unix.SIGTRAP|0x80:
		if act := t.after[tid]; act != nil {
			delete(t.after, tid)
			act()
		}
	case event != 0, signal == unix.SIGTRAP: // a new thread or process has a first stop of its own
	case signal == unix.SIGSTOP && t.process[tid] == 0:
		process, parent := relations(tid)
		if t.process[tid] = process; process == tid {
			t.programs[tid] = t.programs[parent]
		}
	default:
		return signal
	}
	return 0
}

// resume lets a thread continue to its next stop, which is the end of its call if something is to be
// done there.
func (t *tracer) resume(tid int, signal unix.Signal) {
	// An error means that the thread has just died.
	if t.after[tid] != nil {
		_ = unix.PtraceSyscall(tid, int(signal))
		return
	}
	_ = unix.PtraceCont(tid, int(signal))
}

// programOf returns what a process runs after exec. It runs a program of its parent until then.
func (t *tracer) programOf(process int) string {
	before := t.programs[process]
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", process))
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", t.main))
	switch {
	case before == ofStart:
		return ofRalph
	case before == ofOthers:
		return ofOthers
	case program == own:
		return ofHelper
	case filepath.Base(program) == "git":
		return ofGit
	}
	return ofOthers
}

// called handles a call that is about to begin: it counts those of interest, and injects the fault if
// this is the call.
func (t *tracer) called(tid int) {
	process := t.process[tid]
	program := t.programs[process]
	own := program == ofRalph || program == ofHelper || program == ofGit
	if done := t.inject.over && len(t.short) == 0; done || !own {
		return
	}
	info, err := syscallInfo(tid)
	if err != nil {
		return // it has just died
	}
	c, ok := t.describe(tid, info)
	if !ok {
		return
	}
	c.process, c.thread, c.Program = process, tid, program
	key := c.Program + " " + c.Name + " " + c.Path
	t.seen[key]++
	c.Key = key + " #" + strconv.Itoa(t.seen[key])
	t.result.Calls = append(t.result.Calls, c)
	if cut := (shortened{c.process, c.Name, c.Path}); t.short[cut] {
		delete(t.short, cut)
		t.fail(c, unix.ENOSPC)
		return
	}
	if !t.inject.hits(c) {
		return
	}
	if t.result.Hit == "" {
		t.result.Hit = c.Key
	}
	t.strike(c)
}

// strike injects the fault into a call that is about to begin.
func (t *tracer) strike(c call) {
	t.inject.over = t.inject.fault != noMore
	switch t.inject.fault {
	case killBefore:
		t.fail(c, unix.EINTR)
		t.kill(c)
	case killAfter:
		t.after[c.thread] = func() { t.kill(c) }
	case torn:
		changeRegs(c.thread, halve)
		t.after[c.thread] = func() { t.kill(c) }
	case noSpace:
		if c.Size > 1 { // a disk takes what fits
			changeRegs(c.thread, halve)
			t.short[shortened{c.process, c.Name, c.Path}] = true
			return
		}
		t.fail(c, unix.ENOSPC)
	case noMore:
		t.fail(c, unix.ENOSPC)
	case ioError:
		t.fail(c, unix.EIO)
	case noAccess:
		t.fail(c, unix.EACCES)
	}
}

// kill kills Ralph, and with it the process that made the call: what pulls the plug hits both.
func (t *tracer) kill(c call) {
	_ = unix.Kill(c.process, unix.SIGKILL)
	_ = unix.Kill(t.main, unix.SIGKILL)
}

// fail makes a call do nothing and return an error.
func (t *tracer) fail(c call, with unix.Errno) {
	changeRegs(c.thread, func(r *unix.PtraceRegs) {
		r.Orig_rax, r.Rax = ^uint64(0), uint64(-int64(with))
	})
}

// halve lets a write take half of its bytes.
func halve(r *unix.PtraceRegs) { r.Rdx /= 2 }

func changeRegs(tid int, change func(*unix.PtraceRegs)) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &regs) != nil {
		return // it has just died
	}
	change(&regs)
	_ = unix.PtraceSetRegs(tid, &regs)
}

// syscallStop is the kernel's struct ptrace_syscall_info at the beginning of a call.
type syscallStop struct {
	_      [24]uint8
	number uint64
	args   [6]uint64
	_      [8]uint8
}

func syscallInfo(tid int) (syscallStop, error) {
	var info syscallStop
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return info, errno
	}
	return info, nil
}

// relations returns the process that a thread belongs to, and the parent of that process.
func relations(tid int) (process, parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		number, _ := strconv.Atoi(strings.TrimSpace(value))
		switch name {
		case "Tgid":
			process = number
		case "PPid":
			parent = number
		}
	}
	return process, parent
}
