package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/process"
)

// sandboxBuildCommand is `ralph sandbox build`.
type sandboxBuildCommand struct{ *app }

func newSandboxBuildCommand(a *app) *cobra.Command {
	c := sandboxBuildCommand{a}
	return &cobra.Command{
		Use: "build [AGENT] [-- ARGS]", Short: "Build the image of an agent for --sandbox docker", Annotations: outside,
		Long: `Build the image that --sandbox docker runs an agent in (default: the agent that
a run here would start). It has the agent's CLI, git, curl, make, jq, ripgrep,
Python and Node.js. "command" is the image without a CLI, for custom commands
and the built-in worker. Arguments after -- go to docker build.

For other tools, begin a Dockerfile of your own with FROM ralph-sandbox:AGENT,
build it, and name its image in sandbox.image.`,
		Example: `  ralph sandbox build claude
  ralph sandbox build command -- --build-arg BASE=golang:1.25
  ralph sandbox build codex -- --no-cache`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, more := splitAtDash(cmd, args)
			if err := atMostOne(cmd, words); err != nil {
				return err
			}
			return c.run(cmd.Context(), firstOf(words), more)
		},
	}
}

// imageNames are the agents that have an image.
const imageNames = "claude, codex, gemini, opencode, qwen, command"

func (c sandboxBuildCommand) run(ctx context.Context, agent string, more []string) error {
	if agent == "" {
		_, loaded, err := c.settings(ctx, nil)
		if err != nil {
			return err
		}
		agent, err = agentOf(loaded.Settings)
		if is[*assembly.Missing](err) {
			return usage("no agent is on PATH here, so say which image to build: ralph sandbox build NAME, with one of: %s",
				imageNames)
		}
		if err != nil {
			return err
		}
	}
	if !containment.HasImage(agent) {
		return usage("there is no image for %q; choose one of: %s; or build your own and name it in sandbox.image",
			agent, imageNames)
	}
	if !c.globals.quiet {
		fmt.Fprintf(c.streams.Err, "ralph: building %s\n", containment.ImageOf(agent))
	}
	status, err := containment.BuildImage(ctx, agent, process.Attached{
		Dir: c.streams.Dir, Env: c.streams.Env.Untrusted(), Stdout: c.streams.Out, Stderr: c.streams.Err,
	}, more)
	if err != nil {
		return err
	}
	if status != 0 {
		fmt.Fprintf(c.errLines(), "ralph: docker build exited with status %d\n", status)
		return exitStatus(ralph.ExitCode(ralph.SandboxError, ""))
	}
	return nil
}

// agentOf returns the agent whose image a run with these settings needs.
func agentOf(s config.Settings) (string, error) {
	switch {
	case s.Agent.Command != "" || s.Agent.Name == config.Worker:
		return "command", nil
	case s.Agent.Name != "":
		return s.Agent.Name, nil
	}
	name, _, err := assembly.FirstAgent(s)
	return name, err
}
