package agent

import "github.com/ralphloop/ralph/agent/internal/stream"

// Dialect is one way in which an agent CLI is called and answers.
type Dialect interface {
	// Name is what users call it.
	Name() string
	// About is what else is known of it.
	About() About
	// Command is the command line for one iteration. It depends on nothing but the request.
	Command(r Request) (Command, error)

	newReader(r *stream.Reading) stream.Reader
}

// Permissions says what an agent may do without being asked.
type Permissions string

// What an agent may do. Nobody is there to answer, so whatever it may not do is denied.
const (
	// PermitEdits is the CLI's own edit mode, plus the check commands.
	PermitEdits Permissions = "edits"
	// PermitAll bypasses the CLI's own permission prompts.
	PermitAll Permissions = "bypass"
	// PermitReading lets the agent look at files and nothing else, as far as the CLI can be held to it ([About.ReadMode]). The outcome then has the
	// agent's answer.
	PermitReading Permissions = "read"
)

// Request is everything that a command line is made of.
type Request struct {
	Program         string // of a known CLI; "" is its name, looked up on PATH
	CommandLine     string // of a plain command
	PromptFile      string
	Model           string // "" is the CLI's own choice
	Permissions     Permissions
	AllowedCommands []string // commands that edit mode allows as well
	ExtraArgs       []string
	InheritSettings bool   // let the user's own settings of the CLI apply
	Dir             string // the workspace
	Folder          string // of the iteration, for files that only this call needs
	Look            Look   // at the user's own settings of the CLI; the zero value shows none
}

// model is the flag that chooses the model, where one is asked for.
func (r Request) model(flag string) []string {
	if r.Model == "" {
		return nil
	}
	return []string{flag, r.Model}
}

// modelAndExtra is the flag that chooses the model, and the user's own arguments.
func (r Request) modelAndExtra(flag string) []string { return append(r.model(flag), r.ExtraArgs...) }

// Command is a command line with what goes with it.
type Command struct {
	Argv  []string
	Env   []string // to be added to the environment
	Stdin string   // the file on standard input; "" is none
	Files []File   // to be written before it starts
}

// File is a small file that a command line speaks of.
type File struct{ Path, Text string }

// Known lists the dialects. The CLIs among them are in the order in which Detect looks for them.
func Known() []Dialect {
	return []Dialect{claude{}, codex{}, gemini{}, opencode{}, qwen{}, copilot{}, cursor{}, amp{}, goose{}, aider{}, acpDialect{}, command{}}
}

// Find gives the dialect of that name.
func Find(name string) (Dialect, bool) {
	for _, d := range Known() {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}

// Detect finds the first known CLI that lookPath finds, and where it is. Programs whose name somebody else has, too, are passed over.
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
