package config

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
)

const envPrefix = "RALPH_"

// InsideRunVariable holds the run's id. It is in the environment of everything that the run starts.
const InsideRunVariable = "RALPH_RUN_ID"

// Variable is an environment variable that is not a setting.
type Variable struct{ Name, Doc string }

// Variables lists the variables that Ralph reads.
func Variables() []Variable {
	return []Variable{
		{"RALPH_STATE_DIR", "folder for runs, logs and snapshots; default: ralph in XDG_STATE_HOME or ~/.local/state"},
		{"RALPH_TRUST", "1 trusts commands defined by the project, like --trust"},
		{"XDG_CONFIG_HOME", "folder of your own configuration, ralph/config.yaml; default: ~/.config"},
		{"XDG_CACHE_HOME", "folder for caches; default: ~/.cache"},
		{"NO_COLOR", "any value turns colors off"},
		{"CI", "true prints plain lines even on a terminal"},
		{"CLAUDE_CODE_SESSION_ID", "session of Claude Code that ralph goal is called in; CODEX_THREAD_ID of Codex"},
		{"ANTHROPIC_API_KEY", "key for the built-in worker, model evaluators and ralph plan"},
		{"OPENAI_API_KEY", "the same, for OpenAI and servers that speak its protocol"},
	}
}

// RunVariables lists the variables that Ralph sets for the programs that a run starts.
func RunVariables() []Variable {
	return []Variable{
		{InsideRunVariable, "id of the run, for agents, checks and hooks"},
		{ralph.ToolSocketVariable, "socket of the current iteration, for ralph mcp in an agent"},
		{ralph.ToolTokenVariable, "token of the current iteration, for ralph mcp in an agent"},
		{answerVariable, "the agent's answer, in checks: its last message, without tags"},
		{"RALPH_HIDDEN_DIR", "a copy of checks.hidden_dir, in the commands of hidden checks; not exported"},
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

// withheldVariables are the user's consent, the location of hidden checks, and the way to the loop of
// another run. Nothing that a run starts gets to see these.
var withheldVariables = []string{
	"RALPH_TRUST", "RALPH_CHECKS__HIDDEN", "RALPH_CHECKS__HIDDEN_DIR",
	ralph.ToolSocketVariable, ralph.ToolTokenVariable, // of another run, of which this process is a part
}

func isWithheld(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return slices.ContainsFunc(withheldVariables, func(other string) bool { return sameVariable(name, other) })
}

// Env is what the program needs to know about its environment.
type Env struct {
	Environ []string // NAME=value, each name once

	Home      string // "" if unknown
	StateDir  string // for runs; "" if Home is unknown and no variable names it
	ConfigDir string // for the user's config file; "" likewise
	CacheDir  string // for files that can be made again; "" likewise
	Term      string

	NoColor       bool // NO_COLOR
	CI            bool
	GitHubActions bool
	InsideRun     string // id of the run that this process is part of

	Session LiveSession // that this process was started in; empty if in none
}

// LiveSession is a session of an agent CLI that a person works with.
type LiveSession struct {
	Agent string // claude or codex
	ID    string // "" if the CLI does not say
}

// liveSession reads the marks that Claude Code and Codex leave in the environment of their commands.
func (e Env) liveSession() LiveSession {
	if id := e.value("CODEX_THREAD_ID"); id != "" {
		return LiveSession{Agent: "codex", ID: id}
	}
	if id := e.value("CLAUDE_CODE_SESSION_ID"); id != "" || e.isOn("CLAUDECODE") {
		return LiveSession{Agent: "claude", ID: id}
	}
	return LiveSession{}
}

// defaultStopBlocks is how many times in a row Claude Code lets hooks block a stop.
const defaultStopBlocks = 8

// StopBlocks returns how many times in a row an agent CLI lets hooks block a stop. 0 is no limit.
func (e Env) StopBlocks(agent string) int {
	if agent != "claude" {
		return 0
	}
	if n, err := strconv.Atoi(e.value("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")); err == nil {
		return max(n, 0)
	}
	return defaultStopBlocks
}

// FromOS reads the environment of this process. Nothing else in the program reads it.
func FromOS() Env {
	environ := os.Environ()
	if _, known := lookup(environ, homeVariable()); !known {
		if me, err := user.Current(); err == nil && me.HomeDir != "" {
			environ = append(environ, homeVariable()+"="+me.HomeDir)
		}
	}
	env := NewEnv(environ)
	// An agent works in another folder, where a relative path would mean another place.
	if abs, err := filepath.Abs(env.StateDir); err == nil && env.StateDir != "" {
		env.StateDir = abs
	}
	return env
}

// NewEnv reads an environment in the form of os.Environ. If a name occurs twice, the last one
// counts, as it does for a process.
func NewEnv(environ []string) Env {
	env := Env{Environ: dropDuplicates(environ)}
	env.Home = env.value(homeVariable())
	env.StateDir = cmp.Or(env.value("RALPH_STATE_DIR"), env.folder("XDG_STATE_HOME", ".local", "state"))
	env.ConfigDir = env.folder("XDG_CONFIG_HOME", ".config")
	env.CacheDir = env.folder("XDG_CACHE_HOME", ".cache")
	env.Term = env.value("TERM")
	env.NoColor = env.value("NO_COLOR") != ""
	env.GitHubActions = env.isOn("GITHUB_ACTIONS")
	env.CI = env.isOn("CI") || env.GitHubActions
	env.InsideRun = env.value(InsideRunVariable)
	env.Session = env.liveSession()
	return env
}

// OwnFolders returns Ralph's folders in home, which agents do not see.
func (e Env) OwnFolders() []string { return []string{e.StateDir, e.ConfigDir, e.CacheDir} }

// Paths returns paths of the configuration as absolute ones: ~ is home, and a relative path is below it.
func (e Env) Paths(paths []string) []string {
	all := make([]string, len(paths))
	for i, path := range paths {
		path = strings.TrimPrefix(path, "~/")
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.Home, path)
		}
		all[i] = filepath.Clean(path)
	}
	return all
}

// ProjectFile is the path of a project's config file, relative to the project's root.
const ProjectFile = ".ralph/config.yaml"

// UserFile returns the path of the user's config file, or "" if ConfigDir is unknown.
func (e Env) UserFile() string {
	if e.ConfigDir == "" {
		return ""
	}
	return filepath.Join(e.ConfigDir, "config.yaml")
}

// Untrusted returns the environment for a process that text in a repository can influence.
// It lacks the user's consent and the location of hidden checks.
func (e Env) Untrusted() []string { return slices.DeleteFunc(slices.Clone(e.Environ), isWithheld) }

// Lookup returns the value of a variable and whether it is set.
func (e Env) Lookup(name string) (string, bool) { return lookup(e.Environ, name) }

func (e Env) value(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// isOn reports whether a variable is set to anything but a clear no, as programs that read CI do.
func (e Env) isOn(name string) bool {
	switch strings.ToLower(e.value(name)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// folder returns our folder below a base directory. It ignores a relative base, as the XDG
// specification demands.
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

func lookup(environ []string, name string) (string, bool) {
	for _, entry := range slices.Backward(environ) {
		if key, value, ok := strings.Cut(entry, "="); ok && sameVariable(key, name) {
			return value, true
		}
	}
	return "", false
}

// sameVariable compares names as the system does: Path is PATH on Windows.
func sameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// dropDuplicates keeps the last entry of each name, in order. It drops entries that are no
// variables, such as =C:=… on Windows.
func dropDuplicates(environ []string) []string {
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

// layer returns the settings in RALPH_ variables. It ignores an empty variable and only warns about
// an unknown one, because other programs share the environment.
func (e Env) layer() (layer, []string, error) {
	l, warnings := layer{}, []string(nil)
	for _, entry := range slices.Sorted(slices.Values(e.Environ)) {
		name, text, _ := strings.Cut(entry, "=")
		written, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}
		key, known := allKeys.find(strings.ToLower(strings.ReplaceAll(written, "__", ".")))
		switch {
		case !known && isReserved(name):
			continue
		case !known:
			warnings = append(warnings, unknownVariable(name, written))
			continue
		case text == "":
			continue
		}
		if p := l.put(key, splitValue(key, text), Origin{Layer: LayerEnvironment, Name: name}); p != nil {
			return nil, nil, p.from(name)
		}
	}
	return l, warnings, nil
}

func unknownVariable(name, written string) string {
	warning := fmt.Sprintf("%s is not a known variable", name)
	near := allKeys.suggest(strings.ToLower(strings.ReplaceAll(written, "__", ".")))
	if key, ok := allKeys.find(near); ok {
		warning += "; " + didYouMean(key.Env())
	}
	return warning
}

// seedVariables are the variables of the system of seed 001. Profile case reads them, so a script
// that sets them works unchanged.
var seedVariables = []struct{ name, key, unit string }{
	{"TILTH_MAX_ITERATIONS_PER_TASK", "worker.max_turns_per_task", ""},
	{"TILTH_MAX_WALL_CLOCK_MINUTES", "max_time", "m"},
	{"TILTH_MAX_TOKENS", "max_tokens", ""},
	{"TILTH_MAX_TOKEN_DOLLAR_SPEND", "max_cost", ""},
	{"MAX_EVALUATOR_CALLS_PER_TASK", "evaluator.max_calls_per_task", ""},
}

// seedLayer returns the settings in seedVariables. It ignores a blank one.
func (e Env) seedLayer() (layer, error) {
	l := layer{}
	for _, v := range seedVariables {
		text := strings.TrimSpace(e.value(v.name))
		if text == "" {
			continue
		}
		key := allKeys.byName[v.key]
		if p := l.put(key, splitValue(key, text+v.unit), Origin{Layer: LayerEnvironment, Name: v.name}); p != nil {
			return nil, p.from(v.name)
		}
	}
	return l, nil
}
