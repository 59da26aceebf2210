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

// spot is where files lie that steer checks.
type spot struct {
	Base    []byte `json:"base"`    // a folder, literally
	Pattern string `json:"pattern"` // below it, with slashes, as fs.Glob has it
	// Real is the base without links, as it was at first. An agent can lead a path elsewhere; nothing is done to what is there then.
	Real []byte `json:"real"`
	// Git says that it is the workspace's own git folder, which is no part of the tree, wherever it lies.
	Git bool `json:"git,omitempty"`
	// Group are spots of one program that one variable stands for; "" is none.
	Group group `json:"group,omitempty"`
}

// group is named by the variable that tells a program which file to read instead of all in the group.
type group string

const (
	gitGlobal    group = "GIT_CONFIG_GLOBAL"
	npmUser      group = "NPM_CONFIG_USERCONFIG"
	goEnv        group = "GOENV"
	pipUser      group = "PIP_CONFIG_FILE"
	bundleUser   group = "BUNDLE_USER_CONFIG"
	bashScripts  group = "BASH_ENV"
	posixScripts group = "ENV"
)

// instead is the value of the variable when the group had these copies. "" means that the variable cannot stand for them.
func (g group) instead(copies []string, write func(texts ...string) (string, error)) (string, error) {
	switch {
	case len(copies) == 0 && g == goEnv:
		return "off", nil
	case len(copies) > 1 && g != gitGlobal:
		return "", nil // sections that come twice are a mistake to these programs
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

// spots are all places that are looked at, for a user with this environment and these git folders.
func spots(env []string, gitDirs []string) []spot {
	var list spotList
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
		list.addNamed(v, home)
	}
	return list
}

type spotList []spot

func (l *spotList) add(base string, g group, patterns ...string) {
	if !filepath.IsAbs(base) {
		return
	}
	for _, pattern := range patterns {
		*l = append(*l, spot{Base: []byte(base), Real: []byte(realPath(base)), Pattern: pattern, Group: g})
	}
}

func (l *spotList) addFile(path string, g group) {
	l.add(filepath.Dir(path), g, literal(filepath.Base(path)))
}

// addHome adds what a user has in his home, or where variables say that it is.
func (l *spotList) addHome(v map[string]string, home string) {
	config := cmp.Or(v["XDG_CONFIG_HOME"], filepath.Join(home, ".config"))
	l.add(home, "", ".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".kshrc")
	l.add(cmp.Or(v["ZDOTDIR"], home), "", ".zshenv", ".zprofile", ".zshrc", ".zlogin")
	l.add(config, "", "fish/config.fish", "fish/conf.d/*.fish", "git/attributes", "git/ignore", "pnpm/rc")
	l.add(home, "", ".yarnrc", ".yarnrc.yml", ".m2/settings.xml", ".gemrc", ".rspec", ".irbrc")
	l.add(cmp.Or(v["CARGO_HOME"], filepath.Join(home, ".cargo")), "", "config.toml", "config")
	l.add(cmp.Or(v["GRADLE_USER_HOME"], filepath.Join(home, ".gradle")), "", "gradle.properties", "init.d/*")
	const site = "lib/python3*/site-packages/"
	l.add(cmp.Or(v["PYTHONUSERBASE"], filepath.Join(home, ".local")), "", site+"usercustomize.py", site+"sitecustomize.py", site+"*.pth")
}

// addNamed adds what a variable can stand for. If it is set, it names the file that counts.
func (l *spotList) addNamed(v map[string]string, home string) {
	config := cmp.Or(v["XDG_CONFIG_HOME"], filepath.Join(home, ".config"))
	for _, usual := range []struct {
		group group
		paths []string // what comes later wins
	}{
		{gitGlobal, []string{filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig")}},
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

// userConfig is os.UserConfigDir for another environment.
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

// literal is a pattern that matches one name.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// found lists the names below its base of what is at a spot now.
func (s *spot) found() []string {
	names, err := fs.Glob(os.DirFS(string(s.Base)), s.Pattern)
	if err != nil {
		return nil
	}
	// Examples of hooks, which git puts there, do nothing.
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".sample") })
}

func (s *spot) path(name string) string {
	return filepath.Join(string(s.Base), filepath.FromSlash(name))
}

// plain is the path of a name if no link is on the way.
func (s *spot) plain(name string) string {
	return filepath.Join(string(s.Real), filepath.FromSlash(name))
}
