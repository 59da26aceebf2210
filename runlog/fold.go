package runlog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph"
)

// Read visits every event of a run in order, verified, up to a last line that is torn or being
// written. The line passed to fn has no newline and must not be kept. If fn returns an error,
// reading ends and Read returns it.
func (s *Store) Read(run string, fn func(e ralph.Event, line []byte) error) error {
	r := s.reader(run, decodeAll)
	if err := r.read(fn); err != nil {
		return fmt.Errorf("read run %s: %w", run, err)
	}
	return nil
}

// Folder receives the events of a run in order. fold.State is one.
type Folder interface {
	Apply(e ralph.Event) error
	// Ignores reports whether Apply ignores the data of such events. They are passed without data. It
	// must depend only on kind, and is called from several goroutines at once.
	Ignores(kind ralph.EventType) bool
}

// Fold folds the log of a run into its state.
func (s *Store) Fold(run string, into Folder) error {
	if _, err := s.fold(run, into); err != nil {
		return fmt.Errorf("read run %s: %w", run, err)
	}
	return nil
}

func (s *Store) fold(run string, into Folder) (*reader, error) {
	r := s.reader(run, func(kind ralph.EventType, data []byte) (any, error) {
		if into.Ignores(kind) {
			return nil, nil
		}
		return decodeAll(kind, data)
	})
	return r, r.read(func(e ralph.Event, _ []byte) error { return into.Apply(e) })
}

func (s *Store) reader(run string, decode decodeFunc) *reader {
	return &reader{run: run, path: s.logPath(run), decode: decode}
}

func decodeAll(kind ralph.EventType, data []byte) (any, error) {
	payload, err := ralph.DecodePayload(kind, data)
	raw, unknown := payload.(json.RawMessage)
	if !unknown || err != nil {
		return payload, err
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("the data of %s is not JSON", kind)
	}
	return json.RawMessage(bytes.Clone(raw)), nil
}
