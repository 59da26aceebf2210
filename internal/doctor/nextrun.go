package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/setup"
	"github.com/ralphloop/ralph/internal/shell"
)

// Broken lists what the next run needs and what does not work.
func Broken(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		return !f.Needed || f.State != Bad && f.State != Missing
	})
}

// configuration reports whether the settings can be read.
func (x Examination) configuration() Finding {
	f := Finding{What: "configuration", State: OK, Needed: true, Detail: "no project file; ralph init writes one"}
	switch {
	case x.Trouble != nil:
		f.State, f.Detail = Bad, x.Trouble.Error()
	case setup.Look(x.Workspace).Configured:
		f.Detail = config.ProjectFile
	}
	return f
}

// nextRun reports on the agent and the checks that `ralph run` would use here. It prepares the run
// in the same way, and starts nothing of it.
func (x Examination) nextRun(ctx context.Context) (agents []string, findings []Finding) {
	fails := func(err error) {
		findings = append(findings, Finding{What: "next run", State: Bad, Needed: true, Detail: err.Error()})
	}
	checks, _ := assembly.RunChecks(x.Workspace, x.Settings)
	plan, err := x.prepare(ctx, x.Settings)
	if err != nil && len(checks) == 0 { // the rest may be broken, too
		fails(err)
		s := x.Settings
		s.AllowUnverified = true
		plan, err = x.prepare(ctx, s)
	}
	if err != nil {
		fails(err)
	}
	if plan != nil {
		agents = plan.AgentNames()
	}
	if command := x.Settings.Agent.Command; command != "" {
		findings = append(findings, x.command(ctx, "custom agent", command))
	}
	for _, check := range checks {
		findings = append(findings, x.command(ctx, "check", check))
	}
	return agents, findings
}

// prepare returns a plan even if only a key is missing.
func (x Examination) prepare(ctx context.Context, s config.Settings) (*assembly.Plan, error) {
	plan, err := assembly.Prepare(ctx, assembly.Request{
		Env: x.Env, Settings: s, Workspace: x.Workspace, Goal: x.goal(), Version: x.Version, Trusting: true,
	})
	if err != nil {
		return nil, err
	}
	return plan, plan.MissingKey()
}

// goal stands for what the user would type, where the project has no task list and no prompt.
func (x Examination) goal() *string {
	if survey := setup.Look(x.Workspace); survey.Tasks != "" || survey.Prompt != "" && survey.Prompt != setup.LoosePrompt {
		return nil
	}
	return new("a goal")
}

// command reports whether the programs of a shell command are there and start.
func (x Examination) command(ctx context.Context, what, command string) Finding {
	f := Finding{What: what, State: OK, Needed: true, Detail: command}
	for _, program := range programs(command, x.Workspace.Dir) {
		if problem := x.try(ctx, program); problem != "" {
			f.State, f.Detail = Bad, fmt.Sprintf("%s: %s", command, problem)
			break
		}
	}
	return f
}

// program is a word that a shell would start, and the folder it would do that in.
type program struct{ name, dir string }

// programs lists the programs that a command certainly starts. With || in it, a program may be
// missing on purpose.
func programs(command, dir string) (found []program) {
	list, err := shell.Parse(command)
	if err != nil {
		return nil
	}
	for _, pipeline := range list {
		for _, c := range pipeline {
			if c.Before == "||" || c.Keyword != "" {
				return nil
			}
			if len(c.Words) == 0 || strings.ContainsAny(c.Words[0].Text, shell.Marks) {
				continue
			}
			name := c.Words[0].Text
			if name == "cd" && len(c.Words) > 1 {
				dir = filepath.Join(dir, c.Words[1].Text)
				continue
			}
			found = append(found, program{name, dir})
		}
	}
	return found
}

// versionCommands are programs that answer when asked for their version. A wrapper may be on PATH
// and have nothing to start, as cargo without a toolchain.
var versionCommands = map[string]string{
	"go": "version", "cargo": "--version", "node": "--version", "npm": "--version", "npx": "--version",
	"pnpm": "--version", "yarn": "--version", "bun": "--version", "python": "--version", "python3": "--version",
	"pytest": "--version", "ruff": "--version", "mypy": "--version", "make": "--version", "golangci-lint": "version",
}

// try says what is wrong with a program, "" if nothing is.
func (x Examination) try(ctx context.Context, p program) string {
	ask := func(argv ...string) (process.Result, string, error) {
		var said strings.Builder
		ended, err := process.Run(ctx, process.Spec{
			Argv: argv, Dir: p.dir, Env: x.Env.Untrusted(), Timeout: askTimeout,
			Stdout: process.Sink{Tap: &said}, StderrToStdout: true,
		})
		return ended, said.String(), err
	}
	known, _, err := ask(append(process.Shell(`command -v -- "$1"`), "sh", p.name)...)
	switch {
	case err != nil || known.State != process.Exited:
		return "" // the shell could not be asked, which is reported for sh itself
	case known.ExitCode != 0 && strings.Contains(p.name, "/"):
		return p.name + " does not exist or is not executable"
	case known.ExitCode != 0:
		return p.name + " is not on PATH"
	}
	argument := versionCommands[p.name]
	if argument == "" {
		return ""
	}
	ended, said, err := ask(p.name, argument)
	if err != nil || ended.State != process.Exited || ended.ExitCode == 0 {
		return ""
	}
	reason, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return fmt.Sprintf("%s %s fails: %s", p.name, argument, reason)
}
