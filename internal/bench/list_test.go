//go:build linux

package bench

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// shortList is the number of tasks that a long list is compared with.
const shortList = 20

// longList measures two iterations through a long task list, each of which marks a task done.
func (b *bench) longList() {
	var values, floors []float64
	for range max(1, b.rounds/5) {
		values = append(values, milliseconds(b.twoTasksOf(b.tasks)))
		floors = append(floors, milliseconds(b.twoTasksOf(shortList)))
	}
	b.add(row{
		What: fmt.Sprintf("CPU of `ralph run`, two of %d tasks, with all that it starts", b.tasks), Unit: "ms",
		Value: median(values), Floor: median(floors), Of: fmt.Sprintf("two of %d tasks", shortList),
		Aim: aim{ratioAtMost, 20},
	})
}

// twoTasksOf runs two iterations through a list and returns the CPU that they used.
func (b *bench) twoTasksOf(tasks int) time.Duration {
	dir, list := largeRepository(b.T, 1), &strings.Builder{}
	for i := range tasks {
		fmt.Fprintf(list, "- [ ] do number %d\n", i)
	}
	writeFile(b.T, filepath.Join(dir, "IMPLEMENTATION_PLAN.md"), list.String(), 0o600)
	return b.runRalph(b.TempDir(), 1, "run", "-C", dir, "--quiet", "-n", "2", "--check", "true", "--proof", "unbroken",
		"--agent-cmd", `sed -i '0,/\[ \]/s//[x]/' IMPLEMENTATION_PLAN.md; echo . >>work`).cpu
}
