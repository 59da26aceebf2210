package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// record is the list of this process's guarded trees, for Dead.
var record struct {
	mu   sync.Mutex
	file *os.File
}

// A line of the record begins with one of these, and continues with the Identity of a main process.
const treeBegan, treeEnded = "+", "-"

// KeepRecord writes the main processes of guarded trees to a file from now on, so that they can be
// found after this process was killed together with its guards, even without their environment.
func KeepRecord(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("record processes: %w", err)
	}
	record.mu.Lock()
	defer record.mu.Unlock()
	if record.file != nil {
		record.file.Close()
	}
	record.file = file
	return nil
}

// recordIn adds a line to the record. It may fail: the record is a second way to find a process.
func (t *tree) recordIn(what string) {
	record.mu.Lock()
	defer record.mu.Unlock()
	if record.file == nil {
		return
	}
	if what == treeBegan {
		t.identity, _ = Identity(t.program)
	}
	if t.identity != "" {
		_, _ = record.file.WriteString(what + t.identity + "\n")
	}
}

// recorded is what a record says about trees that had not ended.
type recorded struct {
	leaders map[int]uint64 // the main processes, and when they started
	until   uint64         // when the last line was written
}

func readRecord(path string) recorded {
	r := recorded{leaders: make(map[int]uint64)}
	text, err := os.ReadFile(path)
	var info syscall.Stat_t
	if err != nil || syscall.Stat(path, &info) != nil {
		return r
	}
	r.until = ticksAt(info.Mtim)
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "/")
		if len(fields) != 3 || len(line) < 2 || fields[0][1:] != bootID() {
			continue
		}
		pid, err1 := strconv.Atoi(fields[1])
		start, err2 := strconv.ParseUint(fields[2], 10, 64)
		switch {
		case err1 != nil || err2 != nil:
		case line[:1] == treeBegan:
			r.leaders[pid] = start
		case r.leaders[pid] == start:
			delete(r.leaders, pid)
		}
	}
	return r
}
