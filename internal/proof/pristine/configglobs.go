package pristine

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// configGlob matches configuration files that affect checks.
type configGlob struct {
	Base    []byte `json:"base"`    // a folder, literally
	Pattern string `json:"pattern"` // below it, with slashes, as fs.Glob has it
	// Real is the base with links resolved when it was recorded. An agent can redirect a path;
	// files at the new target are left alone.
	Real []byte `json:"real"`
	// Git marks the workspace's own git folder, which is not part of the tree even if it is inside
	// the workspace.
	Git bool `json:"git,omitempty"`
	// Named marks files that git's configuration named when it was recorded.
	Named bool `json:"named,omitempty"`
	// Group is set for files of one program that one variable can replace; otherwise "".
	Group configGroup `json:"group,omitempty"`
}

// configGroup is the variable that tells a program which file to read instead of all files in the
// group.
type configGroup string

const (
	gitGlobal    configGroup = "GIT_CONFIG_GLOBAL"
	npmUser      configGroup = "NPM_CONFIG_USERCONFIG"
	goEnv        configGroup = "GOENV"
	pipUser      configGroup = "PIP_CONFIG_FILE"
	bundleUser   configGroup = "BUNDLE_USER_CONFIG"
	bashScripts  configGroup = "BASH_ENV"
	posixScripts configGroup = "ENV"
)

// replacement returns the value of the variable for the saved copies of the group. "" means that
// the variable cannot replace them.
func (g configGroup) replacement(copies []string, write func(texts ...string) (string, error)) (string, error) {
	switch {
	case len(copies) == 0 && g == goEnv:
		return "off", nil
	case len(copies) > 1 && g != gitGlobal:
		return "", nil // these programs reject duplicate sections
	}
	texts := []string{""}
	for _, path := range copies {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text), "\n")
	}
	return write(texts...)
}

// configGlobs returns all patterns to save, for a user with this environment and these git folders.
func configGlobs(env []string, gitDirs []string) []configGlob {
	var list globList
	for _, dir := range gitDirs {
		list.add(dir, "", "config", "config.worktree", "hooks/*", "info/attributes")
	}
	for i := range list {
		list[i].Git = true
	}
	v := variables(env)
	list.addFile(v["BASH_ENV"], bashScripts)
	list.addFile(v["ENV"], posixScripts)
	home := v["HOME"]
	if runtime.GOOS == "windows" {
		home = cmp.Or(v["USERPROFILE"], home)
	}
	if home != "" {
		list.addHome(v, home)
		list.addByVariable(v, home)
	}
	return append(list, namedByGit(env, gitDirs)...)
}

type globList []configGlob

func (l *globList) add(base string, g configGroup, patterns ...string) {
	if !filepath.IsAbs(base) {
		return
	}
	for _, pattern := range patterns {
		*l = append(*l, configGlob{Base: []byte(base), Real: []byte(realPath(base)), Pattern: pattern, Group: g})
	}
}

func (l *globList) addFile(path string, g configGroup) {
	l.add(filepath.Dir(path), g, literalPattern(filepath.Base(path)))
}

// addHome adds files in the user's home, or in the folders that variables name instead.
func (l *globList) addHome(v map[string]string, home string) {
	config := cmp.Or(v["XDG_CONFIG_HOME"], filepath.Join(home, ".config"))
	l.add(home, "", ".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".kshrc")
	l.add(cmp.Or(v["ZDOTDIR"], home), "", ".zshenv", ".zprofile", ".zshrc", ".zlogin")
	l.add(config, "", "fish/config.fish", "fish/conf.d/*.fish", "git/attributes", "git/ignore", "pnpm/rc")
	l.add(home, "", ".yarnrc", ".yarnrc.yml", ".m2/settings.xml", ".gemrc", ".rspec", ".irbrc")
	l.add(cmp.Or(v["CARGO_HOME"], filepath.Join(home, ".cargo")), "", "config.toml", "config")
	l.add(cmp.Or(v["GRADLE_USER_HOME"], filepath.Join(home, ".gradle")), "", "gradle.properties", "init.d/*")
	const site = "lib/python3*/site-packages/"
	l.add(
		cmp.Or(v["PYTHONUSERBASE"], filepath.Join(home, ".local")), "", site+"usercustomize.py",
		site+"sitecustomize.py", site+"*.pth",
	)
}

// addByVariable adds files that a variable can replace. If the variable is set, only the file that
// it names counts.
func (l *globList) addByVariable(v map[string]string, home string) {
	for _, usual := range []struct {
		group configGroup
		paths []string // later ones win
	}{
		{gitGlobal, globalGitConfig(v, home)},
		{npmUser, []string{filepath.Join(home, ".npmrc")}},
		{goEnv, []string{filepath.Join(userConfig(v, home), "go", "env")}},
		{pipUser, []string{filepath.Join(home, ".pip", "pip.conf"), filepath.Join(home, ".config", "pip", "pip.conf"),
			filepath.Join(userConfig(v, home), "pip", "pip.conf")}},
		{bundleUser, []string{filepath.Join(home, ".bundle", "config")}},
	} {
		paths := usual.paths
		if named := v[string(usual.group)]; named != "" {
			paths = []string{named}
		}
		for _, path := range paths {
			l.addFile(path, usual.group)
		}
	}
}

// userConfig is os.UserConfigDir for a given environment.
func userConfig(v map[string]string, home string) string {
	switch runtime.GOOS {
	case "windows":
		return v["APPDATA"]
	case "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	return cmp.Or(v["XDG_CONFIG_HOME"], filepath.Join(home, ".config"))
}

func variables(env []string) map[string]string {
	v := make(map[string]string, len(env))
	for _, entry := range env {
		key, value, _ := strings.Cut(entry, "=")
		if runtime.GOOS == "windows" {
			key = strings.ToUpper(key)
		}
		v[key] = value
	}
	return v
}

// literalPattern returns a pattern that matches exactly one name.
func literalPattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// matches lists the existing files that match, relative to the base.
func (s *configGlob) matches() []string {
	names, err := fs.Glob(os.DirFS(string(s.Base)), s.Pattern)
	if err != nil {
		return nil
	}
	// Git installs sample hooks that do nothing.
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".sample") })
}

func (s *configGlob) path(name string) string {
	return filepath.Join(string(s.Base), filepath.FromSlash(name))
}

// unlinkedPath returns the path of a name below the resolved base.
func (s *configGlob) unlinkedPath(name string) string {
	return filepath.Join(string(s.Real), filepath.FromSlash(name))
}
