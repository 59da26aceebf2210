package process

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// Sweep kills every process of this user whose environment contains the marker, and returns how
// many there were. It is for the time after a harness was killed and could not kill its trees. It
// spares the caller and its ancestors.
func Sweep(marker string) (int, error) {
	if marker == "" || strings.ContainsRune(marker, 0) {
		return 0, errors.New("sweep: marker is empty or has a NUL")
	}
	killed := make(map[survivor]bool)
	limit := time.Now().Add(killLimit)
	for quiet := 0; quiet < emptyPassesAfterKill && time.Now().Before(limit); {
		all, err := inside.Processes()
		if err != nil {
			return len(killed), err
		}
		quiet++
		spared := ancestry(all)
		for _, p := range all {
			if spared[p.PID] || p.Gone() || !isMarked(p.PID, marker) {
				continue
			}
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

func isMarked(pid int, marker string) bool {
	value, ok := environEntry(pid, MarkerVariable)
	if !ok || value != marker {
		return false
	}
	var info syscall.Stat_t
	err := syscall.Stat("/proc/"+strconv.Itoa(pid), &info)
	return err == nil && int(info.Uid) == os.Getuid()
}
