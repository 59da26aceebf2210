package process

import (
	"os"
	"strconv"
	"strings"
)

// Environ returns the environment that a process was started with, as NAME=value. It reports false if that is unknown.
func Environ(pid int) ([]string, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(text) == 0 {
		return nil, false
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), true
}
