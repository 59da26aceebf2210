package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const errBusy = syscall.Errno(32) // ERROR_SHARING_VIOLATION

// Shell returns the command line that runs cmd in the system's shell.
func Shell(cmd string) []string { return []string{"cmd", "/c", cmd} }

func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate always fails, because Windows has no SIGTERM; the caller then kills.
func (t *tree) terminate() error { return errors.ErrUnsupported }

func (t *tree) kill() { _ = t.main.Kill() }

func resolve(name string, _ []string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", name, ErrNotFound)
	}
	return path, nil
}

func search(name string, env []string, skip func(path string) bool) (string, error) {
	for _, entry := range env {
		key, list, _ := strings.Cut(entry, "=")
		if !strings.EqualFold(key, "PATH") {
			continue
		}
		for _, folder := range filepath.SplitList(list) {
			// LookPath adds the file extensions of programs.
			path, err := exec.LookPath(filepath.Join(folder, name))
			if err == nil && filepath.IsAbs(folder) && !skip(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("start %s: %w", name, ErrNotFound)
}

func isNotExecutable(err error) bool {
	return errors.Is(err, syscall.Errno(193)) // ERROR_BAD_EXE_FORMAT
}

func readReady(*os.File, []byte) int { return 0 }

func (t *tree) remember() {}

// killRest does nothing: it would need a job object, which was not necessary so far.
func (t *tree) killRest() leftovers { return leftovers{} }

// Identity distinguishes a process from a later one with the same ID. It returns false if there is
// no such process.
func Identity(pid int) (string, bool) {
	const queryLimitedInformation = 0x1000
	handle, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(pid))
	if err != nil {
		return "", false
	}
	defer syscall.CloseHandle(handle)
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(handle, &created, &exited, &kernel, &user) != nil || exited.Nanoseconds() > 0 {
		return "", false
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}

// lineage returns only this process: the others were not necessary so far.
func lineage() []int { return []int{os.Getpid()} }

func nameOf(int) string { return "" }

func markerOf(int) string { return "" }

func leadsTerminal(int) bool { return true }
