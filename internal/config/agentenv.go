package config

import (
	"runtime"
	"slices"
	"strings"
)

// Passes says which variables an agent, a check or a hook gets in addition to those that every program needs.
type Passes struct {
	Names []string            // allowed by the user, as NAME or PREFIX_*
	Own   []string            // the agent's settings and the keys to its own model
	When  map[string][]string // more of its own, each list allowed only if the variable that is its key is on
}

// AgentEnv returns the environment that an agent, a check or a hook gets.
//
// An agent acts on text that it reads, and checks and hooks may run code that an agent wrote. So they
// get what they need to work, and an agent what it needs to reach its own model, but no other secrets:
// a deploy token in the user's shell is not for them. That is why there is a list of common names. A
// name that matches the list but looks like a secret (NPM_TOKEN) is passed only if Names or the agent's
// own variables have it.
//
// RALPH_TRUST is never passed on: only the user gives consent, and it must not reach a process that
// text in a repository can influence.
func AgentEnv(env Env, p Passes) []string {
	own := slices.Clone(p.Own)
	for name, more := range p.When {
		if env.isOn(name) {
			own = append(own, more...)
		}
	}
	var passed []string
	for _, entry := range env.Environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case isWithheld(entry):
		case matches(name, p.Names), matches(name, own), matches(name, commonVariables) && !isSecretName(name):
			passed = append(passed, entry)
		}
	}
	return passed
}

// Withheld returns the names of the user's variables that are not passed, apart from those of shells and of Ralph.
func Withheld(env Env, passed []string) []string {
	var names []string
	for _, entry := range env.Environ {
		name, _, _ := strings.Cut(entry, "=")
		_, known := lookup(passed, name)
		if !known && !strings.HasPrefix(name, envPrefix) && !slices.Contains(shellVariables, name) {
			names = append(names, name)
		}
	}
	return names
}

// shellVariables are those that a shell sets by itself.
var shellVariables = []string{"_", "PWD", "OLDPWD", "SHLVL", "PS1", "PS2", "IFS", "LINENO", "PPID", "OPTIND", "RANDOM"}

// commonVariables are what programs need to find their files, tools, language, proxy and
// certificates.
var commonVariables = []string{
	"PATH",
	"HOME",
	"USER",
	"LOGNAME",
	"SHELL",
	"LANG",
	"LANGUAGE",
	"LC_*",
	"TERM",
	"COLORTERM",
	"NO_COLOR",
	"FORCE_COLOR",
	"CLICOLOR*",
	"COLUMNS",
	"LINES",
	"HOSTNAME",
	"DISPLAY",
	"WAYLAND_DISPLAY",
	"XAUTHORITY",
	"TMPDIR",
	"TZ",
	"XDG_*",
	"EDITOR",
	"CI",
	"SSH_AUTH_SOCK",
	"RALPH_STATE_DIR", // a hook may look at its run
	"HTTP_PROXY",
	"HTTPS_PROXY",
	"ALL_PROXY",
	"NO_PROXY",
	"http_proxy",
	"https_proxy",
	"all_proxy",
	"no_proxy",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE",
	"GIT_AUTHOR_*",
	"GIT_COMMITTER_*",
	"GIT_SSH",
	"GIT_SSH_COMMAND",
	"GIT_CONFIG_GLOBAL",
	"GIT_CONFIG_SYSTEM",
	"GIT_CONFIG_NOSYSTEM",
	"DOCKER_HOST",
	"CC",
	"CXX",
	"CFLAGS",
	"CXXFLAGS",
	"CPPFLAGS",
	"LDFLAGS",
	"MAKEFLAGS",
	"CPATH",
	"LIBRARY_PATH",
	"LD_LIBRARY_PATH",
	"PKG_CONFIG_PATH",
	"CMAKE_*",
	"NIX_*",
	"LOCALE_ARCHIVE",
	"NODE_*",
	"NPM_*",
	"npm_config_*",
	"NVM_*",
	"PNPM_HOME",
	"BUN_INSTALL",
	"DENO_DIR",
	"PLAYWRIGHT_*",
	"PUPPETEER_*",
	"CYPRESS_*",
	"JEST_*",
	"VITEST_*",
	// Go's variables are listed by name, because GO* would match GOOGLE_….
	"GOPATH",
	"GOROOT",
	"GOBIN",
	"GOCACHE",
	"GOMODCACHE",
	"GOFLAGS",
	"GOPROXY",
	"GOPRIVATE",
	"GONOPROXY",
	"GONOSUMDB",
	"GOSUMDB",
	"GOINSECURE",
	"GOTOOLCHAIN",
	"GOTMPDIR",
	"GOOS",
	"GOARCH",
	"GOENV",
	"GOWORK",
	"GOEXPERIMENT",
	"GOMAXPROCS",
	"GODEBUG",
	"GO111MODULE",
	"GOTELEMETRY",
	"GOCOVERDIR",
	"CGO_*",
	"CARGO_*",
	"RUST*",
	"JAVA_*",
	"JDK_*",
	"GRADLE_*",
	"MAVEN_*",
	"M2_HOME",
	"PYTHON*",
	"VIRTUAL_ENV",
	"PYTEST_*",
	"PYENV_*",
	"CONDA_*",
	"POETRY_*",
	"UV_*",
	"PIP_*",
	"GEM_HOME",
	"GEM_PATH",
	"BUNDLE_*",
	"RUBY*",
	"RBENV_*",
	"RAILS_ENV",
	"RACK_ENV",
	"COMPOSER_*",
	"MIX_*",
	"ANDROID_*",
	"DOTNET_*",
	"NUGET_*",
	"SWIFT*",
	// Windows programs do not start without these.
	"SYSTEMROOT",
	"SYSTEMDRIVE",
	"WINDIR",
	"COMSPEC",
	"PATHEXT",
	"TEMP",
	"TMP",
	"USERPROFILE",
	"USERNAME",
	"HOMEDRIVE",
	"HOMEPATH",
	"APPDATA",
	"LOCALAPPDATA",
	"PROGRAMDATA",
	"PROGRAMFILES",
	"PROGRAMFILES(X86)",
	"PROGRAMW6432",
	"NUMBER_OF_PROCESSORS",
	"PROCESSOR_ARCHITECTURE",
}

// matches reports whether a pattern matches name. A pattern may have one star, which matches
// anything.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if runtime.GOOS == "windows" {
			name, pattern = strings.ToUpper(name), strings.ToUpper(pattern)
		}
		before, after, star := strings.Cut(pattern, "*")
		if !star {
			return name == pattern
		}
		return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	})
}
