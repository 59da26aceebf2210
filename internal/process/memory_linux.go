package process

import (
	"bytes"
	"os"
	"strconv"
)

// memoryKills returns how many processes the kernel has killed for memory since it started.
func memoryKills() int {
	text, _ := os.ReadFile("/proc/vmstat")
	_, rest, _ := bytes.Cut(text, []byte("\noom_kill "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kills, _ := strconv.Atoi(string(line))
	return kills
}
