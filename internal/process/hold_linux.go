package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// holdRounds is how often Hold looks for processes that those it had not stopped yet started meanwhile.
const holdRounds = 5

// Hold stops the processes that a session started, apart from this one, its ancestors and their other children that are
// this program. It returns what it stopped. They continue with release, and with the end of this process, even if that
// is killed. The program of the session itself continues. Call Hold while no tree is alive.
//
// A process that left the session, with another environment and another parent, is not found.
func Hold(of Session) (held []string, release func(), err error) {
	var wakers []func()
	release = func() {
		for _, wake := range wakers {
			wake()
		}
	}
	known := map[int]bool{}
	for range holdRounds {
		found, err := of.processes()
		if err != nil {
			return held, release, err
		}
		found = slices.DeleteFunc(found, func(p *inside.Process) bool { return known[p.PID] })
		if len(found) == 0 {
			break
		}
		wake, err := wakeLater(found)
		if err != nil {
			return held, release, err
		}
		wakers = append(wakers, wake)
		for _, p := range found {
			known[p.PID] = true
			if syscall.Kill(p.PID, syscall.SIGSTOP) == nil {
				held = append(held, fmt.Sprintf("%s (process %d)", p.Name, p.PID))
			}
		}
	}
	return held, release, nil
}

// wakeLater starts a program that lets processes continue when it is told to, or when this process ends.
func wakeLater(found []*inside.Process) (wake func(), err error) {
	script := "cat >/dev/null; kill -CONT"
	for _, p := range found {
		script += " " + strconv.Itoa(p.PID)
	}
	stop, err := Accompany(Shell(script), []string{"PATH=/usr/bin:/bin"})
	if err != nil {
		return nil, fmt.Errorf("hold a session: %w", err)
	}
	return func() {
		stop()
		for _, p := range found { // at once
			_ = syscall.Kill(p.PID, syscall.SIGCONT)
		}
	}, nil
}

// processes returns what the session started and what Hold may stop.
func (s Session) processes() (found []*inside.Process, err error) {
	all, err := inside.Processes()
	if err != nil {
		return nil, fmt.Errorf("hold a session: %w", err)
	}
	kept := map[int]bool{}
	for _, first := range []int{os.Getpid(), s.PID} {
		for p := all[first]; p != nil && !kept[p.PID]; p = all[p.Parent] {
			kept[p.PID] = true
		}
	}
	own, _ := os.Readlink("/proc/self/exe")
	companions.mu.Lock() // they wake what is stopped
	sessions := slices.Clone(companions.sessions)
	companions.mu.Unlock()
	for _, p := range all {
		if slices.Contains(sessions, p.Session) {
			continue
		}
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/exe")
		if !kept[p.PID] && !p.Gone() && (exe == "" || exe != own) && s.started(p, all) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *inside.Process) int { return a.PID - b.PID })
	return found, nil
}

// started reports whether the session started a process, or one of its ancestors. What this process started does not
// count.
func (s Session) started(p *inside.Process, all map[int]*inside.Process) bool {
	seen, self := map[int]bool{}, os.Getpid()
	marked := false
	for ; p != nil && !seen[p.PID] && p.PID != self; p = all[p.Parent] {
		if seen[p.PID] = true; p.PID == s.PID {
			return true
		}
		marked = marked || s.marks(p.PID)
	}
	return marked && (p == nil || p.PID != self)
}

// marks reports whether a process has an entry of the session in its environment.
func (s Session) marks(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if errors.Is(err, os.ErrPermission) || len(env) == 0 {
		return false
	}
	entries := strings.Split(string(env), "\x00")
	return slices.ContainsFunc(s.Entries, func(entry string) bool { return slices.Contains(entries, entry) })
}
