//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/ralphloop/ralph/internal/process/inside"
)

const errBusy = syscall.ETXTBSY

// Shell returns the command line that runs cmd in the system's shell. That is one fixed file, never
// looked up in PATH: with a folder of the workspace in PATH, such as an activated virtual
// environment, an agent could provide a shell with which everything passes.
func Shell(cmd string) []string { return []string{"/bin/sh", "-c", cmd} }

// ownSession starts the process in a new session, with a new group and no controlling terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminate asks only the main process to end.
func (t *tree) terminate() error {
	if t.guard != nil {
		return t.ask(inside.Terminate)
	}
	return t.main.Signal(syscall.SIGTERM)
}

// kill kills the whole group. The main process must not be reaped yet.
func (t *tree) kill() {
	if t.guard != nil {
		_ = t.ask(inside.Kill)
		return
	}
	_ = syscall.Kill(-t.pid, syscall.SIGKILL)
	_ = t.main.Kill()
}

// resolve finds the program as the child would, but not in folders of PATH that depend on the
// working folder: an agent could put a program there.
func resolve(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	return search(name, env, func(string) bool { return false })
}

func search(name string, env []string, skip func(path string) bool) (string, error) {
	list, ok := lookup(env, "PATH")
	if !ok {
		list = inside.SystemPath
	}
	program, exists := inside.Search(name, list, skip)
	if program == "" {
		return "", notFoundError(name, exists)
	}
	return program, nil
}

// notFoundError returns the error for a program that is not in PATH. exists means that there is a
// file that is not executable.
func notFoundError(name string, exists bool) error {
	if exists {
		return fmt.Errorf("start %s: %w", name, ErrNotExecutable)
	}
	return fmt.Errorf("start %s: %w", name, ErrNotFound)
}

func isNotExecutable(err error) bool {
	errno, _ := errors.AsType[syscall.Errno](err)
	return slices.Contains([]syscall.Errno{syscall.ENOEXEC, syscall.EISDIR, syscall.ETXTBSY, syscall.ELOOP}, errno)
}

// readReady reads what is available, without blocking.
func readReady(pipe *os.File, buf []byte) int {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	_ = conn.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), buf)
		return true
	})
	return n
}

// lookup reads one variable from an environment without duplicates.
func lookup(env []string, name string) (string, bool) {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
