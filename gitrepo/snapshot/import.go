package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
)

// Import copies a snapshot from another store of the same repository and returns its name here. Its history stays
// there.
func (s *Store) Import(ctx context.Context, from *Store, id string) (string, error) {
	c, err := from.read(ctx, id)
	if err == nil {
		err = s.importTree(ctx, from, c.tree)
	}
	made := ""
	if err == nil {
		message := snapshotTitle + "\n\nrun " + c.run + belowLine(c.prefix) + c.left.String()
		made, err = s.putCommit(c.tree, nil, time.Unix(0, 0), message)
	}
	if err == nil {
		err = s.setRef(runRefs(c.run)+"base-"+made, made)
	}
	if err != nil {
		return "", fmt.Errorf("import snapshot %s: %w", id, err)
	}
	return made, nil
}

func (s *Store) importTree(ctx context.Context, from *Store, tree string) (err error) {
	pack, err := os.CreateTemp(s.path("tmp"), "pack-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(pack.Name())) }()
	_, err = from.feed(ctx, from.call, tree+"\n", git.Call{
		Args: []string{"pack-objects", "--revs", "--stdout", "--quiet"}, Out: pack,
	})
	if err = errors.Join(err, pack.Close()); err != nil {
		return err
	}
	_, err = s.call(ctx, git.Call{Args: []string{"unpack-objects", "-q"}, Stdin: pack.Name()})
	return err
}
