package containment

import (
	"context"
	_ "embed" // the Dockerfile
	"fmt"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

//go:embed Dockerfile
var dockerfile string

// packages are the agents that Ralph can build an image for, with their npm packages. A custom command gets
// the image without any.
var packages = map[string]string{
	"claude":   "@anthropic-ai/claude-code",
	"codex":    "@openai/codex",
	"gemini":   "@google/gemini-cli",
	"opencode": "opencode-ai",
	"qwen":     "@qwen-code/qwen-code",
	"command":  "",
}

// HasImage reports whether Ralph can build an image for an agent.
func HasImage(agent string) bool {
	_, known := packages[agent]
	return known
}

// ImageOf returns the name of the image that Ralph builds for an agent. What it has no image for uses the
// one without a CLI.
func ImageOf(agent string) string {
	if !HasImage(agent) {
		agent = "command"
	}
	return "ralph-sandbox:" + agent
}

// BuildImage builds the image of an agent with docker, in the user's terminal. More arguments go to docker
// build. It returns docker's exit status.
func BuildImage(ctx context.Context, agent string, terminal process.Attached, more []string) (int, error) {
	d, err := reachDocker(ctx, terminal.Env, terminal.Dir)
	if err != nil {
		return 0, err
	}
	_, uid, gid := d.user(terminal.Dir)
	terminal.Argv = []string{
		d.program, "build", "--tag", ImageOf(agent), "--label", "ralph.agent=" + agent,
		"--build-arg", "PACKAGE=" + packages[agent],
		"--build-arg", fmt.Sprintf("USER_ID=%d", max(uid, 0)), "--build-arg", fmt.Sprintf("GROUP_ID=%d", max(gid, 0)),
	}
	terminal.Argv = append(append(terminal.Argv, more...), "-")
	terminal.Stdin = strings.NewReader(dockerfile)
	return process.Attach(ctx, terminal)
}
