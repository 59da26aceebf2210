package process

import (
	"os"
	"strconv"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// lineageTries is how often lineage starts again because a parent ended in between: its children then have another one.
const lineageTries = 50

// lineage returns the IDs of this process and its ancestors, as /proc numbers them. In a new namespace for process
// IDs, /proc may still be that of the old one.
func lineage() []int {
	var line []int
	for range lineageTries {
		line = nil
		pid := ownPID()
		for pid > 0 {
			p, ok := inside.ReadProcess(pid)
			if !ok {
				break
			}
			line = append(line, pid)
			pid = p.Parent
		}
		if pid == 0 {
			break
		}
	}
	return line
}

func nameOf(pid int) string {
	p, ok := inside.ReadProcess(pid)
	if !ok {
		return ""
	}
	return p.Name
}

func leadsTerminal(pid int) bool {
	p, ok := inside.ReadProcess(pid)
	return ok && p.Session == pid && p.Terminal != 0
}

func markerOf(pid int) string {
	marker, _ := environEntry(pid, MarkerVariable)
	return marker
}

func ownPID() int {
	if name, err := os.Readlink("/proc/self"); err == nil {
		if pid, err := strconv.Atoi(name); err == nil {
			return pid
		}
	}
	return os.Getpid()
}
