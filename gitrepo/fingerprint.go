package gitrepo

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// Fingerprint returns the state of the workspace with one git call. It makes a second call when
// unfinished lines are needed: at the base, where they are counted from HEAD, and for a claim,
// where they are counted from in.BaseHead. A claim without a BaseHead means that the repository had
// no commit when the run began; then every line is new. If the agent rewrote history and BaseHead
// is gone, lines are counted from HEAD.
func (r *Repo) Fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	state, _, err := r.fingerprint(ctx, in)
	return state, err
}

// Seen lists files below the top of the working tree, as git sees them.
type Seen struct {
	Changed []string // and new ones; of a submodule or a nested repository only the name
	Ignored []string // of a folder that is ignored as a whole only the name, with a slash at its end
}

// FingerprintAndSeen also lists the changed files, and those that git ignores.
func (r *Repo) FingerprintAndSeen(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, Seen, error) {
	return r.fingerprint(ctx, in, "--ignored=matching")
}

func (r *Repo) fingerprint(
	ctx context.Context, in ralph.TreeInput, options ...string,
) (state ralph.TreeState, _ Seen, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.status(ctx, options...)
	if err != nil {
		return ralph.TreeState{}, Seen{}, err
	}
	seen := Seen{Ignored: st.ignored, Changed: text.Mapped(st.paths, func(p path) string { return p.name })}
	top, err := os.OpenRoot(r.Top)
	if err != nil {
		return ralph.TreeState{}, Seen{}, fmt.Errorf("open working tree: %w", err)
	}
	defer top.Close()

	state = ralph.TreeState{Known: true, Head: st.head, Dirty: len(st.paths)}
	state.Hash = r.digests.Sum(top, expand(r.Top, st.paths))
	if in.Claimed || in.BaseHead == "" {
		state.Unfinished, err = r.unfinished(ctx, top, bases(EmptyTree[r.Format], in, st), st)
		if 0 < len(seen.Changed) && len(seen.Changed) <= ralph.MaxUncommitted {
			state.Uncommitted = identify(&r.digests, top, r.Prefix, seen.Changed)
		}
	}
	return state, seen, err
}

// Stamp implements [ralph.Stamper] for the files that git does not ignore, and their folders.
func (r *Repo) Stamp(ctx context.Context, leaveOut func(name string) bool) (ralph.Stamp, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.status(ctx, "--ignored=matching")
	if err != nil {
		return ralph.Stamp{}, err
	}
	ignored := make(map[string]bool, len(st.ignored))
	for _, name := range st.ignored {
		ignored[strings.TrimSuffix(name, "/")] = true
	}
	isOwn := r.OwnFiles()
	return scan.StampAll(r.Dir, func(name string) bool {
		below := strings.TrimSuffix(name, "/")
		full := r.Prefix + below
		return filepath.Base(below) == ".git" || ignored[full] || isOwn(full) || leaveOut(name)
	}), nil
}

// Identify lists files below the top of the working tree as [ralph.TreeState] lists uncommitted ones.
func (r *Repo) Identify(names []string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	top, err := os.OpenRoot(r.Top)
	if err != nil {
		return nil, fmt.Errorf("open working tree: %w", err)
	}
	defer top.Close()
	return identify(&r.digests, top, r.Prefix, names), nil
}

// identify lists files with a hash of what they are.
func identify(digests *scan.Digests, top *os.Root, prefix string, names []string) []string {
	list := digests.Each(top, names)
	for i, name := range names {
		list[i] = list[i][:16] + " " + strings.TrimPrefix(name, prefix)
	}
	return list
}

// bases returns the trees to compare with, best first.
func bases(empty string, in ralph.TreeInput, st status) []string {
	switch {
	case in.BaseHead != "" && st.head != "":
		return []string{in.BaseHead, st.head}
	case in.BaseHead != "":
		return []string{in.BaseHead, empty}
	case in.Claimed || st.head == "":
		return []string{empty}
	}
	return []string{st.head}
}

// expand adds the files of entries that git lists only as a folder.
func expand(top string, paths []path) []string {
	names := make([]string, 0, len(paths))
	for _, p := range paths {
		names = append(names, p.name)
		if p.folder {
			names = append(names, scan.Walk(top, p.name)...)
		}
	}
	return names
}

// status is how the workspace differs from the checked-out commit.
type status struct {
	head  string // "" before the first commit
	paths []path // sorted, without duplicates

	ignored []string
	entries []git.StatusEntry
	same    []string // files that differ only because Git LFS does not run
}

// without returns pathspecs that leave files out of a diff that are the same.
func (st status) without() []string {
	return text.Mapped(st.same, func(name string) string { return ":(top,exclude,literal)" + name })
}

// path is one entry below the top of the working tree, with slashes.
type path struct {
	name      string
	untracked bool
	folder    bool // a submodule or a nested repository, which git does not list further
}

// status returns how the workspace differs from the checked-out commit, without the harness's own
// files.
func (r *Repo) status(ctx context.Context, options ...string) (status, error) {
	st, err := r.allChanges(ctx, options...)
	isOwn := r.OwnFiles()
	st.paths = slices.DeleteFunc(st.paths, func(p path) bool { return isOwn(p.name) })
	return st, err
}

func (r *Repo) allChanges(ctx context.Context, options ...string) (status, error) {
	args := []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames"}
	out, err := r.run(ctx, slices.Concat(args, options, []string{"--", "."})...)
	if err != nil {
		return status{}, fmt.Errorf("read status: %w", err)
	}
	st, err := parseStatus(out)
	if err != nil {
		return status{}, fmt.Errorf("read status: %w", err)
	}
	if st.same, err = pointedTo(ctx, r, st.entries); err != nil {
		return status{}, fmt.Errorf("read status: %w", err)
	}
	st.paths = slices.DeleteFunc(st.paths, func(p path) bool { return slices.Contains(st.same, p.name) })
	return st, nil
}

// OwnFiles returns a function that reports whether a file below the top of the working tree belongs
// to the harness: the progress file, and files that receive what the harness prints.
func (r *Repo) OwnFiles() func(name string) bool {
	isOutput := scan.SameAs(r.Top, r.OwnOutput)
	return func(name string) bool { return name == r.Prefix+scan.ProgressFile || isOutput(name) }
}

// parseStatus reads `git status --porcelain=v2 --branch -z --no-renames`.
func parseStatus(out string) (status, error) {
	parsed, err := git.ParseStatus(out)
	if err != nil {
		return status{}, err
	}
	st := status{head: parsed.Head, ignored: parsed.Ignored, entries: parsed.Entries}
	byName := map[string]int{}
	for _, e := range parsed.Entries {
		name, nested := strings.CutSuffix(e.Name, "/")
		// A file that was removed from the index but still exists is listed twice.
		if i, twice := byName[name]; twice {
			st.paths[i].untracked = st.paths[i].untracked && e.Untracked
			continue
		}
		byName[name] = len(st.paths)
		st.paths = append(st.paths, path{name: name, untracked: e.Untracked, folder: e.Submodule || nested})
	}
	slices.SortFunc(st.paths, func(a, b path) int { return strings.Compare(a.name, b.name) })
	return st, nil
}

// Changed summarizes the difference from the commit that the run began at, in one line: "3 files
// changed, 10 insertions(+), 2 deletions(-), 1 new file". Changed files include new files,
// committed or not, and changes from before the run that were not committed. Without a baseHead, in
// a repository that had no commit, every file is new. Lines of untracked files are counted in files
// up to 1 MiB, up to 256 MiB in total. A baseHead that is gone is an error.
func (r *Repo) Changed(ctx context.Context, baseHead string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.status(ctx)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	top, err := os.OpenRoot(r.Top)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	defer top.Close()
	without := tooLong(top, st.paths)
	args := diffArguments(cmp.Or(baseHead, EmptyTree[r.Format]), "--raw", "--numstat", "-z")
	out, err := r.run(ctx, slices.Concat(args, without, st.without())...)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	sum := manifest.ParseSummary(out, r.OwnFiles())
	sum.Files += len(without)
	budget := scan.ContentBudget
	for _, p := range st.paths {
		if !p.untracked {
			continue
		}
		sum.Files++
		sum.Created++
		if budget > 0 {
			budget -= readLines(top, p.name, func([]byte) { sum.Insertions++ })
		}
	}
	return sum.String(), nil
}
