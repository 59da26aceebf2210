package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ralphloop/ralph"
)

// Places are the paths where a list is searched if none is named, in this order.
var Places = []string{
	OwnPath, ".agent/tasks.json", "prd.json", "IMPLEMENTATION_PLAN.md", ".ralph/fix_plan.md", TaskmasterPath,
}

// Find returns the first list in the workspace, with slashes. It may still be unreadable.
func Find(dir string) (name string, ok bool, err error) {
	for _, place := range Places {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(place)))
		switch {
		case err == nil:
			return place, true, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR): // .agent may be an unrelated file
			return "", false, fmt.Errorf("look for a task list: %w", err)
		}
	}
	return "", false, nil
}

// List is a task list as it is in its file.
type List struct {
	where    location
	format   format // nil if it is unknown
	snapshot snapshot
	items    []item
	problems []Problem
}

// Open reads a list. The error is of type Problems if the list cannot be used, and also
// fs.ErrNotExist if it is missing. The List then still supports Lint and contains what could be
// read. A relative path is relative to dir.
func Open(dir, name string) (*List, error) {
	where, err := locate(dir, name)
	if err != nil {
		return nil, fmt.Errorf("open task list: %w", err)
	}
	l := &List{where: where}
	if err := l.reload(); err != nil {
		return nil, fmt.Errorf("open task list: %w", err)
	}
	switch bad := Errors(l.problems); {
	case l.snapshot.trouble[where.path] == isMissing:
		return l, missingError{bad}
	case len(bad) > 0:
		return l, bad
	}
	return l, nil
}

// missingError is the error for a missing list.
type missingError struct{ Problems }

func (e missingError) Unwrap() []error { return []error{e.Problems, fs.ErrNotExist} }

func (l *List) reload() error {
	s, f, err := l.where.read(nil, nil)
	if err != nil {
		return err
	}
	l.snapshot, l.format = s, f
	l.items, l.problems = examine(f, s)
	return nil
}

// Create writes a first list in our own format if the workspace has none. A task without an id gets
// its number.
func Create(dir string, tasks []ralph.Task) (*List, error) {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].ID = cmp.Or(tasks[i].ID, fmt.Sprintf("TASK-%d", i+1))
	}
	data, err := Encode(tasks)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", OwnPath, err)
	}
	defer root.Close()
	if _, err := root.Lstat(OwnPath); err == nil {
		return nil, fmt.Errorf("create %s: %w", OwnPath, fs.ErrExist)
	}
	if err := root.MkdirAll(filepath.Dir(OwnPath), 0o755); err != nil {
		return nil, fmt.Errorf("create %s: %w", OwnPath, err)
	}
	if err := writeFile(root, OwnPath, data, 0o644); err != nil {
		return nil, fmt.Errorf("create %s: %w", OwnPath, err)
	}
	return Open(dir, OwnPath)
}

// Tasks returns the tasks in the order of the file.
func (l *List) Tasks() []ralph.Task { return tasksOf(l.items) }

func tasksOf(items []item) []ralph.Task {
	tasks := make([]ralph.Task, len(items))
	for i, it := range items {
		tasks[i] = it.Task
	}
	return tasks
}

// Format returns the name of the format, "" if it is unknown.
func (l *List) Format() string {
	if l.format == nil {
		return ""
	}
	return l.format.name()
}

// Path returns the list's path in the workspace, or its absolute path if it is elsewhere.
func (l *List) Path() string { return l.where.shown }

// Line returns the line of a task, 0 if it is not in the list.
func (l *List) Line(id string) int {
	for _, it := range l.items {
		if it.ID == id {
			return it.line
		}
	}
	return 0
}

// Set writes states into the file and changes nothing else.
func (l *List) Set(states map[string]ralph.TaskStatus) error {
	if bad := Errors(l.problems); len(bad) > 0 {
		return bad
	}
	ids := idsOf(l.Tasks())
	for _, id := range slices.Sorted(maps.Keys(states)) {
		if !slices.Contains(ids, id) {
			return fmt.Errorf("%s has no task %q%s", l.where.shown, shorten(id), didYouMean(id, ids))
		}
	}
	changed, err := l.format.edit(l.snapshot.source, states)
	if err != nil {
		return err
	}
	return l.put(changed)
}

// Add appends a task and returns its id. A task without one gets the next id in the list's own
// style. It also adds the first task to an empty list of a known format.
func (l *List) Add(t ralph.Task) (string, error) {
	if bad := Errors(l.problems); len(bad) > 0 && (l.format == nil || len(l.items) > 0) {
		return "", bad
	}
	t.Status = cmp.Or(t.Status, ralph.TaskPending)
	before := idsOf(l.Tasks())
	if err := l.identify(&t, before); err != nil {
		return "", err
	}
	changed, err := l.format.add(l.snapshot.source, t)
	if err != nil {
		return "", err
	}
	if err := l.refuse(changed); err != nil {
		return "", err
	}
	if err := l.put(changed); err != nil {
		return "", err
	}
	for _, it := range l.items {
		if !slices.Contains(before, it.ID) {
			return it.ID, nil
		}
	}
	return "", fmt.Errorf("add task: %s does not have it afterwards", l.where.shown)
}

// identify sets a task's id, if there is a style to follow; otherwise the format creates one.
func (l *List) identify(t *ralph.Task, taken []string) error {
	switch {
	case t.ID == "":
		t.ID, _ = nextID(l.items)
		return nil
	case !validID(t.ID):
		return errors.New(badID(t.ID))
	case slices.Contains(taken, t.ID):
		return fmt.Errorf("%s already has a task %s", l.where.shown, t.ID)
	}
	return nil
}

// refuse keeps an addition from breaking the list, for example by an unknown dependency.
func (l *List) refuse(changed source) error {
	next := l.snapshot
	next.source = next.with(changed)
	if _, problems := examine(l.format, next); len(Errors(problems)) > 0 {
		return fmt.Errorf("add task: %w", Errors(problems))
	}
	return nil
}

// put writes files of the list and reads it again.
func (l *List) put(changed source) error {
	root, err := os.OpenRoot(l.where.dir)
	if err != nil {
		return fmt.Errorf("write task list: %w", err)
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(changed.files)) {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
			return fmt.Errorf("write task list: %w", err)
		}
		if err := writeFile(root, name, changed.files[name], l.snapshot.mode(name)); err != nil {
			return fmt.Errorf("write task list: %w", err)
		}
	}
	return l.reload()
}
