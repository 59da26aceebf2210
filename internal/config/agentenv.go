package config

import (
	"runtime"
	"slices"
	"strings"
)

// Passes says which variables an agent gets beside those that every program needs.
type Passes struct {
	Names []string            // that the user let pass, as NAME or PREFIX_*
	Own   []string            // the agent's settings and the keys to its own model
	When  map[string][]string // own ones that pass only if the variable that is their key is switched on
	Plain bool                // a command of the user's own: without Names it gets everything
}

// AgentEnv is the environment that an agent gets.
//
// An agent acts on text that it reads, so it gets what it needs to work and to reach its own model, and no secret that it has no use for: a deploy
// token in the user's shell is not the agent's. That is why there is a list of what passes, and why a name on the list's wide rows that looks like
// a secret (NPM_TOKEN) is held back unless Names has it.
//
// A plain command is the user's own command line and gets the user's own environment, unless Names says what it is to have.
//
// RALPH_TRUST never passes: consent is the user's, and must not reach a process that a repository's text can steer.
func AgentEnv(env Env, p Passes) []string {
	whole := p.Plain && len(p.Names) == 0
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
		case whole, matches(name, p.Names), matches(name, own), matches(name, everyAgent) && !secretName(name):
			passed = append(passed, entry)
		}
	}
	return passed
}

// everyAgent is what programs need to find their files, tools, language, proxy and certificates.
var everyAgent = []string{
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
	// Go's by name: GO* would let GOOGLE_… pass.
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

// matches reports whether one of the patterns stands for name. A star stands for anything, once in a pattern.
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
