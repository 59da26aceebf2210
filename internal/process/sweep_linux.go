package process

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// Leftovers returns the processes of this user that the harness left. These are the processes with
// its marker, the main processes of its record and the members of their sessions, and everything
// below these. The caller and its ancestors are not among them.
func (d Dead) Leftovers() ([]Leftover, error) {
	all, err := d.find()
	left := []Leftover{}
	for _, pid := range slices.Sorted(maps.Keys(all)) {
		left = append(left, Leftover{pid, all[pid].Name})
	}
	return left, err
}

// Kill kills the leftovers, until there are none, and returns how many there were.
func (d Dead) Kill() (int, error) {
	killed := make(map[survivor]bool)
	limit := time.Now().Add(killLimit)
	for quiet := 0; quiet < emptyPassesAfterKill && time.Now().Before(limit); {
		left, err := d.find()
		if err != nil {
			return len(killed), err
		}
		quiet++
		for _, p := range guardsLast(left) {
			if syscall.Kill(p.PID, syscall.SIGKILL) == nil {
				killed[survivor{p.PID, p.Start}] = true
				quiet = 0
			}
		}
		if quiet == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return len(killed), nil
}

// guardsLast returns the processes to kill now. A guard comes after everything else: what is below it
// could hide without it.
func guardsLast(left map[int]*inside.Process) []*inside.Process {
	all := slices.Collect(maps.Values(left))
	others := slices.DeleteFunc(slices.Clone(all), func(p *inside.Process) bool { return p.Name == inside.GuardShortName })
	if len(others) > 0 {
		return others
	}
	return all
}

func (d Dead) find() (map[int]*inside.Process, error) {
	marks := d.Marks
	if marks == nil {
		if d.Marker == "" || strings.ContainsRune(d.Marker, 0) {
			return nil, errors.New("find leftover processes: marker is empty or has a NUL")
		}
		marks = func(marker string) bool { return marker == d.Marker }
	}
	all, err := inside.Processes()
	if err != nil {
		return nil, err
	}
	kept, spared := readRecord(d.Record), ancestry(all)
	spareBelow(all, spared, d.keep)
	found := make(map[int]*inside.Process)
	for pid, p := range all {
		if !spared[pid] && !p.Gone() && (kept.has(all, p) || isMarked(pid, marks) ||
			d.orphans && p.Parent == os.Getpid()) {
			found[pid] = p
		}
	}
	for more := len(found) > 0; more; {
		more = false
		for pid, p := range all {
			// A session belongs to the run if a process of the run leads it.
			if found[pid] == nil && !spared[pid] && !p.Gone() && (found[p.Parent] != nil || found[p.Session] != nil) {
				found[pid], more = p, true
			}
		}
	}
	return found, nil
}

// spareBelow adds processes and what is below them to those that are spared.
func spareBelow(all map[int]*inside.Process, spared map[int]bool, pids []int) {
	kept := map[int]bool{}
	for _, pid := range pids {
		kept[pid] = true
	}
	for more := len(kept) > 0; more; {
		more = false
		for pid, p := range all {
			if !kept[pid] && kept[p.Parent] {
				kept[pid], more = true, true
			}
		}
	}
	maps.Copy(spared, kept)
}

// has reports whether a process is a recorded one, or in the session of one. Numbers are reused: a
// session without its leader is the recorded one only if the process is older than the record's end.
func (r recorded) has(all map[int]*inside.Process, p *inside.Process) bool {
	start, ok := r.leaders[p.Session]
	if !ok || p.Start < start {
		return false
	}
	if leader := all[p.Session]; leader != nil {
		return leader.Start == start
	}
	return p.Start <= r.until
}

// ancestry returns this process and all its ancestors.
func ancestry(all map[int]*inside.Process) map[int]bool {
	line := make(map[int]bool)
	for pid := os.Getpid(); pid != 0 && !line[pid]; {
		line[pid] = true
		if p := all[pid]; p != nil {
			pid = p.Parent
		}
	}
	return line
}

func isMarked(pid int, marks func(marker string) bool) bool {
	value, ok := environEntry(pid, MarkerVariable)
	if !ok || !marks(value) {
		return false
	}
	var info syscall.Stat_t
	err := syscall.Stat("/proc/"+strconv.Itoa(pid), &info)
	return err == nil && int(info.Uid) == os.Getuid()
}
