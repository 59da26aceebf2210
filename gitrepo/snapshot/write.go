package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
)

// gitWriteTree syncs the new trees one by one, because in a batch git ignores errors when it moves new
// objects to their place.
var gitWriteTree = []string{"-c", "core.fsyncMethod=fsync", "write-tree"}

// writeTree writes an index as a tree; default: that of the snapshots.
func (s *Store) writeTree(ctx context.Context, index ...string) (string, error) {
	tree, err := s.call(ctx, git.Call{Args: gitWriteTree, Env: index})
	return strings.TrimSpace(tree), err
}

type named struct {
	name string
	text []byte
}

// putFolder stores files as the tree of a commit without parents. Its time is fixed, so that equal
// content has one name.
func putFolder(ctx context.Context, s *Store, files []named) (string, error) {
	folder, err := os.MkdirTemp(s.path("tmp"), "put-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	var paths, tree strings.Builder
	for _, file := range files {
		path := filepath.Join(folder, file.name)
		paths.WriteString(path + "\n")
		err = errors.Join(err, os.WriteFile(path, file.text, 0o600))
	}
	if err != nil {
		return "", err
	}
	args := []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}
	ids, err := s.feed(ctx, s.call, paths.String(), git.Call{Args: args})
	if err != nil {
		return "", err
	}
	for i, id := range strings.Fields(ids) {
		fmt.Fprintf(&tree, "100644 blob %s\t%s\n", id, files[i].name)
	}
	id, err := s.feed(ctx, s.call, tree.String(), git.Call{Args: []string{"mktree"}})
	if err != nil {
		return "", err
	}
	return s.putCommit(ctx, strings.TrimSpace(id), nil, time.Unix(0, 0), "state of the repository")
}

func (s *Store) putCommit(
	ctx context.Context, tree string, parents []string, at time.Time, message string,
) (string, error) {
	args := []string{"commit-tree", tree}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	var env []string
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+who+"_NAME=ralph", "GIT_"+who+"_EMAIL=ralph@localhost",
			fmt.Sprintf("GIT_%s_DATE=@%d +0000", who, at.Unix()))
	}
	id, err := s.feed(ctx, s.call, message+"\n", git.Call{Args: args, Env: env})
	return strings.TrimSpace(id), err
}

// putSnapshot stores a snapshot. Its parents keep other commits alive.
func (s *Store) putSnapshot(ctx context.Context, c header, parents []string, at time.Time) (header, error) {
	id, err := s.putCommit(ctx, c.tree, parents, at, c.message())
	c.id = id
	if err == nil {
		s.headers.put(c)
	}
	return c, err
}

// setRefs sets refs to snapshots, so that they count as in use. Each is a name and an ID.
func (s *Store) setRefs(ctx context.Context, refs ...ref) error {
	var orders strings.Builder
	for _, one := range refs {
		fmt.Fprintf(&orders, "option no-deref\nupdate %s %s\n", one.name, one.id)
	}
	if _, err := s.feed(ctx, s.call, orders.String(), git.Call{Args: []string{"update-ref", "--stdin"}}); err != nil {
		return fmt.Errorf("name snapshot: %w", err)
	}
	return nil
}

// noHead makes the next snapshot continue from none.
func noHead(ctx context.Context, s *Store) error {
	_, err := s.run(ctx, "symbolic-ref", "HEAD", "refs/ralph/none")
	return err
}

// lastTaken returns the last snapshot that was taken, or "" if there is none.
func lastTaken(ctx context.Context, s *Store) (string, error) {
	id, err := s.run(ctx, "rev-parse", "--quiet", "--verify", "HEAD")
	if git.Failed(err) {
		return "", nil
	}
	return strings.TrimSpace(id), err
}
