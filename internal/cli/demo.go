package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/cleanup"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/demo"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
)

// demoPause is how long the scripted agent pauses before a step at speed 1. A run then takes about
// eight seconds.
const demoPause = 400 * time.Millisecond

// demoCommand is `ralph demo`.
type demoCommand struct {
	*app
	scenario string
	speed    float64
}

func newDemoCommand(a *app) *cobra.Command {
	c := &demoCommand{app: a}
	var about strings.Builder
	for _, s := range demo.Scenarios() {
		fmt.Fprintf(&about, "\n  %-9s exit %-3d %s", s.Name, s.ExitCode, s.About)
	}
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Watch the whole loop on a sample project, no key needed",
		GroupID: "work",
		Args:    noArguments,
		Long: `Run the real loop, with real checks and a real log, on a sample project with a
scripted agent. No model is called.

Scenarios:` + about.String(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&c.scenario, "scenario", "complete", "scenario to play: `NAME`")
	cmd.Flags().Float64Var(&c.speed, "speed", 1, "multiply the agent's pauses by `FACTOR`; 0 removes them")
	return cmd
}

func (c *demoCommand) run(ctx context.Context) error {
	ownOrphans(c.streams.Err)
	scenario, ok := demo.Find(c.scenario)
	if !ok {
		names := text.Mapped(demo.Scenarios(), func(s demo.Scenario) string { return s.Name })
		return usage("--scenario %s: choose one of: %s", c.scenario, strings.Join(names, ", "))
	}
	if !(c.speed >= 0 && c.speed <= 100) {
		return usage("--speed %v: choose a number from 0 to 100", c.speed)
	}
	dir, err := c.makeProject(ctx)
	if err != nil {
		return err
	}
	workspace, err := workspace.Find(ctx, dir, dir, c.streams.Env)
	if err != nil {
		return err
	}
	loaded, err := config.Load(config.Input{
		Env:   config.NewEnv(nil),
		Set:   c.globals.set,
		Flags: map[string][]string{"check": {demo.Check}},
	})
	if err != nil {
		return err
	}
	if scenario.MaxCost > 0 {
		loaded.Settings.MaxCost = scenario.MaxCost
	}
	goal := demo.Goal
	plan, err := assembly.Prepare(ctx, assembly.Request{
		Env:       c.streams.Env,
		Settings:  loaded.Settings,
		Workspace: workspace,
		Goal:      &goal,
		Version:   version(),
		Demo:      true,
		Program:   demoProgram(dir),
	})
	if err != nil {
		return err
	}
	if !c.globals.quiet {
		fmt.Fprintf(c.errLines(), "DEMO: a scripted agent on a sample project in %s; no model is called\n", dir)
	}
	return (&session{app: c.app, plan: plan}).begin(ctx)
}

// demoProgram returns the path of the scripted agent. It is next to the project, so that it is not
// part of the tree.
func demoProgram(project string) string { return filepath.Join(filepath.Dir(project), "agent") }

// makeProject creates the sample as a git repository in a new folder, with the scripted agent next
// to it.
func (c *demoCommand) makeProject(ctx context.Context) (string, error) {
	cleanup.RemoveDemos(ctx, c.streams.Env.StateDir, time.Now())
	base, err := os.MkdirTemp("", cleanup.DemoFolders)
	if err != nil {
		return "", fmt.Errorf("make demo: %w", err)
	}
	dir := filepath.Join(base, "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make demo: %w", err)
	}
	if err := demo.WriteProject(dir); err != nil {
		return "", err
	}
	if err := workspace.InitRepository(ctx, dir, c.streams.Env); err != nil {
		return "", err
	}
	self := process.Words([]string{c.streams.Self})
	script := fmt.Sprintf("#!/bin/sh\nexec %s %s --scenario %s --speed %v\n", self, demoAgentName, c.scenario, c.speed)
	if err := os.WriteFile(demoProgram(dir), []byte(script), 0o755); err != nil {
		return "", fmt.Errorf("make demo: %w", err)
	}
	return dir, nil
}

const demoAgentName = "__demo-agent"

// newDemoAgentCommand is the scripted agent. It runs in a separate process, like any agent.
func newDemoAgentCommand(a *app) *cobra.Command {
	var scenario string
	var speed float64
	cmd := &cobra.Command{
		Use: demoAgentName, Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			s, ok := demo.Find(scenario)
			if !ok {
				return usage("unknown scenario %q", scenario)
			}
			return demo.Play(s, a.streams.In, a.streams.Out, time.Duration(speed*float64(demoPause)))
		},
	}
	cmd.Flags().StringVar(&scenario, "scenario", "complete", "")
	cmd.Flags().Float64Var(&speed, "speed", 1, "")
	return cmd
}
