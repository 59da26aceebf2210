//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lineage returns the IDs of this process and its ancestors.
func lineage() []int {
	table, line := processTable(), []int(nil)
	for pid := os.Getpid(); pid > 0 && !slices.Contains(line, pid); pid = table[pid].parent {
		line = append(line, pid)
	}
	return line
}

func nameOf(pid int) string {
	name, _ := exec.Command("/bin/ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	return filepath.Base(strings.TrimSpace(string(name)))
}

func leadsTerminal(int) bool { return true }

// markerOf reads the environment that ps shows after the command.
func markerOf(pid int) string {
	shown, _ := exec.Command("/bin/ps", "-Eww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	marker, _ := lookup(strings.Fields(string(shown)), MarkerVariable)
	return marker
}
