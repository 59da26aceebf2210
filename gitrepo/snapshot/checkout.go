package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

const (
	checkoutFile = "checkout.json"
	checkoutTree = "tree"
	// viewBranch is the ref of a commit whose checkout has a detached HEAD.
	viewBranch = "refs/heads/view"
)

// checkout is what is known about the files in a folder of checkouts. It is written last.
type checkout struct {
	Snapshot string    `json:"snapshot"`
	Tree     string    `json:"tree"`
	History  string    `json:"history"` // the record of the repository
	Head     string    `json:"head"`    // the commit of the start; "" if there is none
	Branch   string    `json:"branch"`  // the ref that HEAD leads to; "" if it is detached
	Ident    string    `json:"ident"`   // author of the commits of views
	Made     time.Time `json:"made"`
	Tips     []string  `json:"tips"` // whose objects the checkout has
	// NoGit means that the workspace is in no repository, so that the checkout has no .git.
	NoGit bool `json:"no_git,omitempty"`

	dir string
}

func (c checkout) gitDir() string {
	if c.NoGit {
		return filepath.Join(filepath.Dir(c.dir), "git")
	}
	return filepath.Join(c.dir, ".git")
}

// cloner makes checkouts of snapshots.
type cloner struct{ *Store }

// Checkout implements [ralph.Checkouts]. Files are written by git, byte by byte: no filter, hook or setting of the
// repository has a say.
func (s *Store) Checkout(ctx context.Context, in ralph.CheckoutInput) (ralph.Checkout, error) {
	made, err := cloner{s}.checkout(ctx, in)
	if err != nil {
		return made, fmt.Errorf("check out snapshot: %w", err)
	}
	return made, nil
}

func (s cloner) checkout(ctx context.Context, in ralph.CheckoutInput) (ralph.Checkout, error) {
	files, err := s.read(ctx, in.Files)
	if err != nil {
		return ralph.Checkout{}, err
	}
	c, err := readCheckout(in.Folder)
	history := header{id: in.Files, repository: c.History}
	if err != nil || in.History != "" {
		if history, err = s.read(ctx, cmp.Or(in.History, in.Files)); err != nil {
			return ralph.Checkout{}, err
		}
	}
	if c.Tree == files.tree && c.History == history.repository && s.isClean(ctx, c) == nil {
		c.Snapshot = in.Files // snapshots of earlier runs may be removed
		return s.describe(c), c.write()
	}
	wanted := checkout{
		Snapshot: in.Files, Tree: files.tree, History: history.repository, Tips: c.Tips, Made: time.Now().UTC(),
		NoGit: s.home.NoGit, dir: filepath.Join(in.Folder, checkoutTree),
	}
	if err := os.Remove(filepath.Join(in.Folder, checkoutFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ralph.Checkout{}, err
	}
	if err = s.makeCheckout(ctx, &wanted, history); err != nil { // such as one that was cut
		wanted.Tips = nil
		if err = discardFolder(wanted.dir); err == nil {
			err = s.makeCheckout(ctx, &wanted, history)
		}
	}
	if err != nil {
		return ralph.Checkout{}, err
	}
	return s.describe(wanted), wanted.write()
}

func (c checkout) write() error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return atomicfile.Swap(filepath.Join(filepath.Dir(c.dir), checkoutFile), text, 0o600)
}

func (s cloner) describe(c checkout) ralph.Checkout {
	return ralph.Checkout{
		Dir: c.dir, Folder: filepath.Dir(c.dir), Snapshot: c.Snapshot, Top: s.home.Top, Prefix: s.home.Prefix,
	}
}

// AllFiles implements [ralph.Checkouts].
func (s *Store) AllFiles(ctx context.Context, id string) ([]string, error) {
	if s.home.Prefix == "" {
		return s.Files(ctx, id)
	}
	c, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	entries, err := s.files(ctx, c.tree, "")
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names, err
}

func readCheckout(folder string) (checkout, error) {
	c := checkout{dir: filepath.Join(folder, checkoutTree)}
	text, err := os.ReadFile(filepath.Join(folder, checkoutFile))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// discardFolder removes a folder, also one that checks made unwritable.
func discardFolder(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// makeCheckout writes the files of a checkout over what is there, and its .git.
func (s cloner) makeCheckout(ctx context.Context, c *checkout, history header) error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	for _, folder := range []string{"objects/pack", "objects/info", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(c.gitDir(), filepath.FromSlash(folder)), 0o755); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(c.gitDir(), "index.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.writeHistory(ctx, c, history); err != nil {
		return err
	}
	// -u writes the files that differ from the index, and --reset what a killed process or an agent left there.
	if _, err := s.inCheckout(ctx, *c, git.Call{Args: []string{"read-tree", "--reset", "-u", c.Tree}}); err != nil {
		return err
	}
	if _, err := s.inCheckout(ctx, *c, git.Call{Args: []string{"clean", "-ffdxq"}}); err != nil {
		return err
	}
	if err := s.isClean(ctx, *c); err != nil {
		return err
	}
	edits, err := s.commitEdits(ctx, *c, nil, filepath.Join(filepath.Dir(c.dir), "commit"))
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := moveFile(e.Source, filepath.Join(c.dir, filepath.FromSlash(e.Name))); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(filepath.Dir(c.dir), "commit"))
}

func moveFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// inCheckout runs git on the files of a checkout, with the snapshots as its repository and the checkout's own index.
func (s cloner) inCheckout(ctx context.Context, c checkout, call git.Call) (string, error) {
	call.Dir = c.dir
	call.Env = append(s.environment(), "GIT_WORK_TREE="+c.dir, "GIT_INDEX_FILE="+filepath.Join(c.gitDir(), "index"))
	return s.git.Run(ctx, call)
}

// isClean returns an error if a checkout does not have exactly the files of its tree.
func (s cloner) isClean(ctx context.Context, c checkout) error {
	_, err := s.inCheckout(ctx, c, git.Call{Args: []string{"update-index", "-q", "--refresh"}})
	var differ, added string
	if err == nil {
		differ, err = s.inCheckout(ctx, c, git.Call{Args: []string{"diff-files", "--name-only", "-z"}})
	}
	if err == nil {
		added, err = s.inCheckout(ctx, c, git.Call{Args: []string{"ls-files", "--others", "-z"}})
	}
	if names := git.SplitNames(differ + added); err == nil && len(names) > 0 {
		err = fmt.Errorf("%d files are not as in the snapshot, such as %s", len(names), names[0])
	}
	return err
}

// clonedRefs are the refs that a clone has. Others are not for it: notes, replacements, stashes.
var clonedRefs = []string{"refs/heads/", "refs/tags/", "refs/remotes/"}

// writeHistory writes the .git of a checkout: the objects that the refs of the start lead to, these refs, and a
// configuration with the remotes.
func (s cloner) writeHistory(ctx context.Context, c *checkout, from header) error {
	var was repository
	var err error
	if from.repository != "" {
		if was, err = s.recorded(ctx, from); err != nil {
			return err
		}
	}
	refs := slices.DeleteFunc(was.refs, func(r ref) bool {
		return !slices.ContainsFunc(clonedRefs, func(prefix string) bool { return strings.HasPrefix(r.name, prefix) })
	})
	c.Head, c.Ident = was.headID(), s.ident(ctx)
	c.Branch, _ = strings.CutPrefix(was.head, "ref: ")
	if c.Branch == was.head {
		c.Branch = ""
	}
	config, err := s.clonedConfig(ctx, was.config)
	if err != nil {
		return err
	}
	for _, file := range []named{
		{"config", config}, {"info/attributes", []byte(exactBytes)}, {"info/exclude", was.exclude},
		{"HEAD", []byte(cmp.Or(was.head, "ref: refs/heads/main") + "\n")}, {"shallow", was.shallow},
	} {
		path := filepath.Join(c.gitDir(), filepath.FromSlash(file.name))
		if len(file.text) == 0 {
			err = os.RemoveAll(path)
		} else {
			err = atomicfile.Swap(path, file.text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if err := s.packHistory(ctx, c, refs); err != nil {
		return err
	}
	return s.writeRefs(ctx, *c, refs)
}

// headID returns the commit of HEAD, or "" if there is none.
func (r repository) headID() string {
	name, symbolic := strings.CutPrefix(r.head, "ref: ")
	if !symbolic {
		return r.head
	}
	if i := slices.IndexFunc(r.refs, func(one ref) bool { return one.name == name }); i >= 0 {
		return r.refs[i].id
	}
	return ""
}

// ident returns the name and address of the user's commits.
func (s cloner) ident(ctx context.Context) string {
	said, err := s.git.Run(ctx, git.Call{Dir: s.dir, Args: []string{"var", "GIT_COMMITTER_IDENT"}})
	if end := strings.LastIndexByte(said, '>'); err == nil && end > 0 {
		return said[:end+1]
	}
	return "Developer <developer@localhost>"
}

// clonedConfig returns the configuration of a clone: what git must know, and the remotes.
func (s cloner) clonedConfig(ctx context.Context, from []byte) ([]byte, error) {
	version, extensions := 0, ""
	if s.home.Format != "sha1" {
		version, extensions = 1, "[extensions]\n\tobjectFormat = "+s.home.Format+"\n"
	}
	text := fmt.Sprintf("[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = false\n"+
		"\tlogallrefupdates = true\n%s", version, extensions)
	if len(from) == 0 {
		return []byte(text), nil
	}
	file, err := os.CreateTemp(s.path("tmp"), "config-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(from)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	out, err := s.call(ctx, git.Call{Args: []string{
		"config", "-f", file.Name(), "-z", "--get-regexp", `^(remote|branch)\..*\.(url|fetch|remote|merge)$`,
	}})
	if err != nil {
		return []byte(text), nil //nolint:nilerr // it has no remotes, or git cannot read it
	}
	for _, setting := range git.SplitNames(out) {
		key, value, _ := strings.Cut(setting, "\n")
		section, rest, _ := strings.Cut(key, ".")
		end := strings.LastIndexByte(rest, '.')
		text += fmt.Sprintf("[%s %s]\n\t%s = %s\n", section, quoteGit(rest[:end]), rest[end+1:], quoteGit(value))
	}
	return []byte(text), nil
}

// quoteGit quotes a text as git's configuration and git fast-import have it.
func quoteGit(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// packHistory copies the objects that the refs and the files of a checkout need, and that it does not have yet. A
// partial clone stays partial.
func (s cloner) packHistory(ctx context.Context, c *checkout, refs []ref) error {
	tips := []string{c.Tree}
	if c.Head != "" {
		tips = append(tips, c.Head)
	}
	for _, r := range refs {
		tips = append(tips, r.id)
	}
	tips = sortedOnce(tips)
	missing := slices.DeleteFunc(slices.Clone(tips), func(id string) bool { return slices.Contains(c.Tips, id) })
	if len(missing) == 0 {
		return nil
	}
	var revisions strings.Builder
	for _, id := range missing {
		revisions.WriteString(id + "\n")
	}
	for _, id := range c.Tips {
		revisions.WriteString("^" + id + "\n")
	}
	env := []string{"GIT_SHALLOW_FILE=" + filepath.Join(c.gitDir(), "shallow")}
	_, err := s.feed(ctx, s.call, revisions.String(), git.Call{Env: env, Args: []string{
		"pack-objects", "--revs", "--quiet", "--delta-base-offset", "--window=0", "--missing=allow-any",
		filepath.Join(c.gitDir(), "objects", "pack", "pack"),
	}})
	c.Tips = tips
	return err
}

// writeRefs makes the refs of a checkout those of the start. Those whose objects are missing, as in a partial clone,
// are left out.
func (s cloner) writeRefs(ctx context.Context, c checkout, refs []ref) error {
	if err := os.RemoveAll(filepath.Join(c.gitDir(), "refs")); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(c.gitDir(), "packed-refs")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.gitDir(), "refs", "heads"), 0o755); err != nil {
		return err
	}
	var orders strings.Builder
	for _, r := range refs {
		if r.target == "" {
			orders.WriteString("create " + r.name + "\x00" + r.id + "\x00")
		}
	}
	inClone := append(s.environment(), "GIT_DIR="+c.gitDir())
	run := func(ctx context.Context, call git.Call) (string, error) {
		call.Dir, call.Env = c.dir, inClone
		return s.git.Run(ctx, call)
	}
	if orders.Len() > 0 {
		set := git.Call{Args: []string{"-c", "core.logAllRefUpdates=false", "update-ref", "--stdin", "-z"}}
		if _, err := s.feed(ctx, run, orders.String(), set); err != nil {
			return err
		}
		if _, err := run(ctx, git.Call{Args: []string{"pack-refs", "--all"}}); err != nil {
			return err
		}
	}
	for _, r := range refs {
		if r.target != "" {
			set := []string{"-c", "core.logAllRefUpdates=false", "symbolic-ref", r.name, r.target}
			if _, err := run(ctx, git.Call{Args: set}); err != nil {
				return err
			}
		}
	}
	return nil
}
