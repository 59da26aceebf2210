package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph"
)

// BenchmarkInspect is what every iteration pays for a list of 5,000 tasks in which the agent ticked
// one.
func BenchmarkInspect(b *testing.B) {
	var tasks []ralph.Task
	for i := range 5000 {
		t := ralph.Task{ID: fmt.Sprintf("T-%04d", i), Title: "Do it", Acceptance: []string{"It is done", "It is tested"}}
		if i > 0 {
			t.DependsOn = []string{fmt.Sprintf("T-%04d", i-1)}
		}
		tasks = append(tasks, t)
	}
	dir := b.TempDir()
	if _, err := Create(dir, tasks); err != nil {
		b.Fatal(err)
	}
	book, err := OpenTracker(dir, OwnPath, b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	if err := book.Adopt(nil); err != nil {
		b.Fatal(err)
	}
	tasks[7].Status = ralph.TaskDone
	data, err := Encode(tasks)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, OwnPath), data, 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		edits, err := book.Inspect()
		if err != nil || len(edits.Claims) != 1 || len(edits.ListDamage) != 0 {
			b.Fatal(edits, err)
		}
	}
}
