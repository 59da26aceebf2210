//go:build unix && !linux

package process

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const killLimit = 10 * time.Second

// remember records the descendants while their ancestry is still visible. Those in separate
// sessions cannot be found later.
func (t *tree) remember() {
	table := processTable()
	family := []int{t.pid}
	for i := 0; i < len(family); i++ {
		for pid, row := range table {
			if row.parent == family[i] && !slices.Contains(family, pid) {
				family = append(family, pid)
			}
		}
	}
	t.known = family[1:]
}

// killRest kills the group and the descendants that were recorded before the kill.
func (t *tree) killRest() leftovers {
	var a leftovers
	if len(t.known) == 0 && !groupExists(t.pid) {
		return a
	}
	table := processTable()
	for pid, row := range table {
		if row.group == t.pid || slices.Contains(t.known, pid) {
			a.note(survivor{pid: pid}, row.name)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(-t.pid, syscall.SIGKILL)
	limit := time.Now().Add(killLimit)
	for pause := time.Millisecond; groupExists(t.pid) &&
		time.Now().Before(limit); pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
	}
	for s := range a.survivors {
		if errors.Is(syscall.Kill(s.pid, 0), syscall.EPERM) {
			a.unkillable++
		}
	}
	return a
}

// giveUpOrphans calls do: on this system orphans are never this process's children.
func giveUpOrphans(do func() error) error { return do() }

func groupExists(group int) bool { return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }

type tableRow struct {
	parent, group int
	name          string
}

// processTable returns all processes, or none if there is no ps.
func processTable() map[int]tableRow {
	listing, _ := exec.Command("/bin/ps", "-axo", "pid=,ppid=,pgid=,comm=").Output()
	table := make(map[int]tableRow)
	for line := range bytes.Lines(listing) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		group, err3 := strconv.Atoi(fields[2])
		if errors.Join(err1, err2, err3) == nil {
			table[pid] = tableRow{parent: parent, group: group, name: strings.Join(fields[3:], " ")}
		}
	}
	return table
}

// Identity distinguishes a process from a later one with the same ID. It returns false if there is
// no such process or only its exit status is left.
func Identity(pid int) (string, bool) {
	row, err := exec.Command("/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	state, started, _ := strings.Cut(strings.Join(strings.Fields(string(row)), " "), " ")
	return started, err == nil && started != "" && !strings.HasPrefix(state, "Z")
}
