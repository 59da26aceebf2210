package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
)

// variants is a file as a commit and a snapshot have it: modes and hashes.
type variants struct{ name, committed, taken string }

const modeSubmodule = "160000"

// addUncommitted adds to a state the files that its commit does not have as the snapshot has them, whatever the
// repository's index says about them: an agent can write there that they did not change.
func (c *commits) addUncommitted(ctx context.Context, state *ralph.TreeState, tree string) {
	names, err := c.notCommitted(ctx, state.Head, tree)
	var found []string
	if err == nil {
		found, err = c.keeper.repo.Identify(names)
	}
	if err != nil { // an agent can break its repository
		found = append(found, "unknown the commit "+state.Head+", which cannot be compared: "+err.Error())
	}
	for _, file := range found {
		if !slices.Contains(state.Uncommitted, file) && state.Dirty <= ralph.MaxUncommitted {
			state.Uncommitted = append(state.Uncommitted, file)
			state.Dirty++
		}
	}
	if state.Dirty = max(state.Dirty, len(found)); state.Dirty > ralph.MaxUncommitted {
		state.Uncommitted = nil
	}
}

// notCommitted lists the files that a commit does not have as a snapshot's tree has them. Git converts some files when
// it commits them, so it is asked about those that differ, with an index that knows nothing about the files.
func (c *commits) notCommitted(ctx context.Context, commit, tree string) (names []string, err error) {
	k := c.keeper
	question := commit + tree + k.gitStamp()
	if c.asked == question { // a claim is looked at several times
		return c.answer, nil
	}
	defer func() {
		if err == nil {
			c.asked, c.answer = question, names
		}
	}()
	if body, ok := k.Store.loose("commit", commit); ok && strings.HasPrefix(body, "tree "+tree+"\n") {
		return nil, nil
	}
	edits, err := k.edits(ctx, commit, tree, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(k.home.Common, "objects"))
	if err != nil {
		return nil, err
	}
	var lost []string
	asked := map[string]variants{}
	isOwn, submodule, isOld := k.repo.OwnFiles(), "", false
	manifest.SortEdits(edits)
	for _, e := range edits {
		if e.Before.Mode == modeSubmodule {
			submodule, isOld = e.Name+"/", c.wasSubmodule(ctx, e.Name)
		}
		file := variants{e.Name, e.Before.Mode + e.Before.ID, e.After.Mode + e.After.ID}
		switch {
		case !strings.HasPrefix(e.Name, k.repo.Prefix) || isOwn(e.Name) || c.same[file]:
		case submodule == "" || !strings.HasPrefix(e.Name, submodule):
			asked[e.Name] = file
		case !isOld: // git would call them unchanged
			lost = append(lost, e.Name)
		}
	}
	if len(asked) == 0 {
		return lost, nil
	}
	differing, err := c.differing(ctx, commit, asked)
	for name, file := range asked {
		isFile := !strings.HasPrefix(file.committed, manifest.ModeNone) && !strings.HasPrefix(file.taken, manifest.ModeNone)
		if isFile && err == nil && !slices.Contains(differing, name) {
			c.same[file] = true
		}
	}
	return append(lost, differing...), err
}

// wasSubmodule reports whether a folder is a submodule, and was one when this process started. Of a submodule a commit
// has only a link, also of one that an agent makes of a folder.
func (c *commits) wasSubmodule(ctx context.Context, name string) bool {
	_, err := os.Lstat(filepath.Join(c.keeper.repo.Top, filepath.FromSlash(name), ".git"))
	if err != nil || c.head == "" {
		return false
	}
	out, err := c.keeper.repo.Ask(ctx, "ls-tree", "--full-tree", c.head, "--", name)
	return err == nil && strings.HasPrefix(out, modeSubmodule)
}

// differing returns which files differ from a commit for git.
func (c *commits) differing(ctx context.Context, commit string, asked map[string]variants) (names []string, err error) {
	const most = 500 // names on a command line
	var specs []string
	for name := range asked {
		specs = append(specs, ":(top,literal)"+name)
	}
	if len(specs) > most {
		specs = []string{c.keeper.home.pathspec()}
	}
	err = c.withIndexOf(ctx, commit, func(index []string) (err error) {
		names, err = c.status(ctx, index, specs...)
		return err
	})
	return names, err
}

// status lists the files that git calls changed or new, below the top of the working tree. An empty index is the
// repository's own.
func (c *commits) status(ctx context.Context, index []string, specs ...string) (names []string, err error) {
	args := []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--"}
	out, err := c.keeper.repo.Call(ctx, git.Call{Env: index, Args: append(args, specs...)})
	if err != nil {
		return nil, err
	}
	st, err := git.ParseStatus(out)
	if err != nil {
		return nil, err
	}
	same, err := c.keeper.repo.PointedTo(ctx, st.Entries)
	for _, e := range st.Entries {
		if !slices.Contains(same, e.Name) {
			names = append(names, strings.TrimSuffix(e.Name, "/"))
		}
	}
	return slices.DeleteFunc(sortedOnce(names), c.keeper.repo.OwnFiles()), err
}

// withIndexOf calls use with the variable that names an index of a commit, which knows nothing about files on the disk.
func (c *commits) withIndexOf(ctx context.Context, commit string, use func(index []string) error) error {
	folder, err := os.MkdirTemp(c.keeper.path("tmp"), "index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(folder, "index")}
	args := []string{"-c", "core.splitIndex=false", "-c", "core.sparseCheckout=false", "read-tree", commit}
	if _, err := c.keeper.repo.Call(ctx, git.Call{Env: index, Args: args}); err != nil {
		return err
	}
	return use(index)
}
