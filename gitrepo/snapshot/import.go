package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
)

// Import copies a snapshot to another store of the same repository and returns its name there. Its history stays
// where it is.
func Import(ctx context.Context, to, from *Store, id string) (string, error) {
	c, err := from.read(ctx, id)
	if err == nil {
		err = importTree(ctx, to, from, c.tree)
	}
	made := ""
	if err == nil {
		message := snapshotTitle + "\n\nrun " + c.run + belowLine(c.prefix) + c.left.String()
		made, err = to.putCommit(c.tree, nil, time.Unix(0, 0), message)
	}
	if err == nil {
		err = to.setRef(runRefs(c.run)+"base-"+made, made)
	}
	if err != nil {
		return "", fmt.Errorf("import snapshot %s: %w", id, err)
	}
	return made, nil
}

func importTree(ctx context.Context, to, from *Store, tree string) (err error) {
	pack, err := os.CreateTemp(to.path("tmp"), "pack-*")
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
	_, err = to.call(ctx, git.Call{Args: []string{"unpack-objects", "-q"}, Stdin: pack.Name()})
	return err
}
