package agent

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// Dialect is how one agent CLI is called and how it answers.
type Dialect interface {
	// Name is what users call it.
	Name() string
	// About is what else is known about it.
	About() About
	// Command returns the command line for one iteration. It depends only on the request.
	Command(r Request) (Command, error)

	newReader(r *stream.Reading) stream.Reader
}

// Permissions are what an agent may do without asking.
type Permissions string

// The permissions. There is no one to answer a question, so everything else is denied.
const (
	// PermitEdits is the CLI's own edit mode, plus the check commands.
	PermitEdits Permissions = "edits"
	// PermitAll bypasses the CLI's own permission prompts.
	PermitAll Permissions = "bypass"
	// PermitReading lets the agent read files and nothing else, as far as the CLI can enforce it
	// ([About.ReadMode]). The outcome then includes the agent's answer.
	PermitReading Permissions = "read"
)

// Request is everything that a command line depends on.
type Request struct {
	Program         string // of a known CLI; default: its name, looked up on PATH
	CommandLine     string // of a plain command
	PromptFile      string
	Model           string // default: the CLI's own choice
	Permissions     Permissions
	AllowedCommands []string // commands that edit mode also allows
	ExtraArgs       []string
	InheritSettings bool         // let the user's own settings of the CLI apply
	Dir             string       // the workspace
	Folder          string       // the iteration's folder, for files that only this call needs
	Look            Look         // the user's own settings of the CLI; the zero value shows none
	Budget          ralph.Budget // for a CLI that keeps to one by itself
	Tools           string       // the program that serves the run's tools over MCP; "" if the CLI gets none
}

// model returns the flag that chooses the model, if one is requested.
func (r Request) model(flag string) []string {
	if r.Model == "" {
		return nil
	}
	return []string{flag, r.Model}
}

// modelAndExtra returns the flag that chooses the model, and the user's own arguments.
func (r Request) modelAndExtra(flag string) []string { return append(r.model(flag), r.ExtraArgs...) }

// Command is a command line with its environment and files.
type Command struct {
	Argv    []string
	Env     []string // added to the environment
	Stdin   string   // the file on standard input; "" is none
	Files   []File   // written before it starts
	Secrets []File   // like Files, and removed when it has ended
}

// File is a small file that a command line refers to.
type File struct{ Path, Text string }

// Known lists the dialects. The CLIs among them are in the order in which Detect looks for them.
func Known() []Dialect {
	return []Dialect{
		claude{}, codex{}, gemini{}, opencode{}, qwen{}, copilot{}, cursor{}, amp{}, goose{}, aider{}, acpDialect{},
		command{},
	}
}

// Find returns the dialect with that name.
func Find(name string) (Dialect, bool) {
	for _, d := range Known() {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}

// Detect returns the first known CLI that lookPath finds, and its path. Programs that share their
// name with another are skipped.
func Detect(lookPath func(string) (string, error)) (name, path string, ok bool) {
	for _, d := range Known() {
		about := d.About()
		if about.Program == "" || about.Shared {
			continue
		}
		if path, err := lookPath(about.Program); err == nil {
			return d.Name(), path, true
		}
	}
	return "", "", false
}
