package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// DraftMode selects what happens to an existing list.
type DraftMode int

// The modes of a draft. None of them loses a task that is done.
const (
	DraftNew    DraftMode = iota // there must be no list with tasks
	DraftAppend                  // append the new tasks to the existing list, which stays unchanged
	// Replace the existing list or, if it is in another format, hide it with one that is found first.
	DraftReplace
)

// DraftOptions are the options of a new list.
type DraftOptions struct {
	List string // its file; default: the workspace's list, or OwnPath
	Mode DraftMode
	Lint LintOptions
}

// Draft is a list in our own format that is written as a whole: either all of its tasks are written
// or none.
//
//	draft, err := plan.NewDraft(dir, plan.DraftOptions{Mode: plan.DraftAppend})
//	…                                            // an ExistsError here costs nothing yet
//	text, faults, doubts := draft.Preview(tasks) // as often as needed
//	list, err := draft.Write(tasks)
//
// Time may pass between these calls: Write reads the existing list again, and appends to that.
type Draft struct {
	dir     string
	options DraftOptions
	ground  List // the location of the new list, and what stays of the old one
}

// NewDraft returns a draft. It refuses with an *ExistsError what Write would refuse.
func NewDraft(dir string, o DraftOptions) (*Draft, error) {
	d := &Draft{dir: dir, options: o}
	if err := d.survey(); err != nil {
		return nil, fmt.Errorf("draft task list: %w", err)
	}
	return d, nil
}

// Path returns where the list will be, for messages.
func (d *Draft) Path() string { return d.ground.where.shown }

// Existing returns the tasks that the new ones will follow.
func (d *Draft) Existing() []ralph.Task { return d.ground.Tasks() }

// Preview returns the list that Write would write, the errors that prevent work on it, and
// warnings. It says nothing about existing tasks.
func (d *Draft) Preview(tasks []ralph.Task) (text string, faults, doubts []string) {
	data, problems, err := d.compose(tasks)
	if err != nil {
		return "", []string{err.Error()}, nil
	}
	for _, p := range problems {
		if p.Warning {
			doubts = append(doubts, p.Text)
		} else {
			faults = append(faults, p.Text)
		}
	}
	return string(data), faults, doubts
}

// Write writes the list. The error is of type Problems if the list is invalid, and an *ExistsError
// if there is a list by now that must not be lost. If it fails, the old files stay.
func (d *Draft) Write(tasks []ralph.Task) (*List, error) {
	if err := d.survey(); err != nil {
		return nil, fmt.Errorf("write task list: %w", err)
	}
	data, problems, err := d.compose(tasks)
	if err != nil {
		return nil, fmt.Errorf("write task list: %w", err)
	}
	if bad := Errors(problems); len(bad) > 0 {
		return nil, bad
	}
	if err := d.writeFile(data); err != nil {
		return nil, fmt.Errorf("write task list: %w", err)
	}
	return Open(d.dir, d.ground.where.shown)
}

func (d *Draft) writeFile(data []byte) error {
	root, err := os.OpenRoot(d.ground.where.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folder := path.Dir(d.ground.where.path)
	if _, err := root.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		if err := root.MkdirAll(filepath.FromSlash(folder), 0o755); err != nil {
			return err
		}
		if err := flushFolder(root, "."); err != nil { // or a crash may lose the new folder with the list
			return err
		}
	}
	name := d.ground.where.path
	return writeFile(root, name, data, d.ground.snapshot.mode(name))
}

// compose returns the bytes of the list with the new tasks, and the problems of these tasks.
func (d *Draft) compose(tasks []ralph.Task) ([]byte, []Problem, error) {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].Status = ralph.TaskPending // no new task is done
	}
	data, err := d.with(tasks)
	if err != nil {
		return nil, nil, err
	}
	l, file := d.ground, d.ground.where.path
	l.snapshot = snapshot{source: source{path: file, files: map[string][]byte{file: data}}}
	l.items, l.problems = examine(l.format, l.snapshot)
	around := d.options.Lint
	around.Plan = true
	before := idsOf(d.Existing())
	problems := l.Lint(around)
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Warning && slices.Contains(before, p.Task) })
	return data, problems, nil
}

// with returns the old list with tasks appended, each formatted like its neighbors.
func (d *Draft) with(tasks []ralph.Task) ([]byte, error) {
	if len(d.ground.items) == 0 {
		return Encode(tasks)
	}
	src := d.ground.snapshot.source
	for _, t := range tasks {
		next, err := ownFormat.add(src, t)
		if err != nil {
			return nil, err
		}
		src = src.with(next)
	}
	return src.list(), nil
}

// ExistsError says why a list is not written: there already is one.
type ExistsError struct {
	List   string // its path, for messages
	Format string // "" if it is unknown
	Tasks  int    // the number of its tasks
	Done   int    // how many of them are done
	Why    string // a sentence
}

func (e *ExistsError) Error() string { return e.Why }

// Own reports whether the list is in our own format, so that tasks can be appended.
func (e *ExistsError) Own() bool { return e.Format == ownFormat.label }

// Is makes the error match fs.ErrExist.
func (e *ExistsError) Is(target error) bool { return target == fs.ErrExist }

// survey finds the location of the list, and refuses where something would be lost.
func (d *Draft) survey() error {
	found, there, err := d.find()
	if err != nil || !there {
		return err
	}
	before, f, err := found.read(nil, nil)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(before.list(), byteOrderMark))) == 0 && before.trouble[found.path] == "" {
		return nil // an empty file is not a list
	}
	all, problems := examine(f, before)
	done := slices.DeleteFunc(tasksOf(all), func(t ralph.Task) bool { return t.Status != ralph.TaskDone })
	e := ExistsError{List: found.shown, Tasks: len(all), Done: len(done)}
	if f != nil {
		e.Format = f.name()
	}
	if bad := Errors(problems); len(bad) > 0 && !hasNoTasks(f, before, all) {
		e.Why = fmt.Sprintf("%s cannot be read, so tasks in it could be lost: %s", e.List, bad[0].Text)
		return &e
	}
	if e.Tasks == 0 && !e.Own() && d.options.List == "" {
		return nil // prose or an empty list: ours goes to OwnPath
	}
	if e.Why = d.refusal(e); e.Why != "" {
		return &e
	}
	if d.options.Mode == DraftAppend {
		d.ground.snapshot, d.ground.items = before, all
	}
	if e.Own() {
		d.ground.where = found
	}
	return nil
}

// find returns the existing list, and sets the location of the new one. If the options name a list,
// it is both.
func (d *Draft) find() (location, bool, error) {
	name, there := d.options.List, d.options.List != ""
	if there && path.Ext(filepath.ToSlash(name)) != ".json" {
		return location{}, false, fmt.Errorf("%s: a new list is JSON; choose a name that ends in .json", name)
	}
	if !there {
		var err error
		if name, there, err = Find(d.dir); err != nil {
			return location{}, false, err
		}
	}
	place := name
	if d.options.List == "" {
		place = OwnPath
	}
	where, err := locate(d.dir, place)
	if err != nil {
		return location{}, false, err
	}
	d.ground = List{where: where, format: ownFormat}
	if !there {
		return location{}, false, nil
	}
	found, err := locate(d.dir, name)
	if err != nil {
		return location{}, false, err
	}
	_, err = os.Lstat(filepath.Join(found.dir, filepath.FromSlash(found.path)))
	if errors.Is(err, fs.ErrNotExist) {
		return found, false, nil
	}
	return found, err == nil, err
}

// hasNoTasks reports whether a list is valid and only empty. Markdown without a task is prose.
func hasNoTasks(f format, s snapshot, all []item) bool {
	if f == nil || len(all) > 0 || s.trouble[s.path] != "" {
		return false
	}
	if _, prose := f.(markdown); prose {
		return true
	}
	_, problems := f.parse(s.source)
	return len(Errors(problems)) == 0
}

// refusal returns why the list cannot be written beside or over an existing one, or "".
func (d *Draft) refusal(e ExistsError) string {
	foreign := !e.Own()
	switch mode := d.options.Mode; {
	case foreign && d.options.List != "":
		return fmt.Sprintf("%s is in the format %s, and new lists are written in ralph's own format", e.List, e.Format)
	case e.Tasks == 0:
		return ""
	case foreign && mode == DraftAppend:
		return fmt.Sprintf(
			"%s is in the format %s, which cannot store a whole plan; import it first",
			e.List,
			e.Format,
		)
	case mode == DraftNew:
		return fmt.Sprintf("%s already exists: %s, %d done", e.List, text.Count(e.Tasks, "task"), e.Done)
	case mode == DraftReplace && e.Done > 0:
		return fmt.Sprintf("%s has %s done, which would be lost", e.List, text.Count(e.Done, "task"))
	}
	return ""
}
