package doctor

import (
	"context"
	"fmt"
	"os"
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
	case setup.LookForFiles(x.Workspace).Configured:
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
	if err != nil {
		fails(err)
	}
	if err != nil && len(checks) == 0 { // the rest may be broken, too
		s := x.Settings
		s.AllowUnverified = true
		var again error
		if plan, again = x.prepare(ctx, s); again != nil && again.Error() != err.Error() {
			fails(again)
		}
	}
	if plan != nil {
		agents = plan.Dialects()
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

// goal replaces what the user would type, where the project has no task list and no prompt.
func (x Examination) goal() *string {
	files := setup.LookForFiles(x.Workspace)
	if files.Tasks != "" || files.Prompt != "" && files.Prompt != setup.LoosePrompt {
		return nil
	}
	return new("a goal")
}

// command reports whether the program of a shell command is there and starts.
func (x Examination) command(ctx context.Context, what, command string) Finding {
	f := Finding{What: what, State: OK, Needed: true, Detail: command}
	name, dir, certain := firstProgram(command, x.Workspace.Dir)
	if !certain {
		return f
	}
	if problem := x.try(ctx, name, dir); problem != "" {
		f.State, f.Detail = Bad, fmt.Sprintf("%s: %s", command, problem)
	}
	return f
}

// firstProgram returns the program that a command certainly starts, and the folder in which it does. Only
// `cd FOLDER &&` may come before it. What comes after it may be made by it, or be missing on purpose.
func firstProgram(command, dir string) (name, folder string, certain bool) {
	list, err := shell.Parse(command)
	if err != nil {
		return "", "", false
	}
	for _, pipeline := range list {
		c := pipeline[0]
		constant := len(c.Words) > 0 && !strings.ContainsAny(c.Words[0].Text, shell.Marks)
		if c.Keyword != "" || !constant || c.Before != "" && c.Before != "&&" {
			return "", "", false
		}
		if c.Words[0].Text != "cd" {
			alternative := slices.ContainsFunc(list, func(p shell.Pipeline) bool { return p[0].Before == "||" })
			return c.Words[0].Text, dir, !alternative
		}
		if len(c.Words) != 2 || strings.ContainsAny(c.Words[1].Text, shell.Marks) || c.Words[1].Home {
			return "", "", false
		}
		if target := c.Words[1].Text; filepath.IsAbs(target) {
			dir = target
		} else {
			dir = filepath.Join(dir, target)
		}
	}
	return "", "", false
}

// versionCommands are programs that answer when asked for their version. A wrapper may be on PATH and have nothing to
// start, as cargo without a toolchain.
var versionCommands = map[string]string{
	"go": "version", "cargo": "--version", "node": "--version", "npm": "--version", "npx": "--version",
	"pnpm": "--version", "yarn": "--version", "bun": "--version", "python": "--version", "python3": "--version",
	"pytest": "--version", "ruff": "--version", "mypy": "--version", "make": "--version", "golangci-lint": "version",
}

// try says what is wrong with a program, "" if nothing is.
func (x Examination) try(ctx context.Context, name, dir string) string {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return dir + " is not a folder"
	}
	known, _, err := x.ask(ctx, dir, append(process.Shell(`command -v -- "$1"`), "sh", name)...)
	switch {
	case err != nil || known.State != process.Exited:
		return "" // the shell could not be asked, which is reported for sh itself
	case known.ExitCode != 0 && strings.Contains(name, "/"):
		return name + " does not exist or is not executable"
	case known.ExitCode != 0:
		return name + " is not on PATH"
	}
	argument := versionCommands[name]
	if argument == "" {
		return ""
	}
	// In an empty folder: in the workspace, some programs would load the repository's files.
	empty, err := os.MkdirTemp("", "ralph-doctor-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(empty)
	ended, said, err := x.ask(ctx, empty, name, argument)
	if err != nil || ended.State != process.Exited || ended.ExitCode == 0 {
		return ""
	}
	reason, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return fmt.Sprintf("%s %s fails: %s", name, argument, reason)
}

// ask runs a program and returns the beginning of its output.
func (x Examination) ask(ctx context.Context, dir string, argv ...string) (process.Result, string, error) {
	said := &beginning{}
	ended, err := process.Run(ctx, process.Spec{
		Argv: argv, Dir: dir, Env: x.Env.Untrusted(), Timeout: askTimeout,
		Stdout: process.Sink{Tap: said}, StderrToStdout: true,
	})
	return ended, string(said.text), err
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const limit = 4 << 10
	b.text = append(b.text, p[:min(len(p), max(limit-len(b.text), 0))]...)
	return len(p), nil
}
