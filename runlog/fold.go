package runlog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

// Read visits every event of a run in order, verified, up to a last line that is torn or being written. The line that fn is given has no newline
// and may not be kept. An error of fn ends the reading and is returned.
func (s *Store) Read(run string, fn func(e ralph.Event, line []byte) error) error {
	r := s.reader(run, decodeAll)
	if err := r.read(fn); err != nil {
		return fmt.Errorf("read run %s: %w", run, err)
	}
	return nil
}

// State folds the log of a run into what is known of it.
func (s *Store) State(run string) (*fold.State, error) {
	state, _, err := s.fold(run)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", run, err)
	}
	return state, nil
}

func (s *Store) fold(run string) (*fold.State, *reader, error) {
	state := &fold.State{}
	r := s.reader(run, decodeForState)
	if err := r.read(func(e ralph.Event, _ []byte) error { return state.Apply(e) }); err != nil {
		return nil, nil, err
	}
	return state, r, nil
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

// decodeForState leaves out the payloads that State.Apply does not look at. They are named, rather than those it needs, so that a type that is
// new here is slow and not forgotten.
func decodeForState(kind ralph.EventType, data []byte) (any, error) {
	switch kind {
	case ralph.EvPromptBuilt, ralph.EvAgentStarted, ralph.EvTreeQuiet, ralph.EvSignal, ralph.EvClaimRefused,
		ralph.EvBreaker, ralph.EvNotice, ralph.EvTruncated:
		return nil, nil
	}
	return decodeAll(kind, data)
}
