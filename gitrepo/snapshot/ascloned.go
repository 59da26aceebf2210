package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// AsCloned implements [ralph.CloneTaker]. Git itself adds the workspace's files, to a copy of the user's index and
// with the user's settings, and writes new objects into a folder of their own. So whatever an agent does to git's
// index, attributes, settings and names has the effect that it would have on the user's next commit. Nothing is
// written to the user's repository. Programs run only if the user agreed to them.
//
// Files that did not change since base stay as they are, unless the commit at which this process started has them
// and the new one would not: a file under Git LFS or another conversion is the same for git.
func (k *Keeper) AsCloned(
	ctx context.Context, base ralph.TreeState, now string,
) (id string, left []string, err error) {
	if k.home.NoGit {
		return now, nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := &cloning{keeper: k, folder: k.path("tmp/clone"), why: map[string][]string{}}
	defer os.RemoveAll(c.folder)
	if c.base, err = k.read(ctx, base.Snapshot); err == nil {
		c.now, err = k.read(ctx, now)
	}
	if err == nil && base.Head != "" {
		if _, err = k.repo.Ask(ctx, "cat-file", "-e", base.Head+"^{commit}"); git.Failed(err) {
			err = fmt.Errorf("another repository is in place of the one with commit %.10s", base.Head)
		}
	}
	var edits []manifest.Edit
	if err == nil {
		edits, err = c.run(ctx)
	}
	if err == nil {
		id, err = withEdits(ctx, k.Store, c.now, edits)
	}
	if err != nil {
		return "", nil, fmt.Errorf("find out what a clone would have: %w", err)
	}
	return id, c.sentences(), nil
}

// cloning finds out what a clone of the next commit would have. Names are relative to the top of the working tree.
type cloning struct {
	keeper    *Keeper
	folder    string // for the index, the objects and files of the commit
	base, now header
	// commitTree is the tree of the commit.
	commitTree string
	why        map[string][]string // files that a clone does not have as they are, by reason
}

// Reasons why a clone has another version of a file, or none.
const (
	whyHidden    = "git's index or settings hide the change"
	whyConverted = "git converts the file by its attributes or settings"
	whyMode      = "git does not record whether the file is executable"
	whyAbsent    = "git ignores or no longer tracks the file, or refuses its name"
	whyNested    = "the file is in a repository of its own, of which a commit has only a link"
)

func (c *cloning) sentences() []string {
	var said []string
	for _, why := range []string{whyHidden, whyConverted, whyMode, whyAbsent, whyNested} {
		if names := sortedOnce(c.why[why]); len(names) > 0 {
			said = append(said, fmt.Sprintf("git would not commit %s as in the workspace: %s", scan.List(names), why))
		}
	}
	return said
}

// run returns what makes the snapshot of now that of a clone, relative to the workspace.
func (c *cloning) run(ctx context.Context) ([]manifest.Edit, error) {
	k := c.keeper
	if err := c.prepare(); err != nil {
		return nil, err
	}
	tree, err := c.commit(ctx)
	if err != nil {
		return nil, err
	}
	c.commitTree = tree
	changed, err := k.editsBetween(ctx, c.base.id, c.now.id)
	if err != nil || tree == c.now.tree && !c.mayConvert(changed) {
		return nil, err
	}
	var all []manifest.Edit
	untracked := map[string]bool{}
	if tree != c.now.tree {
		if all, err = k.edits(ctx, c.now.tree, tree, c.objects()); err == nil {
			untracked, err = c.untracked(ctx, tree)
		}
	}
	if err != nil {
		return nil, err
	}
	return c.decide(ctx, changed, all, untracked)
}

// prepare copies the user's index. Its time must stay: by it git tells which entries may be outdated.
func (c *cloning) prepare() error {
	if err := errors.Join(os.RemoveAll(c.folder), os.MkdirAll(filepath.Join(c.folder, "objects", "info"), 0o700),
		os.MkdirAll(filepath.Join(c.folder, "objects", "pack"), 0o700), os.Mkdir(c.tree(), 0o700)); err != nil {
		return err
	}
	h := c.keeper.home
	from := c.keeper.path(snapshots) + "\n" + filepath.Join(h.Common, "objects") + "\n"
	if err := os.WriteFile(filepath.Join(c.folder, "objects", "info", "alternates"), []byte(from), 0o600); err != nil {
		return err
	}
	const largest = 256 << 20 // some millions of files
	return scan.Copy(filepath.Join(h.GitDir, "index"), c.index(), largest)
}

func (c *cloning) index() string { return filepath.Join(c.folder, "index") }
func (c *cloning) tree() string  { return filepath.Join(c.folder, "tree") }

// objects lets git in the snapshots find the commit's objects.
func (c *cloning) objects() string {
	return "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(c.folder, "objects")
}

// unsplit keeps git from writing a part of the index into the user's git folder, and from reading lists of files
// from it.
var unsplit = []string{
	"-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "core.safecrlf=false", "-c", "core.fsync=none",
}

// git runs git on the user's repository with the copied index.
func (c *cloning) git(ctx context.Context, call git.Call) (string, error) {
	call.Args, call.AsConfigured = slices.Concat(unsplit, call.Args), true
	call.Env = append([]string{
		"GIT_INDEX_FILE=" + c.index(), "GIT_OBJECT_DIRECTORY=" + filepath.Join(c.folder, "objects"),
	}, call.Env...)
	return c.keeper.repo.Call(ctx, call)
}

// commit returns the tree that a commit of the workspace would have. Files that are not in the snapshot because of
// their size are left out.
func (c *cloning) commit(ctx context.Context) (string, error) {
	add := []string{"add", "--all", "--ignore-errors", "--", "."}
	for name := range c.now.left {
		add = append(add, ":(top,exclude,literal)"+name)
	}
	if _, err := c.git(ctx, git.Call{Args: add}); err != nil && git.ExitCode(err) != 1 { // some files cannot be added
		return "", err
	}
	tree, err := c.git(ctx, git.Call{Args: []string{"write-tree"}})
	return strings.TrimSpace(tree), err
}

// untracked lists the files that the commit at which this process started has, and the next one does not.
func (c *cloning) untracked(ctx context.Context, tree string) (map[string]bool, error) {
	gone := map[string]bool{}
	if c.keeper.commits.head == "" {
		return gone, nil
	}
	edits, err := c.keeper.edits(ctx, c.keeper.commits.head, tree, c.objects())
	for _, e := range edits {
		gone[e.Name] = e.After.Mode == manifest.ModeNone && e.Before.Mode != modeSubmodule
	}
	return gone, err
}

// mayConvert reports whether attributes may make a checkout of some files differ from what is committed.
func (c *cloning) mayConvert(changed []manifest.Edit) bool {
	h := c.keeper.home
	info, err := os.Stat(filepath.Join(h.Common, "info", "attributes"))
	may := err == nil && info.Size() > 0
	looked := map[string]bool{}
	for _, e := range changed {
		for folder := path.Dir(c.now.prefix + e.Name); !looked[folder]; folder = path.Dir(folder) {
			looked[folder] = true
			_, err := os.Lstat(filepath.Join(h.Top, filepath.FromSlash(folder), ".gitattributes"))
			may = may || err == nil
		}
	}
	return may
}

// decide compares the commit with the snapshot, file by file. changed are the files that differ from the base, and all
// those that differ from the commit.
func (c *cloning) decide(
	ctx context.Context, changed, all []manifest.Edit, untracked map[string]bool,
) (edits []manifest.Edit, err error) {
	since := map[string]manifest.Edit{}
	for _, e := range changed {
		since[c.now.prefix+e.Name] = e
	}
	isOwn, isNamed := c.keeper.repo.OwnFiles(), manifest.NameSet(c.keeper.always.named)
	stays := func(name string) bool {
		return !strings.HasPrefix(name, c.now.prefix) || isOwn(name) || isNamed[name] || c.now.left[name] != ""
	}
	nested, seen := map[string]bool{}, map[string]bool{}
	for _, e := range all {
		nested[e.Name], seen[e.Name] = e.After.Mode == modeSubmodule, true
	}
	var differ, same []manifest.Edit
	for _, e := range all {
		was, isChanged := since[e.Name]
		switch {
		case stays(e.Name) || nested[e.Name] || !isChanged && !untracked[e.Name]:
		case e.After.Mode != manifest.ModeNone:
			differ = append(differ, e)
		case untracked[e.Name] || was.Before.Mode == manifest.ModeNone:
			edits = append(edits, c.edit(c.reason(nested, e.Name), e.Name, manifest.Entry{Mode: manifest.ModeNone}))
		default: // what no commit ever had is as the user had it
			edits = append(edits, c.edit(c.reason(nested, e.Name), e.Name, was.Before))
		}
	}
	for name, e := range since {
		if !seen[name] && e.After.Mode != manifest.ModeNone && !stays(name) {
			same = append(same, manifest.Edit{Name: name, Before: e.After, After: e.After})
		}
	}
	if !c.mayConvert(changed) {
		same = nil
	}
	more, err := c.converted(ctx, differ, since)
	if err != nil {
		return nil, err
	}
	// Line ends by the user's own settings are no matter of the commit.
	again, err := c.converted(ctx, same, since, "-c", "core.autocrlf=false", "-c", "core.eol=lf")
	return slices.Concat(edits, more, again), err
}

// reason says why a clone lacks a file.
func (c *cloning) reason(nested map[string]bool, name string) string {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		_, err := os.Lstat(filepath.Join(c.keeper.home.Top, filepath.FromSlash(folder), ".git"))
		if nested[folder] || err == nil { // without a commit it cannot even be linked to
			return whyNested
		}
	}
	return whyAbsent
}

// edit notes a file that a clone does not have as it is, and returns what makes it so.
func (c *cloning) edit(why, name string, file manifest.Entry) manifest.Edit {
	name = strings.TrimPrefix(name, c.now.prefix)
	c.why[why] = append(c.why[why], name)
	return manifest.Edit{Name: name, After: file}
}

// converted returns the files that a checkout of the commit would not write as the snapshot has them.
func (c *cloning) converted(
	ctx context.Context, files []manifest.Edit, since map[string]manifest.Edit, settings ...string,
) (edits []manifest.Edit, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	ids, err := c.checkOut(ctx, files, settings)
	if err != nil {
		return nil, err
	}
	for i, file := range files {
		was, is, why := since[file.Name].Before, manifest.Entry{Mode: file.After.Mode, ID: ids[i]}, whyConverted
		switch {
		case is.Mode == file.Before.Mode && is.ID == file.Before.ID:
			continue
		case is.Mode == was.Mode && is.ID == was.ID || file.Before.Mode == manifest.ModeNone:
			why = whyHidden
		case is.ID == file.Before.ID:
			why = whyMode
		}
		edits = append(edits, c.edit(why, file.Name, is))
	}
	return edits, nil
}

// checkOut writes files of the commit as a checkout would, and returns the IDs of their bytes. Attributes are those
// of the commit, because the working tree is empty.
func (c *cloning) checkOut(ctx context.Context, files []manifest.Edit, settings []string) ([]string, error) {
	var names, paths strings.Builder
	for _, file := range files {
		names.WriteString(file.Name + "\x00")
	}
	k := c.keeper
	// Another index, without the flags of the first one.
	env := []string{"GIT_WORK_TREE=" + c.tree(), "GIT_INDEX_FILE=" + c.index() + ".out"}
	_, err := c.git(ctx, git.Call{Env: env, Args: []string{"-c", "core.sparseCheckout=false", "read-tree", c.commitTree}})
	if err == nil {
		_, err = k.feed(ctx, c.git, names.String(), git.Call{
			Dir: c.tree(), Env: env, Args: slices.Concat(settings, []string{"checkout-index", "--force", "-z", "--stdin"}),
		})
	}
	if err != nil {
		return nil, err
	}
	written, err := os.MkdirTemp(c.folder, "written-")
	for i, file := range files { // under names without line breaks
		from, to := filepath.Join(c.tree(), filepath.FromSlash(file.Name)), filepath.Join(written, strconv.Itoa(i))
		if target, isLink := os.Readlink(from); isLink == nil {
			err = cmp.Or(err, os.WriteFile(to, []byte(target), 0o600))
		} else {
			err = cmp.Or(err, os.Rename(from, to))
		}
		paths.WriteString(to + "\n")
	}
	if err != nil {
		return nil, err
	}
	out, err := k.feed(ctx, k.call, paths.String(), git.Call{
		Args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"},
	})
	ids := strings.Fields(out)
	if err == nil && len(ids) != len(files) {
		err = fmt.Errorf("git hashed %d of %d files", len(ids), len(files))
	}
	return ids, err
}
