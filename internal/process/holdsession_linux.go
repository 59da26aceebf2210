package process

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// find returns a process, and whether the session started it or one of its ancestors. What this process started does
// not count.
func (s Session) find(pid int) (p *inside.Process, isOf bool) {
	for range lineageTries { // a parent that ends in between leaves its children to another one
		var ok, known bool
		if p, ok = inside.ReadProcess(pid); !ok || p.Gone() {
			return p, false
		}
		if isOf, known = s.startedFrom(p); known {
			return p, isOf
		}
	}
	return p, false
}

// startedFrom walks up from a process. It reports false for known if an ancestor ended meanwhile.
func (s Session) startedFrom(p *inside.Process) (isOf, known bool) {
	self := ownPID()
	for {
		if p.PID == self || p.PID == s.PID {
			return p.PID != self, true
		}
		isOf = isOf || s.marks(p.PID)
		if p.Parent == 0 {
			return isOf, true
		}
		var ok bool
		if p, ok = inside.ReadProcess(p.Parent); !ok {
			return false, false
		}
	}
}

// marks reports whether a process has an entry of the session in its environment.
func (s Session) marks(pid int) bool {
	if len(s.Entries) == 0 {
		return false
	}
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil || len(env) == 0 {
		return false
	}
	entries := strings.Split(string(env), "\x00")
	return slices.ContainsFunc(s.Entries, func(entry string) bool { return slices.Contains(entries, entry) })
}

// hookShells are the programs that may run a hook. They read no file of the user with -c, unless a variable names one.
var hookShells = []string{"/bin/sh", "/bin/bash", "/usr/bin/bash", "/bin/dash", "/usr/bin/dash"}

// isHook reports whether a process is a shell that does nothing but call this program as a hook: the session's program
// started it, or such a shell did, to become the program of the hook.
func (s Session) isHook(p *inside.Process) bool {
	if s.IsHook == nil || !s.runsHook(p.PID) {
		return false
	}
	parent, ok := inside.ReadProcess(p.Parent)
	if !ok {
		return false
	}
	if parent.PID == s.PID {
		return true
	}
	if s.runsHook(parent.PID) {
		return s.isHook(parent)
	}
	_, isOf := s.find(parent.PID)
	return s.PID == 0 && !isOf
}

// runsHook reports whether the program and the arguments of a process are those of a shell for a hook.
func (s Session) runsHook(pid int) bool {
	exe, err := os.Stat(procFile(pid, "exe"))
	if err != nil || !slices.ContainsFunc(hookShells, func(path string) bool {
		shell, err := os.Stat(path)
		return err == nil && os.SameFile(shell, exe)
	}) {
		return false
	}
	line, err := os.ReadFile(procFile(pid, "cmdline"))
	words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if err != nil || len(words) != 3 || words[1] != "-c" || !s.IsHook(words[2]) {
		return false
	}
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) { // code that the shell would run itself
		for _, start := range []string{"BASH_ENV=", "ENV=", "BASH_FUNC_", "SHELLOPTS=", "LD_"} {
			if bytes.HasPrefix(entry, []byte(start)) {
				return false
			}
		}
	}
	return true
}

// endedChildren returns a text that changes when a process waits for a child that has ended: how many pages of memory
// its children touched for the first time. A child can start and end between two looks. It is empty for no process.
func endedChildren(pid int) string {
	const faults = 8 // after the name, counted from its end
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil || pid == 0 {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= faults {
		return ""
	}
	return fields[faults]
}
