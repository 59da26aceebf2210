package assembly

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/process"
	"github.com/ralphloop/ralph/verify"
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	What   string `json:"what"`
	State  string `json:"state"` // ok, missing, note, unknown
	Detail string `json:"detail"`
}

// askTimeout bounds one question to a program about its version.
const askTimeout = 10 * time.Second

// Examine says what is there, what is missing, and what that means. It starts no agent.
func Examine(ctx context.Context, ws Workspace, env config.Env) []Finding {
	findings := []Finding{
		program(ctx, env, "git", "runs work without it, but progress and diffs are coarser"),
		program(ctx, env, "sh", "checks and plain commands need it"),
	}
	agents := 0
	for _, name := range knownCLIs() {
		f := program(ctx, env, name, "not installed")
		f.What = "agent " + name
		if f.State == "ok" {
			agents++
			f.Detail += "; logged in: unknown until it runs"
		}
		findings = append(findings, f)
	}
	if agents == 0 {
		findings = append(findings, Finding{"agents", "note", "no agent CLI on PATH; any command works with --agent-cmd, and ralph demo needs none"})
	}
	return append(findings, stateFolder(env), workspaceFinding(ws), checkFinding(ws),
		Finding{"sandbox", "note", "none in this version: agents work with your rights, in their own edit mode unless --yolo"})
}

func program(ctx context.Context, env config.Env, name, without string) Finding {
	path, err := process.LookPath(name)
	if err != nil {
		return Finding{name, "missing", without}
	}
	if name == "sh" {
		return Finding{name, "ok", path}
	}
	var out strings.Builder
	ended, err := process.Run(ctx, process.Spec{
		Argv: []string{path, "--version"}, Env: env.Environ, Timeout: askTimeout, Stdout: process.Sink{Tap: &out},
	})
	if err != nil || ended.ExitCode != 0 || out.Len() == 0 {
		return Finding{name, "unknown", path + " does not tell its version"}
	}
	version, _, _ := strings.Cut(out.String(), "\n")
	return Finding{name, "ok", version + " at " + path}
}

func stateFolder(env config.Env) Finding {
	const what = "state folder"
	if env.StateDir == "" {
		return Finding{what, "missing", "no home folder is known; set RALPH_STATE_DIR"}
	}
	if err := os.MkdirAll(env.StateDir, 0o700); err != nil {
		return Finding{what, "missing", fmt.Sprintf("cannot be written: %v; set RALPH_STATE_DIR", err)}
	}
	probe, err := os.CreateTemp(env.StateDir, ".probe-")
	if err != nil {
		return Finding{what, "missing", fmt.Sprintf("cannot be written: %v; set RALPH_STATE_DIR", err)}
	}
	probe.Close()
	os.Remove(probe.Name())
	return Finding{what, "ok", env.StateDir}
}

func workspaceFinding(ws Workspace) Finding {
	if !ws.Git {
		return Finding{"workspace", "note", ws.Dir + " is not under git"}
	}
	return Finding{"workspace", "ok", ws.Dir}
}

func checkFinding(ws Workspace) Finding {
	found, ok := verify.Detect(ws.Dir)
	if !ok {
		return Finding{"check", "note", strings.TrimSpace(`none found; give one with --check. ` + found.Because)}
	}
	return Finding{"check", "ok", fmt.Sprintf("%s (%s)", found.Command, found.Because)}
}
