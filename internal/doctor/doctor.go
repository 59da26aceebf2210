// Package doctor checks which programs are installed, which agents are logged in, and whether they
// do what a run needs.
package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/awake"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/workspace"
)

// State is the result of a finding.
type State string

// The states of findings.
const (
	OK      State = "ok"
	Note    State = "note"    // worth knowing
	Missing State = "missing" // not installed or not usable
	Bad     State = "bad"     // installed, but known not to work
	Unknown State = "unknown"
)

// Finding is one thing that the doctor examined.
type Finding struct {
	What   string        `json:"what"`
	State  State         `json:"state"`
	Detail string        `json:"detail"`
	Needed bool          `json:"needed,omitempty"` // the next run needs it
	Agent  *AgentFinding `json:"agent,omitempty"`  // set for an installed agent CLI
}

// askTimeout limits how long a program may take to print its version.
const askTimeout = 10 * time.Second

// Examination says what the doctor examines.
type Examination struct {
	Workspace workspace.Workspace
	Env       config.Env
	Version   string // of ralph
	Program   string // the path of ralph; "" if it is the one on PATH
	Probing   Probing
	Settings  config.Settings   // of the workspace
	Trouble   error             // why Settings are unknown; nil if they are known
	Tell      func(line string) // shows progress to the user; several goroutines may call it
}

// Examine reports what is installed, what is missing, and what the next run would use. It starts an
// agent only to probe it or to ask for its version, and it runs no check.
func Examine(ctx context.Context, x Examination) []Finding {
	findings := []Finding{
		x.program(ctx, "git", "optional: without it, no snapshots, commits or worktrees"),
		x.program(ctx, "sh", "needed for checks and custom commands"),
	}
	findings[1].Needed = true
	var inUse []string
	var next []Finding
	if x.Trouble == nil {
		inUse, next = x.nextRun(ctx)
	}
	agents := x.agents(ctx, inUse)
	findings = append(append(findings, agents...), x.installs(agents)...)
	findings = append(findings, x.worker(), stateFolder(x.Env), workspaceFinding(x.Workspace), x.configuration())
	findings = append(findings, next...)
	return append(findings, x.keepAwake(ctx), x.sandbox(ctx))
}

func (x Examination) program(ctx context.Context, name, without string) Finding {
	path, err := process.LookPath(name)
	if err != nil {
		return Finding{What: name, State: Missing, Detail: without}
	}
	if name == "sh" {
		return Finding{What: name, State: OK, Detail: path}
	}
	var said strings.Builder
	ended, err := process.Run(ctx, process.Spec{
		Argv: []string{path, "--version"}, Env: x.Env.Untrusted(), Timeout: askTimeout, Stdout: process.Sink{Tap: &said},
	})
	version, _, _ := strings.Cut(said.String(), "\n")
	if err != nil || ended.ExitCode != 0 || version == "" {
		return Finding{What: name, State: Unknown, Detail: path + " does not report its version"}
	}
	return Finding{What: name, State: OK, Detail: version + " at " + path}
}

// keepAwake reports whether the next run keeps the system from sleeping. No run needs it.
func (x Examination) keepAwake(ctx context.Context) Finding {
	const what = "keep awake"
	if x.Settings.KeepAwake == "off" {
		return Finding{What: what, State: Note, Detail: "off (keep_awake)"}
	}
	options := awake.Options{Env: x.Env.Untrusted(), Skip: x.Workspace.Contains}
	program, err := awake.Probe(ctx, options)
	switch {
	case err == nil:
		return Finding{What: what, State: OK, Detail: "the system does not sleep during a run, with " + program}
	case program == "":
		return Finding{What: what, State: Note, Detail: "the system may sleep during a run: no program here prevents it"}
	}
	return Finding{
		What: what, State: Note, Detail: fmt.Sprintf("the system may sleep during a run: %s: %v", program, err),
	}
}

func stateFolder(env config.Env) Finding {
	const what = "state folder"
	cannot := func(why string) Finding {
		return Finding{What: what, State: Missing, Needed: true, Detail: why + "; set RALPH_STATE_DIR"}
	}
	if env.StateDir == "" {
		return cannot("no home folder")
	}
	if err := os.MkdirAll(env.StateDir, 0o700); err != nil {
		return cannot(fmt.Sprintf("not writable: %v", err))
	}
	probe, err := os.CreateTemp(env.StateDir, ".probe-")
	if err != nil {
		return cannot(fmt.Sprintf("not writable: %v", err))
	}
	probe.Close()
	os.Remove(probe.Name())
	return Finding{What: what, State: OK, Needed: true, Detail: env.StateDir}
}

func workspaceFinding(ws workspace.Workspace) Finding {
	if !ws.Git {
		return Finding{What: "workspace", State: Note, Detail: ws.Dir + " is not under git"}
	}
	return Finding{What: "workspace", State: OK, Detail: ws.Dir}
}
