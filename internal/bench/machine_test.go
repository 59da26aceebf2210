//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machine describes the machine, without which the figures mean little.
type machine struct {
	Cores      int     `json:"cores"`
	Go         string  `json:"go"`
	System     string  `json:"system"`
	State      string  `json:"state_on"`    // the file system under the run folders: durability costs differ
	NewFile    float64 `json:"new_file_ms"` // CPU of making a file there; an iteration makes four or more
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %s, %d cores, load %.1f before and %.1f after, state on %s, where a new file takes %.3f "+
		"ms of CPU",
		m.Go, m.System, m.Cores, m.LoadBefore, m.LoadAfter, m.State, m.NewFile)
}

func thisMachine(stateDir string) machine {
	return machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		State: fileSystem(stateDir), NewFile: newFile(stateDir), LoadBefore: load(),
	}
}

// newFile returns the CPU time of creating one file, in milliseconds. On some file systems it rises
// by a factor of forty for minutes after many files were deleted. That is not the harness's fault,
// and then the rows with a durable log mean little.
func newFile(dir string) float64 {
	const files = 200
	began := cpuOf(syscall.RUSAGE_SELF)
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600); err != nil {
			return 0
		}
	}
	return perIteration(cpuOf(syscall.RUSAGE_SELF)-began, files)
}

// load returns the load average of the last minute, or -1 if it is unknown.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(text), " ")
	average, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return average
}

func fileSystem(dir string) string {
	var about syscall.Statfs_t
	if err := syscall.Statfs(dir, &about); err != nil {
		return "unknown"
	}
	switch about.Type {
	case 0xEF53:
		return "ext4"
	case 0x01021994:
		return "tmpfs, where nothing is durable"
	case 0x9123683E:
		return "btrfs"
	case 0x58465342:
		return "xfs"
	case 0x794c7630:
		return "overlay"
	}
	return fmt.Sprintf("file system %#x", about.Type)
}

// cpuOf returns the CPU time of this process, or of its children that were waited for.
func cpuOf(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		panic(err) // never, for these two
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// memoryOf reads one memory figure of a process, such as VmHWM, in bytes. It returns 0 once the
// process is gone.
func memoryOf(pid, file, field string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/" + file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, field+":")
		if !ok {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		if err != nil {
			return 0
		}
		return kilobytes << 10
	}
	return 0
}
