package config

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const envPrefix = "RALPH_"

// InsideRunVariable holds the id of the run that a process is part of, in the environment of everything that the run starts.
const InsideRunVariable = "RALPH_RUN_ID"

// Variable is an environment variable that is not a setting.
type Variable struct{ Name, Doc string }

// Variables are read by Ralph.
func Variables() []Variable {
	return []Variable{
		{"RALPH_STATE_DIR", "folder for runs, logs and snapshots; default: ralph in XDG_STATE_HOME or ~/.local/state"},
		{"RALPH_TRUST", "1 trusts commands defined by the project, like --trust"},
		{"XDG_CONFIG_HOME", "folder of your own configuration, ralph/config.yaml; default: ~/.config"},
		{"XDG_CACHE_HOME", "folder for caches; default: ~/.cache"},
		{"NO_COLOR", "any value turns colors off"},
		{"CI", "true prints plain lines even on a terminal"},
		{"ANTHROPIC_API_KEY", "key for the built-in worker, model evaluators and ralph plan"},
		{"OPENAI_API_KEY", "the same, for OpenAI and servers that speak its protocol"},
	}
}

// RunVariables are set for the programs that a run starts.
func RunVariables() []Variable {
	return []Variable{
		{InsideRunVariable, "id of the run, for agents, checks and hooks"},
		{"RALPH_HIDDEN_DIR", "folder of checks.hidden_dir, for hidden checks"},
		{"RALPH_NOTIFY_RUN", "id of the run, for notify.command"},
		{"RALPH_NOTIFY_STATUS", "status of the run, for notify.command"},
		{"RALPH_NOTIFY_TEXT", "why a person is needed, for notify.command"},
		{"RALPH_PROCESS_MARKER", "marks processes of the run, so that Ralph finds them"},
		{"RALPH_PROCESS_TREE", "marks processes of one command of the run"},
	}
}

// isReserved reports whether a RALPH_ variable is not a setting.
func isReserved(name string) bool {
	return slices.ContainsFunc(slices.Concat(Variables(), RunVariables()), func(v Variable) bool { return v.Name == name })
}

// withheld are the user's consent, and what would tell where hidden checks are: nothing that a run starts gets to see these.
var withheld = []string{"RALPH_TRUST", "RALPH_CHECKS__HIDDEN", "RALPH_CHECKS__HIDDEN_DIR"}

func isWithheld(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return slices.ContainsFunc(withheld, func(other string) bool { return sameVariable(name, other) })
}

// Env is what the program needs to know of its environment.
type Env struct {
	Environ []string // NAME=value, each name once

	Home      string // "" if unknown
	StateDir  string // where runs are kept; "" if there is no home and nothing else says
	ConfigDir string // where the user's config file is; "" likewise
	CacheDir  string // for what can be found out again; "" likewise
	Term      string

	NoColor       bool // NO_COLOR
	CI            bool
	GitHubActions bool
	InsideRun     string // the run that this process is part of
}

// FromOS is the environment of this process. Nothing else in the program reads it.
func FromOS() Env {
	environ := os.Environ()
	if _, known := find(environ, homeVariable()); !known {
		if me, err := user.Current(); err == nil && me.HomeDir != "" {
			environ = append(environ, homeVariable()+"="+me.HomeDir)
		}
	}
	env := NewEnv(environ)
	// An agent works in another folder, so a relative path would mean two places.
	if abs, err := filepath.Abs(env.StateDir); err == nil && env.StateDir != "" {
		env.StateDir = abs
	}
	return env
}

// NewEnv reads an environment in the form of os.Environ. Of a name that is there twice the last one counts, as it does for a process.
func NewEnv(environ []string) Env {
	env := Env{Environ: unique(environ)}
	env.Home = env.value(homeVariable())
	env.StateDir = cmp.Or(env.value("RALPH_STATE_DIR"), env.folder("XDG_STATE_HOME", ".local", "state"))
	env.ConfigDir = env.folder("XDG_CONFIG_HOME", ".config")
	env.CacheDir = env.folder("XDG_CACHE_HOME", ".cache")
	env.Term = env.value("TERM")
	env.NoColor = env.value("NO_COLOR") != ""
	env.GitHubActions = env.isOn("GITHUB_ACTIONS")
	env.CI = env.isOn("CI") || env.GitHubActions
	env.InsideRun = env.value(InsideRunVariable)
	return env
}

// ProjectFile is a project's own config file, seen from its root folder.
const ProjectFile = ".ralph/config.yaml"

// UserFile is the path of the user's own config file, "" if there can be none.
func (e Env) UserFile() string {
	if e.ConfigDir == "" {
		return ""
	}
	return filepath.Join(e.ConfigDir, "config.yaml")
}

// Untrusted is the environment for a process that a repository's text can steer: without the user's consent in it, nor his hidden checks.
func (e Env) Untrusted() []string { return slices.DeleteFunc(slices.Clone(e.Environ), isWithheld) }

// Checks is the environment for what an agent may have written: without the keys of models either, unless the user let them pass.
func (e Env) Checks(keys, passed []string) []string {
	return slices.DeleteFunc(e.Untrusted(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return matches(name, keys) && !matches(name, passed)
	})
}

// Lookup is the value of a variable and whether it is there.
func (e Env) Lookup(name string) (string, bool) { return find(e.Environ, name) }

func (e Env) value(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// isOn takes anything but a clear no for a yes, as programs that read CI do.
func (e Env) isOn(name string) bool {
	switch strings.ToLower(e.value(name)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// folder is our own below a base directory. A relative base is to be ignored, says the XDG specification.
func (e Env) folder(variable string, fallback ...string) string {
	if base := e.value(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "ralph")
	}
	if e.Home == "" {
		return ""
	}
	return filepath.Join(slices.Concat([]string{e.Home}, fallback, []string{"ralph"})...)
}

func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

func find(environ []string, name string) (string, bool) {
	for _, entry := range slices.Backward(environ) {
		if key, value, ok := strings.Cut(entry, "="); ok && sameVariable(key, name) {
			return value, true
		}
	}
	return "", false
}

// sameVariable compares as the system does: Path is PATH on Windows.
func sameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// unique keeps the last entry of each name, in the order of the entries kept. Entries that are no variable are dropped, such as Windows' =C:=….
func unique(environ []string) []string {
	seen, kept := map[string]bool{}, make([]string, 0, len(environ))
	for _, entry := range slices.Backward(environ) {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && !seen[name] {
			seen[name] = true
			kept = append(kept, entry)
		}
	}
	slices.Reverse(kept)
	return kept
}

// layer is what the RALPH_ variables say. An empty variable says nothing. An unknown one is only warned about, because an environment is shared
// with programs that are not ours.
func (e Env) layer() (layer, []string, error) {
	l, warnings := layer{}, []string(nil)
	for _, entry := range slices.Sorted(slices.Values(e.Environ)) {
		name, text, _ := strings.Cut(entry, "=")
		written, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}
		key, known := words.find(strings.ToLower(strings.ReplaceAll(written, "__", ".")))
		switch {
		case !known && isReserved(name):
			continue
		case !known:
			warnings = append(warnings, unknownVariable(name, written))
			continue
		case text == "":
			continue
		}
		if p := l.put(key, lines(key, text), Origin{Layer: LayerEnvironment, Name: name}); p != nil {
			return nil, nil, p.from(name)
		}
	}
	return l, warnings, nil
}

func unknownVariable(name, written string) string {
	warning := fmt.Sprintf("%s is not a known setting", name)
	near := words.suggest(strings.ToLower(strings.ReplaceAll(written, "__", ".")))
	if key, ok := words.find(near); ok {
		warning += "; " + didYouMean(key.Env())
	}
	return warning
}

// seedVariables are those of seed 001's system, which profile case reads: a script that sets them works unchanged.
var seedVariables = []struct{ name, key, unit string }{
	{"TILTH_MAX_ITERATIONS_PER_TASK", "worker.max_turns_per_task", ""},
	{"TILTH_MAX_WALL_CLOCK_MINUTES", "max_time", "m"},
	{"TILTH_MAX_TOKENS", "max_tokens", ""},
	{"TILTH_MAX_TOKEN_DOLLAR_SPEND", "max_cost", ""},
	{"MAX_EVALUATOR_CALLS_PER_TASK", "evaluator.max_calls_per_task", ""},
}

// seedLayer is what they say. A blank one says nothing.
func (e Env) seedLayer() (layer, error) {
	l := layer{}
	for _, v := range seedVariables {
		text := strings.TrimSpace(e.value(v.name))
		if text == "" {
			continue
		}
		key := words.byName[v.key]
		if p := l.put(key, lines(key, text+v.unit), Origin{Layer: LayerEnvironment, Name: v.name}); p != nil {
			return nil, p.from(v.name)
		}
	}
	return l, nil
}
