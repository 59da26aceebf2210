package loop

import (
	"errors"
	"slices"
	"sync"

	"github.com/ralphloop/ralph"
)

// memoryTasks is a task list in memory. People and agents write to the file; kept is the harness's
// copy. Both outlive a crash.
type memoryTasks struct {
	mu       sync.Mutex
	file     []ralph.Task
	kept     []ralph.Task
	broken   bool  // the file cannot be read
	readOnly error // the file cannot be written
}

func newMemoryTasks(tasks ...ralph.Task) *memoryTasks {
	return &memoryTasks{file: tasks, kept: slices.Clone(tasks)}
}

// entry is a pending task of a list, with its own checks.
func entry(id string, checks ...string) ralph.Task {
	return ralph.Task{ID: id, Title: "do " + id, Checks: checks, Status: ralph.TaskPending}
}

// clone is the list as it is now, for a later process.
func (b *memoryTasks) clone() *memoryTasks {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &memoryTasks{file: slices.Clone(b.file), kept: slices.Clone(b.kept), broken: b.broken}
}

// edit is what a person or an agent does to the file.
func (b *memoryTasks) edit(change func(file []ralph.Task) []ralph.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file = change(slices.Clone(b.file))
}

// spoil makes the file unreadable.
func (b *memoryTasks) spoil() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
}

func (b *memoryTasks) tick(id string) {
	b.change(id, func(t *ralph.Task) { t.Status = ralph.TaskDone })
}
func (b *memoryTasks) drop(id string) {
	b.edit(func(file []ralph.Task) []ralph.Task { return without(file, id) })
}
func (b *memoryTasks) append(tasks ...ralph.Task) {
	b.edit(func(file []ralph.Task) []ralph.Task { return append(file, tasks...) })
}

func (b *memoryTasks) change(id string, change func(*ralph.Task)) {
	b.edit(func(file []ralph.Task) []ralph.Task {
		if i := indexOf(file, id); i >= 0 {
			change(&file[i])
		}
		return file
	})
}

// lies returns the states in the file.
func (b *memoryTasks) lies() map[string]ralph.TaskStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := map[string]ralph.TaskStatus{}
	for _, t := range b.file {
		states[t.ID] = t.Status
	}
	return states
}

func indexOf(tasks []ralph.Task, id string) int {
	return slices.IndexFunc(tasks, func(t ralph.Task) bool { return t.ID == id })
}

func without(tasks []ralph.Task, id string) []ralph.Task {
	return slices.DeleteFunc(tasks, func(t ralph.Task) bool { return t.ID == id })
}

func (b *memoryTasks) File() string { return "tasks.json" }

func (b *memoryTasks) List() []ralph.Task {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.kept)
}

func (b *memoryTasks) Adopt(known map[string]ralph.TaskStatus) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return errors.New("tasks.json:3: no such thing")
	}
	fresh := slices.Clone(b.file)
	for i := range fresh {
		t := &fresh[i]
		before := indexOf(b.kept, t.ID)
		status, ok := known[t.ID]
		if ok && before >= 0 && b.kept[before].Status == t.Status {
			t.Status = status
		}
	}
	b.file, b.kept = fresh, slices.Clone(fresh)
	return nil
}

func (b *memoryTasks) Inspect() (ralph.TaskEdits, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.edits(), nil
}

func (b *memoryTasks) edits() ralph.TaskEdits {
	if b.broken {
		return ralph.TaskEdits{ListDamage: []string{"tasks.json cannot be read"}}
	}
	var edits ralph.TaskEdits
	for _, was := range b.kept {
		i := indexOf(b.file, was.ID)
		switch {
		case i < 0:
			edits.ListDamage = append(edits.ListDamage, was.ID+" was deleted")
		case b.file[i].Title != was.Title:
			edits.ListDamage = append(edits.ListDamage, was.ID+" was changed")
		case b.file[i].Status == ralph.TaskDone && was.Status != ralph.TaskDone:
			edits.Claims = append(edits.Claims, was.ID)
		}
	}
	for _, t := range b.file {
		if indexOf(b.kept, t.ID) < 0 {
			edits.Added = append(edits.Added, t.ID)
		}
	}
	return edits
}

func (b *memoryTasks) Write(states map[string]ralph.TaskStatus) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readOnly != nil {
		return b.readOnly
	}
	fresh := slices.Clone(b.kept)
	if edits := b.edits(); len(edits.ListDamage) == 0 {
		for _, id := range edits.Added {
			added := b.file[indexOf(b.file, id)]
			added.Status = ralph.TaskPending
			fresh = append(fresh, added)
		}
	}
	for i := range fresh {
		if status, ok := states[fresh[i].ID]; ok {
			fresh[i].Status = status
		}
	}
	b.file, b.kept, b.broken = fresh, slices.Clone(fresh), false
	return nil
}
