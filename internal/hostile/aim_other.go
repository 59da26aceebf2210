//go:build !linux

package hostile

import (
	"context"
	"errors"
)

func aimAtTerminal(context.Context, *Scene) (target, error) {
	return target{}, errors.New("known on Linux only")
}

func aimAtMetadata(context.Context, *Scene) (target, error) {
	return target{}, errors.New("known on Linux only")
}
