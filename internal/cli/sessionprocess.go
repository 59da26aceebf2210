package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/install"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

// sessionPrograms are the programs whose sessions can have a goal, by the names of their processes.
var sessionPrograms = []string{"claude", "codex"}

// startHelpers are programs that only start others.
var startHelpers = []string{
	"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice", "script",
}

// ancestors returns this process and those that it descends from, nearest first.
func (s Streams) ancestors() []process.Ancestor {
	line := process.Ancestors()
	if end := slices.IndexFunc(line, func(p process.Ancestor) bool { return p.PID == s.Top }); end >= 0 {
		return line[:end+1]
	}
	return line
}

// sessionProgram returns the program of a session among the ancestors of a process. It is the outermost one: an agent
// can give a program of its own any name, but it cannot put one above its session.
func sessionProgram(line []process.Ancestor) (process.Ancestor, bool) {
	for _, p := range slices.Backward(line) {
		if slices.Contains(sessionPrograms, p.Name) {
			return p, true
		}
	}
	return process.Ancestor{}, false
}

// sessionAgent returns the agent of the live session in which this process was started, or "". bound is the session of
// the workspace's goal; nil if it has none. An agent can change the environment of a command, but not its ancestors.
func sessionAgent(env config.Env, line []process.Ancestor, bound *ralph.SessionBound) string {
	if bound != nil && bound.PID != 0 && (runlog.Owner{PID: bound.PID, Identity: bound.Identity}).Visible() &&
		slices.ContainsFunc(line, func(p process.Ancestor) bool { return p.PID == bound.PID }) {
		return bound.Agent
	}
	if program, ok := sessionProgram(line); ok && env.Session.Agent == "" {
		return program.Name
	}
	return env.Session.Agent
}

// knownProgram returns the program of the session that started this process: one which is known to have sessions, else
// the nearest node below the terminal.
func knownProgram(line []process.Ancestor) (process.Ancestor, bool) {
	if program, ok := sessionProgram(line); ok {
		return program, true
	}
	for _, p := range line {
		if p.Terminal { // node may be the editor that has this terminal
			break
		}
		if p.Name == "node" {
			return p, true
		}
	}
	return process.Ancestor{}, false
}

// sessionProcess returns the process of the session that started this one: that of the program which is known, else the
// nearest one that is not a shell or another helper.
func sessionProcess(line []process.Ancestor) (pid int, identity string) {
	if program, ok := knownProgram(line); ok {
		line = append([]process.Ancestor{program}, line...)
	}
	for _, p := range line {
		if p.PID == os.Getpid() || slices.Contains(startHelpers, p.Name) || p.PID == 1 {
			continue
		}
		if identity, alive := process.Identity(p.PID); alive {
			return p.PID, identity
		}
	}
	return 0, ""
}

// sessionVariables name the session in the environment of what Claude Code and Codex start.
var sessionVariables = []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID"}

// callingSessions returns the sessions that an environment names. An agent can give a hook another session than its
// own.
func callingSessions(environ []string) (ids []string) {
	for _, entry := range environ {
		name, id, _ := strings.Cut(entry, "=")
		if slices.Contains(sessionVariables, name) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// uniqueLength is how long an ID must be to name one session only. Those of Claude Code and Codex are UUIDs.
const uniqueLength = 16

// holdSession returns what stops the processes that a session started. calling are the sessions whose hook asked. Of a
// program that is not known to be that of the session, such as a terminal, it stops none but those that have the ID of
// such a session in their environment.
func holdSession(bound *ralph.SessionBound, calling []string) func() (loop.Held, error) {
	if bound == nil {
		return nil
	}
	of := process.Session{IsHook: install.IsHook}
	for _, id := range append([]string{bound.Session}, calling...) {
		if len(id) < uniqueLength {
			continue
		}
		for _, name := range sessionVariables {
			of.Entries = append(of.Entries, name+"="+id)
		}
	}
	if identity, alive := process.Identity(bound.PID); alive && identity == bound.Identity &&
		slices.Contains(append([]string{"node"}, sessionPrograms...), process.Name(bound.PID)) {
		of.PID = bound.PID
	}
	return func() (loop.Held, error) {
		held, err := process.Hold(of)
		if err != nil {
			return loop.Held{}, err
		}
		return loop.Held{Names: held.Names, Started: held.Started, Release: held.Release}, nil
	}
}
