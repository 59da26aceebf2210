package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// checkout is a working tree with its git folder.
type checkout struct {
	top, gitDir string
	git         git.Program
	index       string // that a call uses in place of the repository's own; may be ""
}

func (r *Repo) checkout() checkout { return checkout{top: r.Top, gitDir: r.GitDir, git: r.Git} }

// location pins the repository, for calls that run no hook.
func (at checkout) location() []string {
	return []string{"GIT_DIR=" + at.gitDir, "GIT_WORK_TREE=" + at.top}
}

// shared returns the git folder that all worktrees of the repository share.
func (at checkout) shared() (folder string, known bool) {
	link, known := scan.ReadSmall(filepath.Join(at.gitDir, "commondir"))
	folder = strings.TrimSpace(string(link))
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(at.gitDir, folder)
	}
	return folder, known
}

// configuration is the content of the files that git reads its settings from.
type configuration struct {
	files      [][]byte   // nil if missing; the first two are of the repository and of the working tree
	unknown    bool       // there may be others, or one of them could not be read
	submodules []checkout // git asks them for their status, by their own settings
}

// same reports whether certainly nothing changed.
func (c configuration) same(as configuration) bool {
	return !c.unknown && !as.unknown && slices.EqualFunc(c.files, as.files, bytes.Equal)
}

func (at checkout) configuration(ctx context.Context, known *configured) (c configuration, err error) {
	c = at.ownConfiguration()
	for _, path := range userConfigurations(at.git.Env) {
		c.add(path)
	}
	// A condition can hold at one time and not at another.
	including := func(file []byte) bool { return bytes.Contains(bytes.ToLower(file), []byte("include")) }
	if known.links == nil {
		known.links = map[string]links{}
	}
	if c.submodules, err = at.submodules(ctx, known.links, 0); err != nil {
		return c, fmt.Errorf("look for submodules: %w", err)
	}
	for _, sub := range c.submodules {
		own := sub.ownConfiguration()
		c.files, c.unknown = append(c.files, own.files...), c.unknown || own.unknown
	}
	c.unknown = c.unknown || slices.ContainsFunc(c.files, including)
	return c, nil
}

func (at checkout) ownConfiguration() configuration {
	common, known := at.shared()
	c := configuration{unknown: !known}
	c.add(filepath.Join(common, "config"))
	c.add(filepath.Join(at.gitDir, "config.worktree"))
	return c
}

func (c *configuration) add(path string) {
	if path == os.DevNull { // it is no regular file
		return
	}
	content, known := scan.ReadSmall(path)
	c.files, c.unknown = append(c.files, content), c.unknown || !known
}

// userConfigurations returns the configuration files of the user and of the system.
func userConfigurations(env []string) []string {
	set := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		set[name] = value
	}
	paths := []string{cmp.Or(set["GIT_CONFIG_SYSTEM"], "/etc/gitconfig")}
	if global := set["GIT_CONFIG_GLOBAL"]; global != "" {
		return append(paths, global)
	}
	home := cmp.Or(set["HOME"], set["USERPROFILE"])
	return append(paths, filepath.Join(home, ".gitconfig"),
		filepath.Join(cmp.Or(set["XDG_CONFIG_HOME"], filepath.Join(home, ".config")), "git", "config"))
}

// links is what is known about an index, or about the git folder of a submodule.
type links struct {
	index scan.Stamp
	names []string // of submodules

	own configuration
	top string // of the working tree, according to these settings
}

// deepest is how many submodules may be nested in each other. Git has no such limit, but an agent could make
// a chain of them to keep git busy.
const deepest = 16

// submodules returns the submodules that are checked out, with theirs. Git would start itself in
// each of them.
func (at checkout) submodules(ctx context.Context, all map[string]links, depth int) (list []checkout, err error) {
	names, err := at.gitlinks(ctx, all, filepath.Join(at.gitDir, "index"))
	if err == nil && at.index != "" {
		var more []string
		more, err = at.gitlinks(ctx, all, at.index)
		names = slices.Concat(names, more)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		top := filepath.Join(at.top, filepath.FromSlash(name))
		sub := checkout{top: top, gitDir: gitDirOf(top), git: at.git}
		if sub.gitDir == "" {
			continue
		}
		if depth == deepest { // the programs of this one would run
			return nil, fmt.Errorf("more than %d are nested in each other: %s", deepest, scan.Quote(top))
		}
		if sub.top, err = sub.workTree(ctx, all); err != nil {
			return nil, err
		}
		below, err := sub.submodules(ctx, all, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(append(list, sub), below...)
	}
	return list, nil
}

// workTree returns where git looks for the files of a submodule. Its settings can name another folder, with
// other submodules in it.
func (at checkout) workTree(ctx context.Context, all map[string]links) (string, error) {
	key := at.gitDir + "\x00" + at.top
	own := at.ownConfiguration()
	if known, ok := all[key]; ok && own.same(known.own) {
		return known.top, nil
	}
	out, err := at.git.Run(ctx, git.Call{ // as git starts itself there
		Dir: at.top, Env: []string{"GIT_DIR=.git"}, Args: []string{"rev-parse", "--show-toplevel"},
	})
	top := filepath.FromSlash(strings.TrimSuffix(out, "\n"))
	if git.Failed(err) { // then it does not work there either
		top, err = at.top, nil
	}
	if err == nil {
		all[key] = links{own: own, top: top}
	}
	return top, err
}

// gitlinks lists the submodules of an index. Git is asked only if the index changed and can have some: if it
// has the mode of one, is split in two files, or has whole folders as one entry.
func (at checkout) gitlinks(ctx context.Context, all map[string]links, index string) ([]string, error) {
	stamp := scan.StampAt(index)
	if known, ok := all[index]; ok && known.index == stamp && stamp != (scan.Stamp{}) {
		return known.names, nil
	}
	var found linkNames
	content, ok := scan.Read(index, indexLimit)
	may := func(part string) bool { return bytes.Contains(content, []byte(part)) }
	if !ok || may("\x00\x00\xe0\x00") || may("link") || may("sdir") {
		_, err := at.git.Run(ctx, git.Call{
			Dir: at.top, Env: append(at.location(), "GIT_INDEX_FILE="+index), Out: &found,
			Args: []string{"ls-files", "-z", "--stage", "--full-name"},
		})
		if git.Failed(err) { // if git cannot read the index, it cannot look for submodules either
			return found.names, nil
		}
		if err != nil {
			return nil, err
		}
	}
	all[index] = links{index: stamp, names: found.names}
	return found.names, nil
}

// linkNames reads git's list of an index, which may be long, and keeps the names of submodules.
type linkNames struct {
	rest  []byte
	names []string
}

func (l *linkNames) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte{0})
		if !whole {
			return len(p), nil
		}
		if about, name, _ := strings.Cut(string(line), "\t"); strings.HasPrefix(about, "160000 ") {
			l.names = append(l.names, name)
		}
		l.rest = rest
	}
}

// gitDirOf returns the git folder of a working tree, or "" if it has none.
func gitDirOf(top string) string {
	at := filepath.Join(top, ".git")
	if info, err := os.Stat(at); err != nil {
		return ""
	} else if info.IsDir() {
		return at
	}
	text, _ := scan.ReadSmall(at)
	folder, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(top, folder)
	}
	return folder
}

// Config returns the content of the repository's own configuration file, or nil if it cannot be
// read.
func (r *Repo) Config() []byte { return r.checkout().ownConfiguration().files[0] }

// LastConfiguration returns the repository's configuration files as they were when they were last
// read.
func (r *Repo) LastConfiguration() [2][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.configured.seen.files) < 2 {
		return [2][]byte{}
	}
	return [2][]byte(r.configured.seen.files)
}
