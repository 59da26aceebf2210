package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// environEntry reads one variable from the environment that a process was started with. It also
// returns false if that may not be read.
func environEntry(pid int, variable string) (string, bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	return lookup(strings.Split(string(env), "\x00"), variable)
}

var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(id))
})

// Identity distinguishes a process from a later one with the same ID, even after a reboot: the text
// is the same as long as it is the same process. It returns false if there is no such process or
// only its exit status is left.
func Identity(pid int) (string, bool) {
	p, ok := inside.ReadProcess(pid)
	if !ok || p.Gone() {
		return "", false
	}
	return fmt.Sprintf("%s/%d/%d", bootID(), pid, p.Start), true
}
