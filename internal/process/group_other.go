//go:build !linux

package process

import "fmt"

type group struct{}

func newGroup(l Limits) (*group, error) {
	if l == (Limits{}) {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: only Linux can", ErrLimits)
}

func (g *group) folders() string { return "" }

func (g *group) end(*Result) {}
