package process

import "os"

// lineageTries is how often lineage starts again because a parent ended in between: its children then have another one.
const lineageTries = 50

// lineage returns the IDs of this process and its ancestors.
func lineage() []int {
	var line []int
	buf := make([]byte, 1024)
	for range lineageTries {
		line = nil
		pid := os.Getpid()
		for pid > 0 {
			p, ok := readStat(pid, buf)
			if !ok {
				break
			}
			line = append(line, pid)
			pid = p.parent
		}
		if pid == 0 {
			break
		}
	}
	return line
}

func markerOf(pid int) string {
	marker, _ := environEntry(pid, MarkerVariable)
	return marker
}
