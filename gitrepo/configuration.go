package gitrepo

import (
	"bytes"
	"cmp"
	"context"
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

func (at checkout) configuration(ctx context.Context, known *configured) configuration {
	c := at.ownConfiguration()
	for _, path := range userConfigurations(at.git.Env) {
		c.add(path)
	}
	// A condition can hold at one time and not at another.
	including := func(file []byte) bool { return bytes.Contains(bytes.ToLower(file), []byte("include")) }
	if known.links == nil {
		known.links = map[string]links{}
	}
	c.submodules = at.submodules(ctx, known.links, 0)
	for _, sub := range c.submodules {
		own := sub.ownConfiguration()
		c.files, c.unknown = append(c.files, own.files...), c.unknown || own.unknown
	}
	c.unknown = c.unknown || slices.ContainsFunc(c.files, including)
	return c
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

// links are the submodules in an index.
type links struct {
	index scan.Stamp
	names []string
}

// submodules returns the submodules that are checked out, with theirs. Git would start itself in
// each of them.
func (at checkout) submodules(ctx context.Context, all map[string]links, depth int) (list []checkout) {
	const deepest = 16
	index := filepath.Join(at.gitDir, "index")
	known := all[at.gitDir]
	if stamp := scan.StampAt(index); stamp != known.index || stamp == (scan.Stamp{}) {
		known = links{stamp, at.gitlinks(ctx, index)}
		all[at.gitDir] = known
	}
	for _, name := range known.names {
		top := filepath.Join(at.top, filepath.FromSlash(name))
		sub := checkout{top: top, gitDir: gitDirOf(top), git: at.git}
		if sub.gitDir == "" {
			continue
		}
		list = append(list, sub)
		if depth < deepest {
			list = append(list, sub.submodules(ctx, all, depth+1)...)
		}
	}
	return list
}

// gitlinks lists the submodules of an index. Git is asked only if the index can have some. If git cannot
// read it, git cannot look for submodules either.
func (at checkout) gitlinks(ctx context.Context, index string) (names []string) {
	content, ok := scan.Read(index, indexLimit)
	if ok && !bytes.Contains(content, []byte{0, 0, 0o160000 >> 8, 0}) && !bytes.Contains(content, []byte("link")) {
		return nil
	}
	out, _ := at.git.Run(ctx, git.Call{
		Dir: at.top, Env: at.location(), Args: []string{"ls-files", "-z", "--stage"},
	})
	for _, line := range git.SplitNames(out) {
		if about, name, _ := strings.Cut(line, "\t"); strings.HasPrefix(about, "160000 ") {
			names = append(names, name)
		}
	}
	return names
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
