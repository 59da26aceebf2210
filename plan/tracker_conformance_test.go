package plan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// desk is a workspace with a sample in it, and the book that owns it.
type desk struct {
	*testing.T
	s         sample
	dir, keep string
	book      *Tracker
}

func newDesk(t *testing.T, s sample) *desk {
	t.Helper()
	d := &desk{T: t, s: s, dir: t.TempDir(), keep: filepath.Join(t.TempDir(), "run", "tasks")}
	d.lay(s.files)
	d.reopen()
	d.must(d.book.Adopt(nil))
	return d
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// reopen is what a harness does that was killed and started again.
func (d *desk) reopen() {
	d.Helper()
	book, err := OpenTracker(d.dir, d.s.path, d.keep, "")
	d.must(err)
	d.book = book
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *desk) lay(files map[string]string) {
	d.Helper()
	for name, text := range files {
		d.must(os.MkdirAll(filepath.Dir(d.path(name)), 0o755))
		d.must(os.WriteFile(d.path(name), []byte(text), 0o644))
	}
}

// files are the sample's files as they lie in the workspace.
func (d *desk) files() map[string]string {
	d.Helper()
	all := map[string]string{}
	for name := range d.s.files {
		data, err := os.ReadFile(d.path(name))
		if !errors.Is(err, fs.ErrNotExist) {
			d.must(err)
			all[name] = string(data)
		}
	}
	return all
}

func (d *desk) inspect() ralph.TaskEdits {
	d.Helper()
	edits, err := d.book.Inspect()
	d.must(err)
	return edits
}

// states are those of the list in force.
func (d *desk) states() []ralph.TaskStatus {
	var all []ralph.TaskStatus
	for _, t := range d.book.List() {
		all = append(all, t.Status)
	}
	return all
}

const (
	pending = ralph.TaskPending
	done    = ralph.TaskDone
	failed  = ralph.TaskFailed
)

func TestBookKeepsWhatNobodyTouched(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		d := newDesk(t, s)
		diff(t, s.tasks, d.book.List())
		diff(t, s.path, d.book.File())
		diff(t, ralph.TaskEdits{}, d.inspect())
		d.must(d.book.Write(nil))
		diff(t, s.files, d.files())
		d.must(d.book.Write(s.state(done)))
		diff(t, s.edited(t, s.done), d.files())
		diff(t, []ralph.TaskStatus{done, done, pending}, d.states())
		diff(t, ralph.TaskEdits{}, d.inspect(), "after the harness's own write")
	})
}

func TestBookTellsClaimsFromInjuries(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		first := s.tasks[0].ID
		for name, test := range map[string]struct {
			agent    []change
			want     ralph.TaskEdits
			injury   string            // a part of the only injury
			unproven map[string]string // after Write(nil)
			proven   map[string]string // after Write(first done)
		}{
			"claim": {agent: []change{s.done}, want: ralph.TaskEdits{Claims: []string{first}},
				unproven: s.files, proven: s.edited(t, s.done)},
			"done task reopened": {agent: []change{s.undone}, unproven: s.files, proven: s.edited(t, s.done)},
			"prose": {agent: []change{s.prose},
				unproven: s.edited(t, s.prose), proven: s.edited(t, s.prose, s.done)},
			"task deleted": {agent: []change{s.gone}, injury: "task " + s.tasks[2].ID + " was deleted", unproven: s.files,
				proven: s.edited(t, s.done)},
			"criterion weaker": {agent: []change{s.weaker}, injury: "the acceptance criteria of task " + first + " were changed",
				unproven: s.files, proven: s.edited(t, s.done)},
			"claim with a weaker criterion": {agent: []change{s.weaker, s.done}, want: ralph.TaskEdits{Claims: []string{first}},
				injury: "the acceptance criteria of task " + first, unproven: s.files, proven: s.edited(t, s.done)},
			"reordered": {agent: []change{s.swapped}, injury: "reordered", unproven: s.files, proven: s.edited(t, s.done)},
			"added": {agent: []change{s.added}, want: ralph.TaskEdits{Added: []string{s.addedID}},
				unproven: s.edited(t, s.added), proven: s.edited(t, s.added, s.done)},
			"added as done": {agent: []change{s.trick}, want: ralph.TaskEdits{Added: []string{s.addedID}},
				unproven: s.edited(t, s.added), proven: s.edited(t, s.added, s.done)},
		} {
			t.Run(name, func(t *testing.T) {
				for _, outcome := range []struct {
					states map[string]ralph.TaskStatus
					files  map[string]string
				}{{nil, test.unproven}, {s.state(done), test.proven}} {
					d := newDesk(t, s)
					d.lay(s.edited(t, test.agent...))
					diff(t, test.want, d.withoutInjury(test.injury))
					d.reopen() // killed before it was put back
					diff(t, test.want, d.withoutInjury(test.injury))
					d.must(d.book.Write(outcome.states))
					diff(t, outcome.files, d.files())
					diff(t, ralph.TaskEdits{}, d.inspect(), "after Write")
				}
			})
		}
	})
}

// withoutInjury inspects, and checks the only injury by a part of its text.
func (d *desk) withoutInjury(part string) ralph.TaskEdits {
	d.Helper()
	edits := d.inspect()
	switch {
	case part == "":
		return edits
	case len(edits.ListDamage) != 1 || !strings.Contains(edits.ListDamage[0], part):
		d.Errorf("injuries %q, want one with %q", edits.ListDamage, part)
	}
	edits.ListDamage = nil
	return edits
}

func TestBookAddedTaskJoinsAsPending(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		d := newDesk(t, s)
		d.lay(s.edited(t, s.trick))
		d.must(d.book.Write(nil))
		diff(t, []ralph.TaskStatus{pending, done, pending, pending}, d.states())
	})
}

// damages are ways to ruin the file of a list. Those that a system does not know are added elsewhere.
var damages = map[string]struct {
	ruin   func(d *desk, path string) error
	injury string
}{
	"emptied": {func(_ *desk, path string) error { return os.Truncate(path, 0) }, "the file is empty"},
	"removed": {func(_ *desk, path string) error { return os.Remove(path) }, "is gone"},
	"too big": {func(_ *desk, path string) error { return os.Truncate(path, maxFile+1) }, "is larger than 16 MiB"},
	"a folder": {func(_ *desk, path string) error {
		return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "deep"), 0o755))
	}, "is a folder"},
	"a link out": {func(d *desk, path string) error {
		outside := filepath.Join(d.TempDir(), "copy")
		return errors.Join(os.Rename(path, outside), os.Symlink(outside, path))
	}, "is a symbolic link now"},
	"a link inside": {func(d *desk, path string) error {
		return errors.Join(os.Rename(path, filepath.Join(filepath.Dir(path), "copy")), os.Symlink("copy", path))
	}, "is a symbolic link now"},
}

func TestBookPutsARuinedFileBack(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		for name, damage := range damages {
			t.Run(name, func(t *testing.T) {
				for _, outcome := range []struct {
					states map[string]ralph.TaskStatus
					files  map[string]string
				}{{nil, s.files}, {s.state(done), s.edited(t, s.done)}} {
					d := newDesk(t, s)
					d.must(damage.ruin(d, d.path(s.path)))
					diff(t, ralph.TaskEdits{}, d.withoutInjury(damage.injury))
					d.must(d.book.Write(outcome.states))
					diff(t, outcome.files, d.files())
					info, err := os.Lstat(d.path(s.path))
					d.must(err)
					diff(t, fs.FileMode(0o644), info.Mode())
					diff(t, ralph.TaskEdits{}, d.inspect(), "after Write")
				}
			})
		}
		t.Run("broken", func(t *testing.T) {
			if s.broken == (change{}) {
				t.Skip("nothing breaks this format")
			}
			d := newDesk(t, s)
			d.lay(s.edited(t, s.broken))
			edits := d.inspect()
			if len(edits.ListDamage) == 0 || !strings.HasPrefix(edits.ListDamage[0], s.path+":") {
				t.Errorf("injuries %q", edits.ListDamage)
			}
			d.must(d.book.Write(nil))
			diff(t, s.files, d.files())
		})
	})
}

func TestBookAdoptsTheUsersEdits(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		known := map[string]ralph.TaskStatus{s.tasks[0].ID: done, s.tasks[1].ID: done, "gone-long-ago": done}
		d := newDesk(t, s)
		d.lay(s.edited(t, s.weaker, s.added))
		d.must(d.book.Adopt(known))
		diff(t, s.edited(t, s.weaker, s.added, s.done), d.files())
		diff(t, []ralph.TaskStatus{done, done, pending, pending}, d.states())
		diff(t, ralph.TaskEdits{}, d.inspect())

		d.lay(s.edited(t, s.weaker, s.added, s.done, s.undone))
		d.must(d.book.Adopt(known))
		diff(t, []ralph.TaskStatus{done, pending, pending, pending}, d.states(), "the user reopened a task")
	})
}

func TestBookTakesStatesAsTheyStandAtFirst(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		d := newDesk(t, s)
		d.must(d.book.Write(s.state(failed)))
		diff(t, []ralph.TaskStatus{failed, done, pending}, d.states())
		d.reopen()
		d.must(d.book.Adopt(s.state(failed)))
		diff(t, []ralph.TaskStatus{failed, done, pending}, d.states(), "what a format cannot write is remembered by the run")
		d.lay(s.edited(t, s.undone))
		d.must(d.book.Adopt(nil))
		diff(t, []ralph.TaskStatus{pending, pending, pending}, d.states())
	})
}

func TestBookLeavesAListAloneThatTheUserBroke(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		breakages := []map[string]string{s.edited(t, change{old: s.files[s.path], new: ""})}
		if s.broken != (change{}) {
			breakages = append(breakages, s.edited(t, s.broken))
		}
		for _, broken := range breakages {
			d := newDesk(t, s)
			d.lay(broken)
			var bad Problems
			if err := d.book.Adopt(nil); !errors.As(err, &bad) {
				t.Fatalf("adopted: %v", err)
			}
			diff(t, s.tasks, d.book.List(), "the last good list")
			diff(t, ralph.TaskEdits{}, d.inspect(), "the agent did nothing")
			d.must(d.book.Write(s.state(done)))
			diff(t, broken, d.files(), "left alone")
			diff(t, []ralph.TaskStatus{done, done, pending}, d.states())

			d.reopen()
			diff(t, ralph.TaskEdits{}, d.inspect(), "after a kill")
			if err := d.book.Adopt(s.state(done)); !errors.As(err, &bad) {
				t.Fatalf("adopted: %v", err)
			}
			diff(t, []ralph.TaskStatus{done, done, pending}, d.states())

			d.lay(s.files) // the user repairs it, and knows nothing of what was proven meanwhile
			d.must(d.book.Adopt(s.state(done)))
			diff(t, s.edited(t, s.done), d.files())
		}
	})
}

func TestBookNeedsAnAdoptedList(t *testing.T) {
	book, err := OpenTracker(t.TempDir(), "prd.json", t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []ralph.Task{}, book.List())
	if _, err := book.Inspect(); !errors.Is(err, errNotAdopted) {
		t.Errorf("Inspect: %v", err)
	}
	if err := book.Write(nil); !errors.Is(err, errNotAdopted) {
		t.Errorf("Write: %v", err)
	}
	var bad Problems
	if err := book.Adopt(nil); !errors.As(err, &bad) || bad.Error() != "prd.json: the file is not there" {
		t.Errorf("Adopt: %v", err)
	}
}
