// Package doctor says what is installed, who is logged in, and whether it does what a run needs.
package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/workspace"
)

// State says what a finding means.
type State string

// The states of findings.
const (
	OK      State = "ok"
	Note    State = "note"    // worth knowing
	Missing State = "missing" // not there
	Bad     State = "bad"     // there, and known not to do
	Unknown State = "unknown"
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	What   string        `json:"what"`
	State  State         `json:"state"`
	Detail string        `json:"detail"`
	Needed bool          `json:"needed,omitempty"` // by the next run
	Agent  *AgentFinding `json:"agent,omitempty"`  // of an agent CLI that is installed
}

// askTimeout bounds one question to a program about its version.
const askTimeout = 10 * time.Second

// Examination is what a doctor is to look at.
type Examination struct {
	Workspace workspace.Workspace
	Env       config.Env
	Version   string // of ralph
	Probing   Probing
	Settings  config.Settings   // of the workspace
	Trouble   error             // why they are not known; nil if they are
	Tell      func(line string) // what is going on, for people; may be called by several goroutines
}

// Examine reports what is installed, what is missing, and what the next run would use. It starts an agent only for a
// probe, and no check.
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
	findings = append(findings, x.agents(ctx, inUse)...)
	findings = append(findings, x.worker(), stateFolder(x.Env), workspaceFinding(x.Workspace), x.configuration())
	findings = append(findings, next...)
	return append(findings, Finding{
		What:   "sandbox",
		State:  Note,
		Detail: "none: agents run with your permissions, in their own edit mode unless --yolo",
	})
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
		return Finding{What: name, State: Unknown, Detail: path + " does not tell its version"}
	}
	return Finding{What: name, State: OK, Detail: version + " at " + path}
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
