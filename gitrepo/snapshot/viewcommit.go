package snapshot

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
)

// CommitEdits implements [ralph.Checkouts].
func (s *Store) CommitEdits(
	ctx context.Context, of ralph.Checkout, edits []ralph.FileEdit, folder string,
) ([]ralph.FileEdit, error) {
	c, err := readCheckout(of.Folder)
	if err == nil {
		edits, err = cloner{s}.commitEdits(ctx, c, edits, folder)
	}
	if err != nil {
		return nil, fmt.Errorf("commit the files of a view: %w", err)
	}
	return edits, nil
}

// commitEdits makes one commit on top of the start's, with the files of the checkout and these edits, so that git sees
// no difference in a view. Without edits it commits what the checkout has beside the start's commit.
func (s cloner) commitEdits(
	ctx context.Context, c checkout, edits []ralph.FileEdit, folder string,
) ([]ralph.FileEdit, error) {
	if c.NoGit {
		return nil, nil
	}
	if len(edits) == 0 && c.Head != "" {
		tree, err := s.run(ctx, "rev-parse", c.Head+"^{tree}")
		if err == nil && strings.TrimSpace(tree) == c.Tree {
			return nil, nil
		}
	}
	own := filepath.Join(folder, "git")
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(filepath.Join(own, "objects", "info"), 0o700),
		os.MkdirAll(filepath.Join(own, "refs"), 0o700)); err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(c.gitDir(), "config"))
	if err != nil {
		return nil, err
	}
	for _, file := range []named{
		{"HEAD", []byte("ref: refs/heads/none\n")}, {"config", config},
		{"objects/info/alternates", []byte(filepath.Join(c.gitDir(), "objects") + "\n")},
	} {
		if err := os.WriteFile(filepath.Join(own, filepath.FromSlash(file.name)), file.text, 0o600); err != nil {
			return nil, err
		}
	}
	branch := cmp.Or(c.Branch, viewBranch)
	orders := filepath.Join(folder, "orders")
	if err := writeOrders(orders, c, branch, edits); err != nil {
		return nil, err
	}
	env := append(s.environment(), "GIT_DIR="+own, "GIT_INDEX_FILE="+filepath.Join(own, "index"))
	run := func(call git.Call) (string, error) {
		call.Dir, call.Env = folder, env
		return s.git.Run(ctx, call)
	}
	if _, err := run(git.Call{Args: []string{"fast-import", "--quiet", "--done"}, Stdin: orders}); err != nil {
		return nil, err
	}
	if err := copyIndex(filepath.Join(c.gitDir(), "index"), filepath.Join(own, "index")); err != nil {
		return nil, err
	}
	// With -m, files that are the same keep what the index knows about them.
	if _, err := run(git.Call{Args: []string{"read-tree", "-m", branch}}); err != nil {
		return nil, err
	}
	return changedInGit(c, own, branch)
}

func copyIndex(from, to string) error {
	text, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	return err
}

// changedInGit returns the edits that bring what is in a git folder into that of a checkout.
func changedInGit(c checkout, own, branch string) (edits []ralph.FileEdit, err error) {
	add := func(name string) {
		edits = append(edits, ralph.FileEdit{Name: ".git/" + name, Source: filepath.Join(own, filepath.FromSlash(name))})
	}
	add("index")
	if c.Branch != "" {
		add(branch)
	} else { // HEAD is the commit itself
		edits = append(edits, ralph.FileEdit{Name: ".git/HEAD", Source: filepath.Join(own, filepath.FromSlash(branch))})
	}
	err = addObjects(own, add)
	return edits, err
}

func addObjects(own string, add func(name string)) error {
	return filepath.WalkDir(filepath.Join(own, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(own, path)
		if name != filepath.Join("objects", "info", "alternates") {
			add(filepath.ToSlash(name))
		}
		return err
	})
}

// writeOrders writes what git fast-import reads.
func writeOrders(path string, c checkout, branch string, edits []ralph.FileEdit) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriter(file)
	const message = "Update files\n"
	fmt.Fprintf(out, "commit %s\ncommitter %s %d +0000\ndata %d\n%s", branch, c.Ident, c.Made.Unix(), len(message), message)
	if c.Head != "" {
		fmt.Fprintf(out, "from %s\n", c.Head)
	}
	fmt.Fprintf(out, "M 040000 %s \"\"\n", c.Tree)
	for _, e := range edits { // deletions make room for files
		if e.Source == "" {
			fmt.Fprintf(out, "D %s\n", quoteGit(e.Name))
		}
	}
	for _, e := range edits {
		if e.Source != "" {
			if err := writeOrder(out, e); err != nil {
				return err
			}
		}
	}
	fmt.Fprint(out, "done\n")
	return out.Flush()
}

// writeOrder adds one file.
func writeOrder(out *bufio.Writer, e ralph.FileEdit) error {
	info, err := os.Lstat(e.Source)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(e.Source)
		fmt.Fprintf(out, "M 120000 inline %s\ndata %d\n%s\n", quoteGit(e.Name), len(target), target)
		return err
	}
	mode := "100644"
	if info.Mode()&0o111 != 0 {
		mode = "100755"
	}
	fmt.Fprintf(out, "M %s inline %s\ndata %d\n", mode, quoteGit(e.Name), info.Size())
	from, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err = io.CopyN(out, from, info.Size()); err == nil {
		_, err = out.WriteString("\n")
	}
	return err
}
