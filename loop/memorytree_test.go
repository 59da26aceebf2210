package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
)

// memoryTree is a workspace of files in memory with snapshots, and can switch between them. It
// survives a crash.
type memoryTree struct {
	mu     sync.Mutex
	files  map[string]string
	copies map[string]map[string]string

	between func()                     // is called when the harness has changed one file
	before  func(in ralph.SwitchInput) // is called before it looks at any
	fails   map[string]error           // by the name of the method
	stays   []string                   // files that a switch cannot write
	seen    []map[string]string        // by agents
}

var (
	_ ralph.Snapshots = (*memoryTree)(nil)
	_ ralph.Switcher  = (*memoryTree)(nil)
)

func newMemoryTree() *memoryTree {
	return &memoryTree{
		files: map[string]string{"code": "old"}, copies: map[string]map[string]string{}, fails: map[string]error{},
	}
}

// clone is the tree as a kill leaves it.
func (s *memoryTree) clone() *memoryTree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &memoryTree{files: maps.Clone(s.files), copies: maps.Clone(s.copies), fails: map[string]error{}}
}

// named returns the ID of a snapshot, from its contents.
func named(files map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, name+"="+files[name])
	}
	return strings.Join(all, " ")
}

func (s *memoryTree) keep(files map[string]string) string {
	id := named(files)
	s.copies[id] = maps.Clone(files)
	return id
}

// write is what agents and users do: "name=text" writes a file, "name=" deletes it.
func (s *memoryTree) write(edits ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range edits {
		name, text, _ := strings.Cut(e, "=")
		if s.files[name] = text; text == "" {
			delete(s.files, name)
		}
	}
}

func (s *memoryTree) holds() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return named(s.files)
}

func (s *memoryTree) Fingerprint(context.Context, ralph.TreeInput) (ralph.TreeState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.keep(s.files)
	return ralph.TreeState{Known: true, Head: "c0", Hash: id, Snapshot: id}, s.fails["Fingerprint"]
}

// differing are the names of files that are not the same, in order.
func differing(from, to map[string]string) []string {
	var names []string
	for name := range maps.Keys(from) {
		if to[name] != from[name] {
			names = append(names, name)
		}
	}
	for name := range to {
		if _, there := from[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *memoryTree) Changes(_ context.Context, from, to string) ([]ralph.FileChange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []ralph.FileChange
	for _, name := range differing(s.copies[from], s.copies[to]) {
		kind := ralph.FileChanged
		if _, there := s.copies[from][name]; !there {
			kind = ralph.FileAdded
		}
		changes = append(changes, ralph.FileChange{Name: name, Kind: kind})
	}
	return changes, s.fails["Changes"]
}

func (s *memoryTree) Between(context.Context, string, string) (string, error) {
	return "", errors.ErrUnsupported
}
func (s *memoryTree) Files(context.Context, string) ([]string, error) { return nil, nil }
func (s *memoryTree) Read(context.Context, string, string, int) ([]byte, error) {
	return nil, fs.ErrNotExist
}
func (s *memoryTree) Extract(context.Context, string, string, []string) error { return nil }

func put(files map[string]string, name, text string) {
	if files[name] = text; text == "" {
		delete(files, name)
	}
}

func (s *memoryTree) Join(_ context.Context, base, from, to string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	joined := maps.Clone(s.copies[base])
	for _, name := range differing(s.copies[from], s.copies[to]) {
		put(joined, name, s.copies[to][name])
	}
	return s.keep(joined), s.fails["Join"]
}

func (s *memoryTree) WithFiles(_ context.Context, id, from string, names []string) (string, error) {
	files := maps.Clone(s.copies[id])
	for _, name := range names {
		delete(files, name)
		if text, ok := s.copies[from][name]; ok {
			files[name] = text
		}
	}
	return s.keep(files), nil
}

func (s *memoryTree) Diff(_ context.Context, from, to string, _ int) (string, bool, error) {
	return from + " -> " + to, false, nil
}

func (s *memoryTree) Merge(_ context.Context, in ralph.MergeInput) (string, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, ours, theirs := s.copies[in.Base], s.copies[in.Ours], s.copies[in.Theirs]
	merged := maps.Clone(ours)
	var conflicts []string
	for _, name := range differing(base, theirs) {
		switch {
		case in.Own(name) || ours[name] == theirs[name]:
		case ours[name] != base[name]:
			conflicts = append(conflicts, name)
		default:
			put(merged, name, theirs[name])
		}
	}
	if len(conflicts) > 0 || s.fails["Merge"] != nil {
		return "", conflicts, s.fails["Merge"]
	}
	return s.keep(merged), nil, nil
}

func (s *memoryTree) Switch(ctx context.Context, in ralph.SwitchInput) (ralph.Switched, error) {
	if s.before != nil {
		s.before(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, to := s.copies[in.From], s.copies[in.To]
	if from == nil || to == nil {
		return ralph.Switched{}, errors.New("there is no such copy")
	}
	planned, stayed := maps.Clone(from), []string(nil)
	var due, others []string
	begun := false
	for _, name := range differing(from, to) {
		if in.Own(name) {
			continue
		}
		if slices.Contains(s.stays, name) {
			stayed = append(stayed, name)
			continue
		}
		put(planned, name, to[name])
		if s.files[name] == from[name] {
			due = append(due, name)
		}
		begun = begun || s.files[name] == to[name]
	}
	for _, name := range differing(planned, s.files) {
		if !in.Own(name) && s.files[name] != from[name] {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		return ralph.Switched{Others: others, Begun: begun}, nil
	}
	for i, name := range due {
		if err := cmp.Or(ctx.Err(), s.fails["Switch"]); err != nil && i > 0 {
			return ralph.Switched{}, err
		}
		put(s.files, name, to[name])
		if s.between != nil {
			s.between()
		}
	}
	return ralph.Switched{Snapshot: s.keep(planned), Stayed: stayed}, nil
}

// does has an agent write, and notes what it finds first.
func (s *memoryTree) does(play turn, edits ...string) turn {
	return func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		s.mu.Lock()
		s.seen = append(s.seen, maps.Clone(s.files))
		s.mu.Unlock()
		o := play(ctx, in)
		s.write(edits...)
		return o
	}
}

// found are the trees that agents found, in order.
func (s *memoryTree) found() []string {
	var all []string
	for i, files := range s.seen {
		all = append(all, fmt.Sprintf("%d: %s", i+1, named(files)))
	}
	return all
}
