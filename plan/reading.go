package plan

import (
	"slices"

	"github.com/ralphloop/ralph"
)

// reading is what a list says.
type reading struct {
	format string
	of     snapshot
	items  []item
	bad    Problems
}

// read examines a list. A long one takes a while, and most are read several times: an agent's edit is
// inspected, undone, and made again once it is proven. So the tracker remembers the last list besides
// the one it keeps.
func (b *Tracker) read(f format, list snapshot) ([]item, Problems) {
	if f == nil {
		items, problems := examine(f, list)
		return items, Errors(problems)
	}
	if b.format != nil && b.format.name() == f.name() && list.equal(b.kept) {
		return b.items, nil
	}
	if b.last.format != f.name() || !list.equal(b.last.of) {
		items, problems := examine(f, list)
		b.last = reading{f.name(), list, items, Errors(problems)}
	}
	return b.last.items, b.last.bad
}

// edit sets the states of a list's tasks. Without a difference there is nothing to look for in it.
func (b *Tracker) edit(f format, list snapshot, wanted map[string]ralph.TaskStatus) (snapshot, error) {
	items, _ := b.read(f, list)
	if !slices.ContainsFunc(items, func(it item) bool { return wanted[it.ID] != it.Status }) {
		return list, nil
	}
	changed, err := f.edit(list.source, wanted)
	if err != nil {
		return snapshot{}, err
	}
	list.source = list.with(changed)
	return list, nil
}
