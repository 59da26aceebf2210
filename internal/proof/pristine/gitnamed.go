package pristine

import (
	"cmp"
	accounts "os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// gitDepth is how deep git follows files that include each other.
const gitDepth = 10

// gitFiles finds the files that git's configuration names: included files, hooks, attributes and ignore rules. An agent
// can change them as it can change the configuration itself, such as an alias that a check uses.
type gitFiles struct {
	home    string
	tops    []string // folders of working trees, in which git runs hooks
	gitDirs []string
	seen    map[string]bool
	found   globList
}

// namedByGit returns what the configuration of git names, for a user with this environment and these git folders.
func namedByGit(env, gitDirs []string) globList {
	v := variables(env)
	f := gitFiles{home: v["HOME"], gitDirs: gitDirs, seen: map[string]bool{}}
	if runtime.GOOS == "windows" {
		f.home = cmp.Or(v["USERPROFILE"], f.home)
	}
	for _, dir := range gitDirs {
		f.tops = append(f.tops, topOf(dir)...)
	}
	for _, dir := range gitDirs {
		f.follow(filepath.Join(dir, "config"), 0)
		f.follow(filepath.Join(dir, "config.worktree"), 0)
	}
	for _, path := range globalGitConfig(v, f.home) {
		f.follow(path, 0)
	}
	if runtime.GOOS != "windows" {
		system := cmp.Or(v["GIT_CONFIG_SYSTEM"], "/etc/gitconfig")
		f.add(filepath.Dir(system), literalPattern(filepath.Base(system)))
		f.follow(system, 0)
	}
	f.followVariables(v)
	return f.found
}

// globalGitConfig returns the user's configuration files; later ones win.
func globalGitConfig(v map[string]string, home string) []string {
	if named := v[string(gitGlobal)]; named != "" {
		return []string{named}
	}
	config := cmp.Or(v["XDG_CONFIG_HOME"], filepath.Join(home, ".config"))
	return []string{filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig")}
}

// topOf returns the folder of the working tree that a git folder belongs to, if it is known.
func topOf(gitDir string) []string {
	if filepath.Base(gitDir) == ".git" {
		return []string{filepath.Dir(gitDir)}
	}
	link, _, err := readConfig(filepath.Join(gitDir, "gitdir")) // that of a linked worktree
	if path := strings.TrimSpace(string(link)); err == nil && filepath.IsAbs(path) {
		return []string{filepath.Dir(path)}
	}
	return nil
}

// follow adds what a configuration file names. Conditions of includes are not looked at: an agent can make them hold,
// for example with another branch.
func (f *gitFiles) follow(path string, depth int) {
	text, _, err := readConfig(path)
	if f.seen[path] || err != nil || depth > gitDepth {
		return
	}
	f.seen[path] = true
	for _, s := range parseGitConfig(text) {
		f.name(s, []string{filepath.Dir(path)}, depth)
	}
}

// followVariables adds what settings in the environment name.
func (f *gitFiles) followVariables(v map[string]string) {
	count, _ := strconv.Atoi(v["GIT_CONFIG_COUNT"])
	for i := range min(count, maxConfigFiles) {
		n := strconv.Itoa(i)
		section, key, _ := strings.Cut(strings.ToLower(v["GIT_CONFIG_KEY_"+n]), ".")
		key = key[strings.LastIndex(key, ".")+1:]
		f.name(gitSetting{section: section, key: key, value: v["GIT_CONFIG_VALUE_"+n]}, nil, 0)
	}
}

// name adds the files that one setting names. from are the folders that a relative include counts from.
func (f *gitFiles) name(s gitSetting, from []string, depth int) {
	switch s.section + "." + s.key {
	case "include.path", "includeif.path":
		for _, path := range f.paths(s.value, from) {
			f.add(filepath.Dir(path), literalPattern(filepath.Base(path)))
			f.follow(path, depth+1)
		}
	case "core.hookspath":
		for _, path := range f.paths(s.value, f.tops) {
			f.add(path, "*")
		}
	case "core.attributesfile", "core.excludesfile":
		for _, path := range f.paths(s.value, f.tops) {
			f.add(filepath.Dir(path), literalPattern(filepath.Base(path)))
		}
	}
}

// paths returns the absolute paths that a value can mean.
func (f *gitFiles) paths(value string, from []string) (list []string) {
	value = filepath.FromSlash(strings.TrimPrefix(value, ":(optional)"))
	if value == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(value, "~"); ok {
		name, below, _ := strings.Cut(rest, string(filepath.Separator))
		home := f.home
		if name != "" {
			other, err := accounts.Lookup(name)
			if err != nil {
				return nil
			}
			home = other.HomeDir
		}
		value = filepath.Join(home, below)
	}
	if filepath.IsAbs(value) {
		return []string{filepath.Clean(value)}
	}
	for _, dir := range from { // the system resolves links before it goes up
		list = append(list, filepath.Join(realPath(dir), value))
	}
	return list
}

func (f *gitFiles) add(base, pattern string) {
	before := len(f.found)
	f.found.add(base, "", pattern)
	for i := before; i < len(f.found); i++ {
		g := &f.found[i]
		g.Named = true
		g.Git = slices.ContainsFunc(f.gitDirs, func(dir string) bool {
			_, inside := relativeTo(string(g.Real), realPath(dir))
			return inside || string(g.Real) == realPath(dir)
		})
	}
}
