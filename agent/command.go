package agent

import (
	"errors"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

// command is any shell command. Its standard output is what the agent says; its standard error is
// only stored.
type command struct{}

// promptFileWord is the placeholder in a command line for the path of the prompt.
const promptFileWord = "{prompt_file}"

func (command) Name() string { return "command" }

func (command) About() About {
	return About{
		Title:    "any command",
		Proven:   ProvenByRuns,
		Env:      modelKeys,
		EditMode: "custom command, not restricted",
		ReadMode: "custom command, not restricted; only its isolated view protects the workspace",
	}
}

func (command) newReader(r *stream.Reading) stream.Reader { return &plainText{r} }

func (command) Command(r Request) (Command, error) {
	line := r.CommandLine
	if strings.TrimSpace(line) == "" {
		return Command{}, errors.New("make agent command: it is empty")
	}
	for _, arg := range r.ExtraArgs {
		line += " " + shellQuote(arg)
	}
	if !strings.Contains(line, promptFileWord) {
		return Command{Argv: process.Shell(line), Stdin: r.PromptFile}, nil
	}
	return Command{Argv: process.Shell(strings.ReplaceAll(line, promptFileWord, shellQuote(r.PromptFile)))}, nil
}

// plainText reads free text: all of it is one message.
type plainText struct{ *stream.Reading }

func (p *plainText) Write(text []byte) (int, error) {
	p.Say(string(text))
	return len(text), nil
}

func (p *plainText) Close() {}
