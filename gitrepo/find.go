package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
)

// Repo is a workspace inside the working tree of a git repository. It implements
// [ralph.Tree] and may be used by several goroutines.
type Repo struct {
	// Dir is the workspace; only what lies below it is looked at.
	Dir string
	// Top is the top of the working tree: Dir itself or a folder above it.
	Top string

	git    Git
	gitDir string // of this working tree
	prefix string // of Dir below Top, with a slash at the end; "" if they are one
	empty  string // the empty tree's name in this repository's hash

	mu      sync.Mutex
	digests digests
	filters filters
}

var _ ralph.Tree = (*Repo)(nil)

// emptyTree names the tree without files, which git knows without having it.
var emptyTree = map[string]string{
	"sha1":   "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	"sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}

// Find looks for the repository that the folder belongs to. It reports false, without
// an error, if there is none, or if the folder is ignored by the repository around it.
// An error wraps ErrNoGit, ErrOwner or ErrNoWorkTree where one of these is the reason,
// and says what to do about it.
func (g Git) Find(ctx context.Context, dir string) (*Repo, bool, error) {
	dir, err := canonical(dir)
	if err != nil {
		return nil, false, fmt.Errorf("find repository: %w", err)
	}
	if g, err = g.located(dir); err != nil {
		return nil, false, fmt.Errorf("find repository: %w", err)
	}
	var out bytes.Buffer
	err = g.run(ctx, call{dir: dir, out: &out, args: []string{
		"rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir", "--show-toplevel",
	}})
	if failed, ok := errors.AsType[*failure](err); ok {
		return nil, false, refused(failed, dir, out.String())
	}
	if err != nil {
		return nil, false, err
	}
	answer := strings.SplitN(strings.TrimSuffix(out.String(), "\n"), "\n", 4)
	if len(answer) != 4 {
		return nil, false, fmt.Errorf("find repository of %s: git answered %q", dir, out.String())
	}
	repo := &Repo{Dir: dir, git: g, empty: emptyTree[answer[2]]}
	repo.gitDir, repo.Top = splitPaths(answer[3], dir)
	if err := repo.enter(); err != nil {
		return nil, false, err
	}
	if ignored, err := repo.ignored(ctx); ignored || err != nil {
		return nil, false, err
	}
	if err := repo.rememberFilters(ctx); err != nil {
		return nil, false, err
	}
	return repo, true, nil
}

// canonical is the path as git gives it: absolute and without links.
func canonical(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// splitPaths takes git's last two lines apart. If there are more, a name has a line
// break in it: the second path is then the one that dir lies in.
func splitPaths(lines, dir string) (gitDir, top string) {
	gitDir, top, _ = strings.Cut(lines, "\n")
	for above := dir; strings.Contains(top, "\n"); above = filepath.Dir(above) {
		if before, ok := strings.CutSuffix(lines, "\n"+filepath.ToSlash(above)); ok {
			return before, above
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	return gitDir, filepath.FromSlash(top)
}

// refused explains why git did not answer; nil means that there is no repository.
func refused(failed *failure, dir, out string) error {
	switch {
	case strings.Contains(failed.stderr, "not a git repository (or any"):
		return nil
	case strings.Contains(failed.stderr, "dubious ownership"):
		return fmt.Errorf("use repository of %s: %w; if you trust it: git config --global --add safe.directory %s", dir, ErrOwner, owned(failed.stderr, dir))
	case strings.HasPrefix(out, "true\n"):
		return fmt.Errorf("use repository %s: %w: it is bare; clone it and work in the clone", dir, ErrNoWorkTree)
	case strings.HasPrefix(out, "false\nfalse\n"):
		return fmt.Errorf("use repository of %s: %w: this is inside of its git folder; work in the folder that holds the files", dir, ErrNoWorkTree)
	}
	return fmt.Errorf("find repository of %s: %w", dir, failed)
}

// owned is the folder that git complains about, which may lie above dir.
func owned(stderr, dir string) string {
	_, after, _ := strings.Cut(stderr, "repository at '")
	if path, _, ok := strings.Cut(after, "'"); ok {
		return path
	}
	return dir
}

func (r *Repo) enter() error {
	relative, err := filepath.Rel(r.Top, r.Dir)
	if err != nil || !filepath.IsLocal(relative) {
		return fmt.Errorf("use repository %s: %w: %s is not below it", r.Top, ErrNoWorkTree, r.Dir)
	}
	if relative != "." {
		r.prefix = filepath.ToSlash(relative) + "/"
	}
	return nil
}

// Whole is the same repository with its top as the workspace.
func (r *Repo) Whole() *Repo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Repo{Dir: r.Top, Top: r.Top, git: r.git, gitDir: r.gitDir, empty: r.empty, filters: r.filters}
}

func (r *Repo) run(ctx context.Context, c call) error {
	c.dir = r.Dir
	c.env = r.environment()
	return r.git.run(ctx, c)
}

// environment pins the repository, for calls that run no hook.
func (r *Repo) environment() []string {
	return append(r.filters.off(r.git.Env), "GIT_DIR="+r.gitDir, "GIT_WORK_TREE="+r.Top)
}

// ignored reports whether the workspace is a folder that the repository around it does
// not look at; git would then never see a change in it.
func (r *Repo) ignored(ctx context.Context) (bool, error) {
	if r.prefix == "" {
		return false, nil
	}
	err := r.run(ctx, call{args: []string{"check-ignore", "-q", "--", "."}})
	if failed, ok := errors.AsType[*failure](err); ok && failed.code == 1 {
		return false, nil
	}
	return err == nil, err
}
