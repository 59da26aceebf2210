package agent

import (
	"errors"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/acp"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

// acpDialect is any agent that speaks the Agent Client Protocol, version 1, on its standard input
// and output, such as `gemini --experimental-acp`, `opencode acp` or `qwen --acp`. It was written
// against gemini 0.61, opencode 1.18 and qwen 0.24. It has no program of its own.
//
// Unlike the others this is a conversation: the prompt is a request, and the agent asks before it
// uses a tool. [Options.Permissions] decide whether that is allowed. What the agent does without
// asking cannot be rejected: opencode, for one, asks for nothing unless its own settings say so.
type acpDialect struct{}

var _ talker = acpDialect{}

func (acpDialect) Name() string { return "acp" }

func (acpDialect) About() About {
	return About{
		Title: "any agent that speaks ACP", MCP: true, Proven: ProvenByRuns,
		ShowsTools: true,
		ReadMode: "rejects requests other than reading and searching; cannot stop what the agent does without " +
			"asking; opencode asks only if its settings say so",
		EditMode: "Ralph allows reading, edits in the workspace and the check commands; opencode asks only " +
			"if its settings say so",
	}
}

func (acpDialect) Command(r Request) (Command, error) {
	line := strings.TrimSpace(r.CommandLine)
	if line == "" {
		return Command{}, errors.New(
			"make agent command: acp needs a command that starts the agent, such as --agent-cmd 'gemini --experimental-acp'",
		)
	}
	for _, arg := range r.ExtraArgs {
		line += " " + shellQuote(arg)
	}
	return Command{Argv: process.Shell(line)}, nil
}

func (acpDialect) newReader(r *stream.Reading) stream.Reader { return acp.Listen(r) }

func (acpDialect) talk(r *stream.Reading, in ralph.AgentInput, o Options) (stream.Reader, runner) {
	options := o.acp()
	if o.Permissions != PermitReading && in.ToolEnv != nil {
		options.Tools = o.Tools
	}
	return acp.Converse(r, in, options)
}

func (o Options) acp() acp.Options {
	return acp.Options{
		Env:      o.Env,
		AllowAll: o.Permissions == PermitAll,
		ReadOnly: o.Permissions == PermitReading,
		Commands: o.AllowedCommands,
		Grace:    o.Grace, Linger: o.Linger,
	}
}
