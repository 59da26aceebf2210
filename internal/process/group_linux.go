package process

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// group is the control groups of one tree. nil has no limits.
type group struct{ made []string }

// newGroup makes the groups that limits need.
func newGroup(l Limits) (*group, error) {
	if l.Memory == 0 && l.Processes == 0 {
		return nil, nil
	}
	at, err := controllers()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLimits, err)
	}
	g := &group{}
	name := "ralph-" + rand.Text()
	if l.Memory > 0 {
		err = g.limit(at, memoryLimit, name, l.Memory)
		g.forbidSwap(l.Memory)
	}
	if l.Processes > 0 && err == nil {
		err = g.limit(at, processLimit, name, int64(l.Processes))
	}
	if err != nil {
		g.remove()
		return nil, fmt.Errorf("%w: %w", ErrLimits, err)
	}
	return g, nil
}

// hierarchy is where this process is in the groups of a controller.
type hierarchy struct {
	folder string
	v2     bool
}

// controllers returns the hierarchy of each controller.
func controllers() (map[string]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	at := map[string]hierarchy{}
	for line := range strings.Lines(string(mounts)) {
		const point, kind, options = 1, 2, 3
		f := strings.Fields(line)
		if len(f) <= options || !strings.HasPrefix(f[kind], "cgroup") {
			continue
		}
		for entry := range strings.Lines(string(own)) { // as 8:memory:/path, or 0::/path
			part := strings.SplitN(strings.TrimSpace(entry), ":", 3)
			if len(part) < 3 {
				continue
			}
			folder := filepath.Join(f[point], part[2])
			if f[kind] == "cgroup2" && part[1] == "" {
				addUnified(at, folder)
			}
			for _, controller := range strings.Split(part[1], ",") {
				if f[kind] == "cgroup" && controller != "" && slices.Contains(strings.Split(f[options], ","), controller) {
					at[controller] = hierarchy{folder: folder}
				}
			}
		}
	}
	return at, nil
}

// addUnified adds what the group above offers to groups beside ours: a group with processes of its own
// cannot limit groups below it.
func addUnified(at map[string]hierarchy, folder string) {
	above := filepath.Dir(folder)
	offered, err := os.ReadFile(filepath.Join(above, "cgroup.subtree_control"))
	if err != nil {
		above = folder // the root, which may have processes
		offered, _ = os.ReadFile(filepath.Join(above, "cgroup.subtree_control"))
	}
	for _, controller := range strings.Fields(string(offered)) {
		if _, known := at[controller]; !known {
			at[controller] = hierarchy{folder: above, v2: true}
		}
	}
}

// limitFile is where a controller has a limit.
type limitFile struct{ controller, v1, v2 string }

var (
	memoryLimit  = limitFile{"memory", "memory.limit_in_bytes", "memory.max"}
	processLimit = limitFile{"pids", "pids.max", "pids.max"}
)

func (g *group) limit(at map[string]hierarchy, l limitFile, name string, most int64) error {
	h, found := at[l.controller]
	if !found {
		return errors.New("this system offers no control group for " + l.controller)
	}
	folder := filepath.Join(h.folder, name)
	if err := os.Mkdir(folder, 0o755); err == nil {
		g.made = append(g.made, folder)
	} else if !errors.Is(err, os.ErrExist) { // the same folder has both controllers
		return err
	}
	file := l.v1
	if h.v2 {
		file = l.v2
	}
	return os.WriteFile(filepath.Join(folder, file), []byte(strconv.FormatInt(most, 10)), 0)
}

// forbidSwap keeps a tree from swapping instead, where the system counts swap.
func (g *group) forbidSwap(memory int64) {
	for _, folder := range g.made {
		_ = os.WriteFile(filepath.Join(folder, "memory.memsw.limit_in_bytes"), []byte(strconv.FormatInt(memory, 10)), 0)
		_ = os.WriteFile(filepath.Join(folder, "memory.swap.max"), []byte("0"), 0)
	}
}

// folders returns the groups, for the guard.
func (g *group) folders() string {
	if g == nil {
		return ""
	}
	return strings.Join(g.made, "\n")
}

// end says in a result whether the tree was killed for memory, kills what is left in the groups, and
// removes them.
func (g *group) end(r *Result) {
	if g == nil {
		return
	}
	for _, folder := range g.made {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			r.MemoryKills += killsIn(filepath.Join(folder, file))
		}
		_ = os.WriteFile(filepath.Join(folder, "cgroup.kill"), []byte("1"), 0) // v2 only; the tree is gone already
	}
	r.OutOfMemory = r.OutOfMemory || r.MemoryKills > 0 && r.ExitCode == 128+9
	g.remove()
}

func (g *group) remove() {
	for _, folder := range g.made {
		for range 50 { // a process that has just ended may still count
			if err := os.Remove(folder); err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// killsIn reads a line such as "oom_kill 1".
func killsIn(path string) (n int) {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if count, found := strings.CutPrefix(lines.Text(), "oom_kill "); found {
			n, _ = strconv.Atoi(count)
		}
	}
	return n
}
