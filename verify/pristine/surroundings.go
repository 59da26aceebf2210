package pristine

import "github.com/ralphloop/ralph/process"

// Surroundings are files outside of the tree that steer checks, as they were before an agent began.
type Surroundings struct{}

// covered is what a view does about surroundings that were changed.
type covered struct {
	binds []process.Mount
	edits []Edit
	env   []string
}

func (s *Surroundings) cover(Options) (covered, error) { return covered{}, nil }

func (c covered) discard(string) error { return nil }
