package goal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

const (
	defaultIterations   = 20
	defaultSummaryChars = 4000
	leastSummaryChars   = 256
)

// ShellTools are names of tools that run a shell command in common agents. Their calls are evidence only if
// the command is one of Config.Verifiers.
var ShellTools = []string{
	"sandbox_shell", "Bash", "bash", "shell", "shell_command", "local_shell", "exec_command", "execute_command",
	"run_command", "run_shell_command", "run_in_terminal", "run_terminal_cmd", "terminal",
}

// Config says what proves that a goal is reached. Declare Verifiers, or list a tool without a command in
// VerifierToolNames.
type Config struct {
	// MaxIterations is how often the agent is asked to continue. Default: 20.
	MaxIterations int
	// AllowUnverified accepts a claim without evidence. The zero value requires evidence.
	AllowUnverified bool
	// Verifiers are the commands that prove the goal. Each must pass after the last change.
	Verifiers []string
	// VerifierToolNames are the tools whose results are evidence. A call with a command counts only if the
	// command is one of Verifiers. A tool without a command, such as a browser, counts by its name. Default:
	// ShellTools.
	VerifierToolNames []string
	// ExitCodeInOutput reads the exit code of a command from its output if a result has neither ExitCode nor
	// Status: from a line of its own, or from the field exit_code, exitCode or exit_status of a JSON object.
	// The output belongs to the agent, whose program can print such a line too. So set this only if your tool
	// reports the code in every result, also of a command that failed or was stopped: then one code that is
	// not 0 is a failure. Better, set ToolResult.ExitCode.
	ExitCodeInOutput bool
	// VerifierInstructions tell the agent how to verify the goal.
	VerifierInstructions string
	// MaxRuntimeSummaryChars limits the summary and the evidence in a prompt. Default: 4000, minimum: 256.
	MaxRuntimeSummaryChars int

	// Dir is the folder that the agent works in. A command that runs elsewhere is no evidence.
	Dir string
	// Tree fingerprints the files in Dir, so that evidence from before a change does not count. plain.Tree of
	// gitrepo/plain compares their contents; gitrepo.Repo leaves out ignored files, and a commit counts as a
	// change. Without a Tree, evidence never becomes stale. A Tree that is a ralph.Stamper, as these are, also
	// notices files that change while a verifier runs and change back.
	Tree ralph.Tree
	// VerifierOutput lists files and folders that the verifiers write themselves in every run, such as
	// coverage, relative to Dir and with slashes. They may change while a verifier runs; anything else makes
	// its result stale. A folder stands for all that is in it, except for ".", which stands for the names in
	// Dir itself: list it for a verifier that creates and removes files there.
	VerifierOutput []string
	// Checker runs the Verifiers itself when the agent claims that it is done, for example verify.Shell. Then
	// the agent's own calls of these commands are no evidence. Limit its time with the context.
	Checker ralph.Checker

	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Middleware keeps an agent loop going until its goal is proven. It holds only configuration: one
// Middleware serves any number of sessions at the same time, each with its own State.
type Middleware struct {
	Config
	rules judge.EvidenceRules
}

// New checks the configuration. A configuration with which nothing could ever prove a goal is an error.
func New(c Config) (*Middleware, error) {
	c.MaxIterations = cmp.Or(c.MaxIterations, defaultIterations)
	c.MaxRuntimeSummaryChars = cmp.Or(c.MaxRuntimeSummaryChars, defaultSummaryChars)
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.VerifierToolNames) == 0 {
		c.VerifierToolNames = ShellTools
	}
	rules := judge.EvidenceRules{Commands: c.Verifiers}
	for _, name := range c.VerifierToolNames {
		if !isShellTool(name) {
			rules.Tools = append(rules.Tools, name)
		}
	}
	switch {
	case c.MaxIterations < 0:
		return nil, fmt.Errorf("MaxIterations is %d; it must be at least 1", c.MaxIterations)
	case c.MaxRuntimeSummaryChars < leastSummaryChars:
		return nil, fmt.Errorf("MaxRuntimeSummaryChars is %d; it must be at least %d", c.MaxRuntimeSummaryChars,
			leastSummaryChars)
	case slices.ContainsFunc(c.Verifiers, isBlank):
		return nil, errors.New("a command in Verifiers is empty")
	case slices.ContainsFunc(c.VerifierToolNames, isBlank):
		return nil, errors.New("a name in VerifierToolNames is empty")
	case !c.AllowUnverified && len(rules.Commands)+len(rules.Tools) == 0:
		return nil, errors.New("nothing can prove the goal: set Verifiers to the commands that do, list a tool without " +
			"a command in VerifierToolNames, or set AllowUnverified")
	}
	return &Middleware{Config: c, rules: rules}, nil
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// Meta describes the middleware to a user interface.
type Meta struct {
	SlashCommands []SlashCommand `json:"slashCommands"`
}

// SlashCommand is a command that a user interface offers. With the action insert_invocation it inserts the
// command itself, and the middleware replaces it by the template.
type SlashCommand struct {
	Name     string `json:"name"`
	ArgsHint string `json:"argsHint"`
	Action   string `json:"action"`
	Template string `json:"template"`
}

// Meta returns the slash command /goal.
func (m *Middleware) Meta() Meta {
	return Meta{SlashCommands: []SlashCommand{
		{Name: commandName, ArgsHint: "<objective>", Action: "insert_invocation", Template: commandTemplate},
	}}
}
