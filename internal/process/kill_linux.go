package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/process/inside"
)

const (
	killLimit = inside.KillLimit
	// One pass over /proc can miss a process that forks and exits during the pass. So several empty
	// passes are needed, and more of them after a process was found.
	emptyPasses, emptyPassesAfterKill = 2, 4
	// treeOOMScore is added to a tree's share of the memory, out of 1000.
	treeOOMScore = 500
)

var ownsOrphans atomic.Bool

// OwnOrphans makes this process the parent of all orphans of its trees, so that none of them can
// escape. It is for a program whose children are all started by Run, and it cannot be undone:
// orphans of other children, and other children in a separate session, would also be killed.
func OwnOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("own orphans: %w", err)
	}
	ownsOrphans.Store(true)
	return nil
}

// giveUpOrphans calls do while orphans become children of init again.
func giveUpOrphans(do func() error) error {
	if !ownsOrphans.Load() {
		return do()
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("give up orphans: %w", err)
	}
	return errors.Join(do(), OwnOrphans())
}

// systemNow returns the time in the unit in which /proc reports the start of processes.
func systemNow() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano()) / nanosPerTick
}

const nanosPerTick = uint64(time.Second) / 100 // USER_HZ; the same on every Linux that Go runs on

// ticksAt converts a time of the past to the unit of systemNow. 0 means before this system started.
func ticksAt(t syscall.Timespec) uint64 {
	ago := max(time.Since(time.Unix(t.Unix())), 0)
	now := systemNow()
	return now - min(now, uint64(ago)/nanosPerTick)
}

// raiseOOMScore makes the kernel kill the tree rather than the harness when memory runs out. It may
// fail; then the kernel chooses by itself.
func raiseOOMScore(pid int) {
	if ownOOMScore() >= treeOOMScore {
		return
	}
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = syscall.Write(fd, strconv.AppendInt(nil, treeOOMScore, 10))
	_ = syscall.Close(fd)
}

// ownOOMScore returns the score that children inherit.
var ownOOMScore = sync.OnceValue(func() int {
	text, _ := os.ReadFile("/proc/self/oom_score_adj")
	score, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
	return score
})

// await blocks until the main process is dead, but does not reap it. Until it is reaped, no other
// process, group or session can get its number.
func (t *tree) await() {
	var info unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, t.pid, &info, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// remember does nothing: on Linux the environment identifies descendants later.
func (t *tree) remember() {}

// killRest kills what is left of the tree after the main process has ended, and reaps it.
func (t *tree) killRest() leftovers {
	var a leftovers
	defer t.reap()
	if t.guard != nil {
		t.reap()
		if end := t.guard.finish(); end != nil {
			return leftovers{count: end.Survivors, names: end.Names, unkillable: end.Unkillable}
		}
	}
	if ownsOrphans.Load() {
		// Any process that is left would be our child, or below one.
		t.reap()
		if childless() {
			return a
		}
	}
	h := treeKiller{tree: t, found: &a, unkillable: make(map[survivor]bool)}
	h.run(time.Now().Add(killLimit))
	return a
}

// childless reports whether this process has no children, dead or alive, with one system call.
func childless() bool {
	var info unix.Siginfo
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil).(unix.Errno)
	}
	return err == unix.ECHILD
}

// treeKiller looks for the processes of one tree until there are none.
type treeKiller struct {
	tree       *tree
	found      *leftovers
	unkillable map[survivor]bool // processes that we may not kill
}

func (h *treeKiller) run(limit time.Time) {
	quiet := 0
	var seen passResult
	for pause := 200 * time.Microsecond; quiet < h.emptyPasses() &&
		time.Now().Before(limit); pause = min(2*pause, 5*time.Millisecond) {
		var err error
		if seen, err = h.pass(); err != nil {
			// Without /proc no process can be found, but the group can still be killed.
			if !h.tree.reaped.Load() {
				h.tree.kill()
			}
			return
		}
		if ownsOrphans.Load() {
			if childless() {
				return
			}
			if !seen.others {
				// There are children, but we saw none except the tree's. If those are all dealt with, we missed
				// one.
				seen.alive = max(seen.alive, 1)
			}
		}
		quiet++
		if seen.alive > 0 {
			quiet = 0
		}
		if seen.alive > 0 || len(h.found.survivors) > 0 {
			time.Sleep(pause)
		}
	}
	h.found.unkillable = seen.alive + len(h.unkillable)
}

func (h *treeKiller) emptyPasses() int {
	if len(h.found.survivors) > 0 {
		return emptyPassesAfterKill
	}
	return emptyPasses
}

// passResult is what one pass saw.
type passResult struct {
	alive  int  // processes of the tree that we may kill
	others bool // children of ours that are not the tree's, or that we cannot kill
}

// pass kills every process of the tree that it sees.
func (h *treeKiller) pass() (passResult, error) {
	if ownsOrphans.Load() {
		// No process may start without a tree while we decide which processes have none.
		trees.starting.Lock()
		defer trees.starting.Unlock()
	}
	var seen passResult
	c, err := takeCensus(h.tree)
	if err != nil {
		return seen, err
	}
	for _, group := range c.groupsOf(h.tree) {
		// A process that starts the next one and exits is gone before we see it, but its successor is in
		// the same group.
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	for _, p := range c.processes {
		switch {
		case p.Gone() && h.reapOrphan(c, p):
		case !p.Gone() && c.owner(p) == h.tree && h.killProcess(p):
			seen.alive++
		case p.Parent == c.self && p.PID != h.tree.pid:
			seen.others = true
		}
	}
	return seen, nil
}

// killProcess reports whether the process existed and may be killed.
func (h *treeKiller) killProcess(p *inside.Process) bool {
	who := survivor{p.PID, p.Start}
	if h.unkillable[who] {
		return false
	}
	if !p.Exiting {
		h.found.note(who, p.Name)
	}
	switch err := syscall.Kill(p.PID, syscall.SIGKILL); {
	case errors.Is(err, syscall.EPERM):
		h.unkillable[who] = true
		return false
	case err != nil:
		return false
	}
	return true
}

// reapOrphan reaps a dead process if it is an orphan. It never waits for all children at once: that
// would take the exit status away from the code that started them.
func (h *treeKiller) reapOrphan(c *census, p *inside.Process) bool {
	if p.Parent != c.self || p.Session == c.session || c.isMain(p) {
		return false
	}
	if !ownsOrphans.Load() && !h.found.survivors[survivor{p.PID, p.Start}] {
		return false
	}
	var usage syscall.Rusage
	pid, err := syscall.Wait4(p.PID, nil, syscall.WNOHANG, &usage)
	if err != nil || pid != p.PID {
		return false
	}
	h.found.cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return true
}
