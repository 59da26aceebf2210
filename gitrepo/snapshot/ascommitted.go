package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
)

// AsCommitted implements [ralph.CommitTaker]. Ignored files stay: no commit has them. Git decides which files differ,
// because it converts some of them.
func (c *commits) AsCommitted(ctx context.Context, id, commit string) (string, error) {
	k := c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	of, err := k.Store.read(ctx, id)
	var names []string
	if err == nil {
		names, err = c.notCommitted(ctx, commit, of.tree)
	}
	if err == nil && len(names) == 0 {
		return id, nil
	}
	var edits []manifest.Edit
	if err == nil {
		edits, err = c.editsToCommit(ctx, of, commit, names)
	}
	made := ""
	if err == nil {
		made, err = withEdits(ctx, k.Store, of, edits)
	}
	if err != nil {
		return "", fmt.Errorf("take files of commit %s: %w", commit, err)
	}
	return made, nil
}

// editsToCommit returns what makes some files of a snapshot those of a commit, and copies their content.
func (c *commits) editsToCommit(
	ctx context.Context, of header, commit string, names []string,
) (edits []manifest.Edit, err error) {
	s := c.keeper.Store
	objects := "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(c.keeper.home.Common, "objects")
	all, err := s.edits(ctx, of.tree, commit, objects)
	if err != nil {
		return nil, err
	}
	differ := manifest.NameSet(names)
	var wanted strings.Builder
	for _, e := range all {
		name, below := strings.CutPrefix(e.Name, of.prefix)
		if !below || !differ[e.Name] || e.After.Mode == modeSubmodule {
			continue
		}
		edits = append(edits, manifest.Edit{Name: name, Before: e.Before, After: e.After})
		if e.After.Mode != manifest.ModeNone {
			wanted.WriteString(e.After.ID + "\n")
		}
	}
	if wanted.Len() == 0 {
		return edits, nil
	}
	return edits, importObjects(ctx, s, wanted.String(), objects)
}

// importObjects copies objects that another folder of objects has.
func importObjects(ctx context.Context, s *Store, ids, from string) (err error) {
	pack, err := os.CreateTemp(s.path("tmp"), "pack-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(pack.Name())) }()
	_, err = s.feed(ctx, s.call, ids, git.Call{
		Args: []string{"pack-objects", "--stdout", "--quiet"}, Env: []string{from}, Out: pack,
	})
	if err = errors.Join(err, pack.Close()); err != nil {
		return err
	}
	_, err = s.call(ctx, git.Call{Args: []string{"unpack-objects", "-q"}, Stdin: pack.Name()})
	return err
}

// withEdits saves a snapshot with other versions of some files.
func withEdits(ctx context.Context, s *Store, of header, edits []manifest.Edit) (string, error) {
	if len(edits) == 0 {
		return of.id, nil
	}
	tree, err := s.edited(ctx, of, edits)
	if err != nil {
		return "", err
	}
	return s.derive(of, tree, "base")
}
