package gitrepo

import (
	"context"
	"fmt"
	"io"
)

// Init puts a folder under git and commits what is in it, in the name of nobody in particular: for sample projects.
func (g Git) Init(ctx context.Context, dir, message string) error {
	dir, err := canonical(dir)
	if err != nil {
		return fmt.Errorf("make repository: %w", err)
	}
	if g, err = g.located(dir); err != nil {
		return fmt.Errorf("make repository: %w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all"},
		{"-c", "user.name=ralph", "-c", "user.email=ralph@localhost", "-c", "commit.gpgSign=false", "commit", "--quiet", "--message", message},
	} {
		if err := g.run(ctx, call{dir: dir, args: args, out: io.Discard}); err != nil {
			return fmt.Errorf("make repository: %w", err)
		}
	}
	return nil
}
