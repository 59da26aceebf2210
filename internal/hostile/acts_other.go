//go:build !linux

package hostile

import (
	"context"
	"errors"
	"io"
)

func unknownHere(io.Writer, string, string) error {
	return errors.New("this attack is known on Linux only")
}

var (
	forkMany          act = unknownHere
	killProcess       act = unknownHere
	attach            act = unknownHere
	mountOver         act = unknownHere
	makeUserNamespace act = unknownHere
	makeDevice        act = unknownHere
	typeInto          act = unknownHere
)

// WithMetadata is known on Linux only.
func WithMetadata(context.Context, string, []string, []string) error {
	return unknownHere(nil, "", "")
}
