//go:build !linux

package process

// Held are processes of a session that are stopped.
type Held struct{ Names []string }

// Hold stops nothing: on this system, Ralph cannot tell which processes a session started.
func Hold(Session) (*Held, error) { return &Held{}, nil }

// Started returns nothing, see Hold.
func (*Held) Started() []string { return nil }

// Release does nothing, see Hold.
func (*Held) Release() {}
