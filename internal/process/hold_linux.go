package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

const (
	// holdRounds is how often Hold looks for processes that those it had not stopped yet started meanwhile.
	holdRounds = 5
	// holdEvery is how often it looks for what the session's program starts later.
	holdEvery = 10 * time.Millisecond
	// firstLooks and lookEvery say in which of these rounds a process is looked at: it may get another program and
	// environment soon after its start. Most are older than the hold, and to read them all each time costs too much.
	firstLooks, lookEvery = 10, 50
)

// Held are processes of a session that are stopped, and those that it starts meanwhile.
type Held struct {
	Names []string // what was stopped at once, without ancestors of this process

	session Session
	kept    map[int]bool // this process, and the session's program with its ancestors
	line    map[int]bool // the ancestors of this process
	own     os.FileInfo  // this program
	wake    *os.File     // tells a companion what to continue when this process ends

	mu      sync.Mutex
	looks   map[int]int // how often each process was looked at
	stopped []int
	known   map[int]bool // stopped
	hooks   map[int]bool // children of the session that run as hooks
	faults  string       // see endedChildren
	// unwaited is how many hooks have ended for which the session's program may not have waited yet. They are no
	// disturbance, such as one that answered "still checking".
	unwaited int
	late     []string

	stop, ended chan struct{}
}

// Hold stops the processes that a session started, apart from this one and others of this program. It also stops what
// the session starts later, a moment after it starts: see Started. They continue with Release, and with the end of this
// process, even if that is killed. The program of the session itself continues, and so do its ancestors. Ancestors of
// this process below it do not: a program of the agent may have called this one. Call Hold while no tree is alive.
//
// A process that left the session, with another environment and another parent, is not found.
func Hold(of Session) (*Held, error) {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("hold a session: %w", err)
	}
	wake, err := wakeLater()
	if err != nil {
		return nil, fmt.Errorf("hold a session: %w", err)
	}
	h := &Held{
		session: of, own: own, wake: wake, kept: map[int]bool{ownPID(): true}, line: map[int]bool{},
		looks: map[int]int{}, known: map[int]bool{}, hooks: map[int]bool{},
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	for _, pid := range lineage() {
		h.line[pid] = true
	}
	for pid := of.PID; pid > 0 && !h.kept[pid]; {
		h.kept[pid] = true
		p, ok := inside.ReadProcess(pid)
		if !ok {
			break
		}
		pid = p.Parent
	}
	for range holdRounds {
		found, err := h.look()
		if err != nil {
			close(h.ended) // there is no watch yet
			h.Release()
			return nil, fmt.Errorf("hold a session: %w", err)
		}
		if len(found) == 0 {
			break
		}
		for _, p := range found {
			if !h.line[p.PID] {
				h.Names = append(h.Names, describe(p))
			}
		}
	}
	h.faults = endedChildren(of.PID)
	go h.watch()
	return h, nil
}

func describe(p *inside.Process) string { return fmt.Sprintf("%s (process %d)", p.Name, p.PID) }

// wakeLater starts a program that lets processes continue when this process ends or closes the file.
func wakeLater() (*os.File, error) {
	return accompany(Shell("all=; while read -r pid; do all=\"$all $pid\"; done; kill -CONT $all"),
		[]string{"PATH=/usr/bin:/bin"})
}

// watch stops what the session's program starts later.
func (h *Held) watch() {
	defer close(h.ended)
	ticks := time.NewTicker(holdEvery)
	defer ticks.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-ticks.C:
			h.Started()
		}
	}
}

// Started names what the session started since Hold returned, each until it was stopped or ended. It looks once more
// before it answers, so that a caller who compares two answers knows about everything in between. If the processes
// cannot be seen or stopped, it names that anew each time.
func (h *Held) Started() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.hooks
	found, err := h.look()
	for pid := range before {
		if !h.hooks[pid] {
			h.unwaited++
		}
	}
	for _, p := range found {
		h.late = append(h.late, describe(p))
	}
	if err != nil {
		h.late = append(h.late, "unknown processes: "+err.Error())
	}
	if faults := endedChildren(h.session.PID); faults != h.faults {
		h.faults = faults
		if h.unwaited == 0 {
			h.late = append(h.late, "a command that has ended")
		}
		h.unwaited = 0
	}
	return h.late[:len(h.late):len(h.late)]
}

// Release lets the processes continue.
func (h *Held) Release() {
	close(h.stop)
	<-h.ended
	_ = h.wake.Close()
	for _, pid := range h.stopped { // at once
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// look stops what it finds of the session, and returns what it found for the first time.
func (h *Held) look() (found []*inside.Process, failed error) {
	pids, err := inside.PIDs()
	if err != nil {
		return nil, err
	}
	looks, hooks := make(map[int]int, len(pids)), map[int]bool{}
	for _, pid := range pids {
		looks[pid] = h.looks[pid] + 1
		if h.known[pid] || looks[pid] > firstLooks && looks[pid]%lookEvery != 0 {
			continue
		}
		isOwn := runs(pid, h.own)
		if isOwn { // it may become another program at any time
			looks[pid] = 0
		}
		p, isOf := h.session.find(pid)
		if !isOf || h.kept[pid] || isCompanion(p) {
			continue
		}
		if isOwn || h.session.isHook(p) {
			looks[pid] = 0
			if p.Parent == h.session.PID {
				hooks[pid] = true
			}
			continue
		}
		// First the companion must know it: this process could be killed in between.
		if _, err := fmt.Fprintln(h.wake, pid); err != nil {
			return found, err
		}
		switch err := syscall.Kill(pid, syscall.SIGSTOP); {
		case errors.Is(err, syscall.ESRCH): // it has ended
			continue
		case err != nil: // it belongs to another user
			failed = fmt.Errorf("%s cannot be stopped: %w", describe(p), err)
			continue
		}
		h.known[pid], h.stopped = true, append(h.stopped, pid)
		found = append(found, p)
	}
	for pid := range h.known { // another process may get its number
		if looks[pid] == 0 {
			delete(h.known, pid)
		}
	}
	h.looks, h.hooks = looks, hooks
	return found, failed
}

// isCompanion reports whether a process wakes what is stopped.
func isCompanion(p *inside.Process) bool {
	companions.mu.Lock()
	defer companions.mu.Unlock()
	for _, session := range companions.sessions {
		if p.Session == session {
			return true
		}
	}
	return false
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
