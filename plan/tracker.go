package plan

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// Tracker manages the list of one run. It implements ralph.Tasks and ralph.TaskTests.
type Tracker struct {
	workspace string
	where     location
	keep      string
	tests     testPattern

	format   format // nil until a list was adopted
	kept     snapshot
	items    []item // of kept, with the states that its file can express
	states   map[string]ralph.TaskStatus
	last     reading // of a list that is not kept
	rejected string  // the fingerprint of a list by the user that could not be read; it is left alone until it changes
	owed     bool    // what an agent left could not be put right, so what lies in the workspace is not the user's
}

var (
	_ ralph.Tasks     = (*Tracker)(nil)
	_ ralph.TaskTests = (*Tracker)(nil)
)

var errNotAdopted = errors.New("no task list has been adopted yet")

// OpenTracker opens the list at path. keep is a folder outside the workspace for copies of the last
// good files. Files that already exist there count as the last Adopt or Write, so that a harness
// that was killed can still tell an agent's edit from the user's. tests is checks.task_tests, or
// "".
func OpenTracker(dir, path, keep, tests string) (*Tracker, error) {
	where, err := locate(dir, path)
	if err != nil {
		return nil, fmt.Errorf("open task list: %w", err)
	}
	pattern, err := parseTestPattern(tests)
	if err != nil {
		return nil, fmt.Errorf("read checks.task_tests: %w", err)
	}
	b := &Tracker{
		workspace: dir,
		where:     where,
		keep:      keep,
		tests:     pattern,
		rejected:  loadMark(keep, rejectedName),
		owed:      loadMark(keep, owedName) != "",
	}
	kept, found, err := loadSnapshot(keep, keptName)
	if err != nil {
		return nil, err
	}
	if !found || kept.path != where.path {
		return b, nil
	}
	f := detect(kept.path, kept.list())
	all, problems := examine(f, kept)
	if len(Errors(problems)) > 0 {
		return b, nil // written by a version with other rules; only the list in the workspace is left
	}
	b.format, b.kept, b.items = f, kept, all
	b.states = statesOf(all)
	return b, nil
}

func statesOf(items []item) map[string]ralph.TaskStatus {
	states := map[string]ralph.TaskStatus{}
	for _, it := range items {
		states[it.ID] = it.Status
	}
	return states
}

// File returns the list's path for messages.
func (b *Tracker) File() string { return b.where.shown }

// List returns the current tasks, with the states of the last Adopt or Write.
func (b *Tracker) List() []ralph.Task {
	tasks := tasksOf(b.items)
	for i := range tasks {
		tasks[i].Status = b.states[tasks[i].ID]
	}
	return tasks
}

// Adopt accepts the user's edits, as described in ralph.Tasks. An error of type Problems means that
// the list could not be read.
func (b *Tracker) Adopt(known map[string]ralph.TaskStatus) error {
	if b.owed && b.format != nil {
		if err := b.Write(known); err != nil {
			return fmt.Errorf("adopt task list: %w", err)
		}
	}
	now, f, err := b.where.read(nil, nil)
	if err != nil {
		return fmt.Errorf("adopt task list: %w", err)
	}
	all, bad := b.read(f, now)
	if len(bad) > 0 {
		return errors.Join(bad, b.reject(known))
	}
	before := statesOf(b.items)
	wanted := statesOf(all)
	for id, inFile := range wanted {
		recorded, ok := known[id]
		last, listed := before[id]
		if ok && (b.format == nil || listed && last == inFile) {
			wanted[id] = recorded
		}
	}
	if err := b.replace(now, now, f, wanted); err != nil {
		return fmt.Errorf("adopt task list: %w", err)
	}
	return b.clearRejected()
}

// reject leaves a list unchanged that the user broke. The states that the harness recorded still
// apply.
func (b *Tracker) reject(known map[string]ralph.TaskStatus) error {
	b.setStates(known)
	now, _, err := b.where.read(b.format, slices.Collect(maps.Keys(b.kept.files)))
	if err != nil {
		return err
	}
	if b.rejected == now.fingerprint() {
		return nil
	}
	b.rejected = now.fingerprint()
	return keepFile(b.keep, rejectedName, []byte(b.rejected+"\n"))
}

// setStates records states of current tasks without writing the file.
func (b *Tracker) setStates(states map[string]ralph.TaskStatus) {
	for id, state := range states {
		if _, listed := b.states[id]; listed {
			b.states[id] = state
		}
	}
}

func (b *Tracker) clearRejected() error {
	if b.rejected == "" {
		return nil
	}
	b.rejected = ""
	return keepFile(b.keep, rejectedName, nil)
}

// Inspect returns what an agent did to the list since the last Adopt or Write. It changes nothing.
func (b *Tracker) Inspect() (ralph.TaskEdits, error) {
	j, err := b.judge()
	if err != nil {
		return ralph.TaskEdits{}, errors.Join(fmt.Errorf("inspect task list: %w", err), b.markOwed())
	}
	return j.edits, nil
}

// Write sets the states in the file, as described in ralph.Tasks. The last list that had to be
// restored is in the keep folder, as injured.tar.
func (b *Tracker) Write(states map[string]ralph.TaskStatus) error {
	if err := b.write(states); err != nil {
		b.setStates(states)
		return errors.Join(fmt.Errorf("write task list: %w", err), b.markOwed())
	}
	return b.clearOwed()
}

// markOwed records that the list must be written before any content of it counts as the user's.
func (b *Tracker) markOwed() error {
	if b.owed || b.format == nil {
		return nil
	}
	b.owed = true
	return keepFile(b.keep, owedName, []byte("a write failed\n"))
}

func (b *Tracker) clearOwed() error {
	if !b.owed {
		return nil
	}
	b.owed = false
	return keepFile(b.keep, owedName, nil)
}

func (b *Tracker) write(states map[string]ralph.TaskStatus) error {
	j, err := b.judge()
	if err != nil {
		return err
	}
	if j.rejected {
		// The file still has the states of the kept copy, so that the next Adopt can tell which of them
		// the user changes.
		b.setStates(states)
		return nil
	}
	base, items := j.now, j.items
	if len(j.edits.ListDamage) > 0 {
		base, items = b.kept, b.items
		if err := saveSnapshot(b.keep, injuredName, j.now); err != nil {
			return err
		}
	}
	wanted := map[string]ralph.TaskStatus{}
	for _, it := range items {
		wanted[it.ID] = ralph.TaskPending // a task that the agent added, regardless of its state in the file
		if last, listed := b.states[it.ID]; listed {
			wanted[it.ID] = last
		}
		if asked, ok := states[it.ID]; ok {
			wanted[it.ID] = asked
		}
	}
	if err := b.replace(j.now, base, b.format, wanted); err != nil {
		return err
	}
	return b.clearRejected()
}

// replace makes base with the wanted states the current list: first in the workspace, whose current
// files are now, then in the keep folder. In this order a kill in between only makes the next Adopt
// see, as if by the user, states that the harness has recorded anyway.
func (b *Tracker) replace(now, base snapshot, f format, wanted map[string]ralph.TaskStatus) error {
	next, err := b.edit(f, base, wanted)
	if err != nil {
		return err
	}
	all, bad := b.read(f, next)
	if len(bad) > 0 {
		return fmt.Errorf("set states: %w", bad)
	}
	if err := b.restore(now, next, f); err != nil {
		return err
	}
	if b.format == nil || !b.kept.equal(next) || !maps.Equal(b.kept.modes, next.modes) {
		if err := saveSnapshot(b.keep, keptName, next); err != nil {
			return err
		}
	}
	b.format, b.kept, b.items, b.states = f, next, all, wanted
	return nil
}

// restore writes the files of next that differ from the workspace, and removes files that would
// change the meaning of next.
func (b *Tracker) restore(now, next snapshot, f format) error {
	root, err := os.OpenRoot(b.where.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if c, ok := f.(companion); ok {
		for _, name := range c.companions(next.source) {
			_, stays := next.files[name]
			_, there := now.files[name]
			if !stays && (there || now.trouble[name] != "") {
				if err := root.RemoveAll(name); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range next.order() {
		data, there := now.files[name]
		foreign := now.links[name] != "" && now.links[name] != next.links[name]
		if there && !foreign && bytes.Equal(data, next.files[name]) {
			continue
		}
		if err := clearWay(root, name, next.links[name]); err != nil {
			return fmt.Errorf("replace %s: %w", name, err)
		}
		if err := writeFile(root, name, next.files[name], next.modes[name]); err != nil {
			return err
		}
	}
	return nil
}

// judgment describes what an agent did to the list.
type judgment struct {
	edits    ralph.TaskEdits
	now      snapshot
	items    []item
	rejected bool // it is the broken list of the user, unchanged
}

func (b *Tracker) judge() (judgment, error) {
	if b.format == nil {
		return judgment{}, errNotAdopted
	}
	now, _, err := b.where.read(b.format, slices.Collect(maps.Keys(b.kept.files)))
	if err != nil {
		return judgment{}, err
	}
	j := judgment{now: now, items: b.items}
	if b.rejected != "" && now.fingerprint() == b.rejected {
		j.rejected = true
		return j, nil
	}
	if now.equal(b.kept) {
		return j, nil
	}
	all, bad := b.read(b.format, now)
	j.items = all
	injuries := b.damage(now, bad)
	if len(injuries) == 0 {
		injuries = compare(b.items, all)
	}
	j.edits = ralph.TaskEdits{Claims: b.claims(all), Added: additions(b.items, all), ListDamage: few(injuries)}
	return j, nil
}

// damage describes what happened to the files as such.
func (b *Tracker) damage(now snapshot, bad Problems) []string {
	var all []string
	for _, name := range b.kept.order() {
		_, there := now.files[name]
		switch link := now.links[name]; {
		case link != "" && link != b.kept.links[name]:
			all = append(all, fmt.Sprintf("%s is a symbolic link now", name))
		case now.trouble[name] != "" && now.trouble[name] != isMissing:
			all = append(all, fmt.Sprintf("%s %s", name, now.trouble[name]))
		case !there:
			all = append(all, fmt.Sprintf("%s is gone", name))
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, p := range bad {
		all = append(all, p.String())
	}
	return all
}

// few limits the damage report, so that a rewritten list does not fill a prompt.
func few(injuries []string) []string {
	const enough = 20
	if len(injuries) <= enough {
		return injuries
	}
	return append(slices.Clone(injuries[:enough]), fmt.Sprintf("and %d more changes", len(injuries)-enough))
}

// claims returns the tasks that are marked done but are not, in the list's order.
func (b *Tracker) claims(now []item) []string {
	marked := map[string]bool{}
	for _, it := range now {
		marked[it.ID] = marked[it.ID] || it.Status == ralph.TaskDone
	}
	var all []string
	for _, it := range b.items {
		if marked[it.ID] && b.states[it.ID] != ralph.TaskDone {
			all = append(all, it.ID)
		}
	}
	return all
}

// additions returns the tasks that are new.
func additions(before, now []item) []string {
	known := statesOf(before)
	var all []string
	for _, it := range now {
		if _, listed := known[it.ID]; !listed && strings.TrimSpace(it.ID) != "" {
			all = append(all, it.ID)
		}
	}
	return all
}
