package process

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// pipelines finds the processes that read this process's output through a pipe. Looking at every
// process takes milliseconds, so it remembers the answers.
var pipelines struct {
	sync.Mutex
	known map[string]readers // by the pipe's name in /proc
}

// readers are the processes that read a pipe.
type readers struct {
	identities map[int]string
	looked     time.Time
}

// lookAgain is how long it takes until a pipe whose readers are not visible is looked at again.
const lookAgain = time.Second

// maxPipes is how many pipes of one pipeline are followed.
const maxPipes = 8

// filesBehindPipe returns the regular files that the rest of a pipeline writes.
func filesBehindPipe(stream *os.File) []fs.FileInfo {
	pipelines.Lock()
	defer pipelines.Unlock()
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", stream.Fd()))
	if err != nil {
		return nil
	}
	var files []fs.FileInfo
	pipes := []string{name}
	for i := 0; i < len(pipes) && i < maxPipes; i++ {
		for pid := range readersOf(pipes[i]).identities {
			for _, open := range openFiles(pid) {
				switch {
				case !open.writes:
				case strings.HasPrefix(open.target, "pipe:"):
					if !slices.Contains(pipes, open.target) {
						pipes = append(pipes, open.target)
					}
				case strings.HasPrefix(open.target, "/"):
					if info, err := os.Stat(open.path); err == nil && info.Mode().IsRegular() {
						files = append(files, info)
					}
				}
			}
		}
	}
	return files
}

// readersOf returns the processes that read a pipe, except this one and those that it started: an
// agent could open the pipe to hide the files that it writes.
func readersOf(pipe string) readers {
	known := pipelines.known[pipe]
	alive := len(known.identities) > 0
	for pid, identity := range known.identities {
		now, ok := Identity(pid)
		alive = alive && ok && now == identity
	}
	if alive || time.Since(known.looked) < lookAgain {
		return known
	}
	found := readers{identities: map[int]string{}, looked: time.Now()}
	all, err := inside.Processes()
	if err != nil {
		return found
	}
	for pid := range all {
		if startedHere(all, pid) {
			continue
		}
		for _, open := range openFiles(pid) {
			if open.target == pipe && !open.writes {
				found.identities[pid], _ = Identity(pid)
			}
		}
	}
	if pipelines.known == nil {
		pipelines.known = map[string]readers{}
	}
	pipelines.known[pipe] = found
	return found
}

// startedHere reports whether a process is this one or descends from it.
func startedHere(all map[int]*inside.Process, pid int) bool {
	for range all { // a chain of parents may be read while it changes
		if pid == os.Getpid() {
			return true
		}
		p := all[pid]
		if p == nil || p.Parent <= 1 {
			return false
		}
		pid = p.Parent
	}
	return true
}

// openFile is one open file of a process.
type openFile struct {
	path   string // in /proc
	target string
	writes bool
}

// openFiles lists the open files of a process, as far as this process may see them.
func openFiles(pid int) []openFile {
	folder := "/proc/" + strconv.Itoa(pid)
	dir, err := os.Open(folder + "/fd")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var open []openFile
	for _, name := range names {
		path := folder + "/fd/" + name
		target, err := os.Readlink(path)
		if err != nil {
			continue
		}
		info, err := os.ReadFile(folder + "/fdinfo/" + name)
		if err != nil {
			continue
		}
		open = append(open, openFile{path: path, target: target, writes: writable(info)})
	}
	return open
}

// writable reads the access mode from the line "flags:" of /proc/PID/fdinfo/FD, an octal number.
func writable(info []byte) bool {
	for line := range bytes.Lines(info) {
		if text, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 8, 64)
			return err == nil && flags&uint64(os.O_WRONLY|os.O_RDWR) != 0
		}
	}
	return false
}
