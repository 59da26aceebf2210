package config

import (
	"runtime"
	"slices"
	"strings"
)

// Passes says which variables an agent gets in addition to those that every program needs.
type Passes struct {
	Names []string            // allowed by the user, as NAME or PREFIX_*
	Own   []string            // the agent's settings and the keys to its own model
	When  map[string][]string // more of its own, each list allowed only if the variable that is its key is on
	Plain bool                // the user's own command: without Names it gets everything
}

// AgentEnv returns the environment that an agent gets.
//
// An agent acts on text that it reads. So it gets what it needs to work and to reach its own model,
// but no other secrets: a deploy token in the user's shell is not for the agent. That is why there
// is a list of common names. A name that matches the list but looks like a secret (NPM_TOKEN) is
// passed only if Names or the agent's own variables have it.
//
// A plain command is the user's own command line. It gets the user's whole environment, unless
// Names limits it.
//
// RALPH_TRUST is never passed on: only the user gives consent, and it must not reach a process that
// text in a repository can influence.
func AgentEnv(env Env, p Passes) []string {
	passAll := p.Plain && len(p.Names) == 0
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
		case passAll, matches(name, p.Names), matches(name, own), matches(name, commonVariables) && !isSecretName(name):
			passed = append(passed, entry)
		}
	}
	return passed
}

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
	"TMPDIR",
	"TZ",
	"XDG_*",
	"EDITOR",
	"CI",
	"SSH_AUTH_SOCK",
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
	"NODE_*",
	"NPM_*",
	"npm_config_*",
	"NVM_*",
	"PNPM_HOME",
	"BUN_INSTALL",
	"DENO_DIR",
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
	"CGO_*",
	"CARGO_*",
	"RUSTUP_*",
	"JAVA_HOME",
	"GRADLE_USER_HOME",
	"MAVEN_OPTS",
	"PYTHON*",
	"VIRTUAL_ENV",
	"PYENV_*",
	"CONDA_PREFIX",
	"UV_*",
	"PIP_*",
	"GEM_HOME",
	"GEM_PATH",
	"RBENV_*",
	"ANDROID_HOME",
	"DOTNET_ROOT",
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
