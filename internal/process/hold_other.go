//go:build !linux

package process

// Hold stops nothing: on this system, Ralph cannot tell which processes a session started.
func Hold(Session) (held []string, release func(), err error) { return nil, func() {}, nil }
