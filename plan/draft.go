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

// DraftMode says what becomes of a list that is there already.
type DraftMode int

// The modes of a draft. In none of them a task that is done is lost.
const (
	DraftFresh  DraftMode = iota // there may be no list with tasks in it
	DraftBehind                  // what is there stays as it is, byte for byte, and the new tasks follow it
	// The list that is there is replaced, or, if it is not ours, hidden by one that is found first.
	DraftAnew
)

// DraftOptions say where a new list is to go.
type DraftOptions struct {
	List   string // its file; "" is the list that the workspace has, or OwnPath
	Mode   DraftMode
	Around Surroundings
}

// Draft is a list of our own format that is written as a whole: all of its tasks arrive at once, or
// none does.
//
//	draft, err := plan.NewDraft(dir, plan.DraftOptions{Mode: plan.DraftBehind})
//	…                                          // an ExistsError here costs nothing yet
//	text, faults, doubts := draft.Try(tasks)   // as often as it takes
//	list, err := draft.Land(tasks)
//
// Between the three of them time may pass: Land looks again at what is there, and adds to that, not
// to what was there once.
type Draft struct {
	dir     string
	options DraftOptions
	ground  List // the place of the new list, and what of the old one stays
}

// NewDraft refuses with an *ExistsError what Land would refuse, too.
func NewDraft(dir string, o DraftOptions) (*Draft, error) {
	d := &Draft{dir: dir, options: o}
	if err := d.survey(); err != nil {
		return nil, fmt.Errorf("draft task list: %w", err)
	}
	return d, nil
}

// Path is where the list will be, as people write it.
func (d *Draft) Path() string { return d.ground.where.shown }

// Existing are the tasks that the new ones will follow.
func (d *Draft) Existing() []ralph.Task { return d.ground.Tasks() }

// Try makes the list that Land would write, and says in sentences what keeps it from being worked,
// and what is legal and yet likely to end badly. Of tasks that were there before, nothing is said.
func (d *Draft) Try(tasks []ralph.Task) (text string, faults, doubts []string) {
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

// Land writes the list. The error is of type Problems if it cannot be worked, and an *ExistsError
// if there is one by now that must not be lost; then, and whenever writing fails, what was there
// before is there still.
func (d *Draft) Land(tasks []ralph.Task) (*List, error) {
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
	if err := d.write(data); err != nil {
		return nil, fmt.Errorf("write task list: %w", err)
	}
	return Open(d.dir, d.ground.where.shown)
}

func (d *Draft) write(data []byte) error {
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
		if err := flushFolder(root, "."); err != nil { // or the new folder may be gone after a crash, and the list with it
			return err
		}
	}
	name := d.ground.where.path
	return writeFile(root, name, data, d.ground.snapshot.mode(name))
}

// compose gives the bytes of the list with the new tasks in it, and what is to be said about them.
func (d *Draft) compose(tasks []ralph.Task) ([]byte, []Problem, error) {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].Status = ralph.TaskPending // nothing is done before anybody worked
	}
	data, err := d.with(tasks)
	if err != nil {
		return nil, nil, err
	}
	l, file := d.ground, d.ground.where.path
	l.snapshot = snapshot{source: source{path: file, files: map[string][]byte{file: data}}}
	l.items, l.problems = examine(l.format, l.snapshot)
	around := d.options.Around
	// A check of its own is then a thing that a task may do without.
	around.TaskTests = around.TaskTests || around.RunChecks
	before := idsOf(d.Existing())
	problems := l.Lint(around)
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Warning && slices.Contains(before, p.Task) })
	return data, problems, nil
}

// with gives the old list with tasks behind it, each set as its neighbours are.
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

// ExistsError says why a list is not written: there is one already.
type ExistsError struct {
	List   string // as people write it
	Format string // "" if it is unknown
	Tasks  int    // that it has
	Done   int    // how many of them are done
	Why    string // a sentence
}

func (e *ExistsError) Error() string { return e.Why }

// Own reports whether the list is in our own format, so that tasks can be put behind it.
func (e *ExistsError) Own() bool { return e.Format == ownFormat.label }

// Is makes it an fs.ErrExist.
func (e *ExistsError) Is(target error) bool { return target == fs.ErrExist }

// survey finds the place of the list, and refuses where something would be lost.
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
		return nil // an empty file is no list
	}
	all, problems := examine(f, before)
	done := slices.DeleteFunc(tasksOf(all), func(t ralph.Task) bool { return t.Status != ralph.TaskDone })
	e := ExistsError{List: found.shown, Tasks: len(all), Done: len(done)}
	if f != nil {
		e.Format = f.name()
	}
	if bad := Errors(problems); len(bad) > 0 && !hasNoTasks(f, before, all) {
		e.Why = fmt.Sprintf("%s cannot be read, so that nobody knows what would be lost: %s", e.List, bad[0].Text)
		return &e
	}
	if e.Tasks == 0 && !e.Own() && d.options.List == "" {
		return nil // prose, or a list that never began: ours goes where it always goes
	}
	if e.Why = d.refusal(e); e.Why != "" {
		return &e
	}
	if d.options.Mode == DraftBehind {
		d.ground.snapshot, d.ground.items = before, all
	}
	if e.Own() {
		d.ground.where = found
	}
	return nil
}

// find names the list that is there, and takes the place of the one that will be. If a list is
// named, it is both.
func (d *Draft) find() (location, bool, error) {
	name, there := d.options.List, d.options.List != ""
	if there && path.Ext(filepath.ToSlash(name)) != ".json" {
		return location{}, false, fmt.Errorf("%s: a new list is JSON, and so its name ends in .json", name)
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

// hasNoTasks reports whether a list is sound, and only empty. Markdown without a task in it is prose.
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

// refusal says why nothing can be written beside or over a list; "" if it can.
func (d *Draft) refusal(e ExistsError) string {
	foreign := !e.Own()
	switch mode := d.options.Mode; {
	case foreign && d.options.List != "":
		return fmt.Sprintf("%s is in the format %s, and what is written here is in our own", e.List, e.Format)
	case e.Tasks == 0:
		return ""
	case foreign && mode == DraftBehind:
		return fmt.Sprintf(
			"%s is in the format %s, which has no place for all that a plan says; import it first",
			e.List,
			e.Format,
		)
	case mode == DraftFresh:
		return fmt.Sprintf("%s is there already: %s, %d done", e.List, text.Count(e.Tasks, "task"), e.Done)
	case mode == DraftAnew && e.Done > 0:
		return fmt.Sprintf("%s has %s done, and that would be lost", e.List, text.Count(e.Done, "task"))
	}
	return ""
}
