package verify

import (
	"context"
	"maps"
	"sync"

	"github.com/ralphloop/ralph"
)

// Fork returns an examiner for another goroutine. Both share their snapshots, one question at a time.
func (e *Examiner) Fork() ralph.Examiner {
	if _, ok := e.Snapshots.(*sharedSnapshots); !ok && e.Snapshots != nil {
		e.Snapshots = &sharedSnapshots{Snapshots: e.Snapshots}
	}
	fork := *e
	fork.memory.runs = maps.Clone(e.memory.runs)
	fork.memory.before = maps.Clone(e.memory.before)
	fork.memory.today = maps.Clone(e.memory.today)
	return &fork
}

// sharedSnapshots answers one question at a time.
type sharedSnapshots struct {
	ralph.Snapshots
	mu sync.Mutex
}

func (s *sharedSnapshots) Changes(ctx context.Context, from, to string) ([]ralph.FileChange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Snapshots.Changes(ctx, from, to)
}

func (s *sharedSnapshots) Files(ctx context.Context, id string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Snapshots.Files(ctx, id)
}

func (s *sharedSnapshots) Read(ctx context.Context, id, name string, limit int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Snapshots.Read(ctx, id, name, limit)
}

func (s *sharedSnapshots) Extract(ctx context.Context, id, dir string, names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Snapshots.Extract(ctx, id, dir, names)
}

// IgnoredFiles implements [ralph.IgnoredKeeper].
func (s *sharedSnapshots) IgnoredFiles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if keeper, ok := s.Snapshots.(ralph.IgnoredKeeper); ok {
		return keeper.IgnoredFiles()
	}
	return nil
}

// Unreachable implements [ralph.CommitKeeper].
func (s *sharedSnapshots) Unreachable(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if keeper, ok := s.Snapshots.(ralph.CommitKeeper); ok {
		return keeper.Unreachable(ctx)
	}
	return nil, nil
}

// Uncommitted implements [ralph.CommitKeeper].
func (s *sharedSnapshots) Uncommitted(ctx context.Context, changes []ralph.FileChange) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if keeper, ok := s.Snapshots.(ralph.CommitKeeper); ok {
		return keeper.Uncommitted(ctx, changes)
	}
	return nil, nil
}
