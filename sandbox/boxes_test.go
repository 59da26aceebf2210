package sandbox_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/sandbox"
)

var renew = flag.Bool("renew-boxes", false, "rewrite the golden files of docker and sbx")

// box is a wall with everything that a container or a microVM knows.
var box = sandbox.Wall{
	Rules: []sandbox.Rule{
		{Path: "/home/u", Access: sandbox.Write, From: "/tmp/room/home"},
		{Path: "/tmp", Access: sandbox.Write, From: "/tmp/room/tmp"},
		{Path: "/home/u/.claude", Access: sandbox.Write},
		{Path: "/home/u/.claude/settings.json", Access: sandbox.Read},
		{Path: "/home/u/work, \"quoted\": yes", Access: sandbox.Write},
		{Path: "/home/u/work, \"quoted\": yes/.ralph.yaml", Access: sandbox.Read},
		{Path: "/home/u/work, \"quoted\": yes/AGENTS.md", Access: sandbox.Read, From: "/views/upper/AGENTS.md"},
		{Path: "/home/u/work, \"quoted\": yes/state", Access: sandbox.Hide},
		{Path: "/home/u/secret", Access: sandbox.Hide},
		{Path: "/home/u/.local", Access: sandbox.Read},
		{Path: "/home/u/.local/state/ralph", Access: sandbox.Hide},
		{Path: "/home/u/link", Access: sandbox.Link, From: "elsewhere"},
		{Path: "/usr/local/bin/ralph", Access: sandbox.Read},
	},
	Network: sandbox.Off,
	Limits:  sandbox.Limits{Memory: 1 << 30, Processes: 512},
	Box:     sandbox.Box{Name: "ralph-R1-7-1", Run: "R1", Image: "ralph-sandbox:claude", User: "1000:1000", Init: true},
}

// TestBoxes compares how a command starts in a container and in a microVM, one word of it a line.
func TestBoxes(t *testing.T) {
	agent := sandbox.Command{
		Argv: []string{"/home/u/.local/bin/claude", "-p", "two words"}, Dir: "/home/u/work, \"quoted\": yes",
		Env: []string{
			"PATH=/home/u/bin:/usr/bin", "HOME=/home/u", "TMPDIR=/tmp", "SHELL=/bin/zsh", "LANG=C", "LANG=C.UTF-8",
			"ANTHROPIC_API_KEY=not-in-the-command-line", "DOCKER_HOST=unix:///run/engine",
		},
	}
	inWorkspace := agent
	inWorkspace.Argv = []string{agent.Dir + "/agent.sh"}
	smallest := sandbox.Wall{Box: sandbox.Box{Name: "ralph-R1-7-1", Run: "R1", Image: "small"}}
	for name, enclosed := range map[string]sandbox.Command{
		"docker":              sandbox.Docker.Enclose(agent, box),
		"docker_in_workspace": sandbox.Docker.Enclose(inWorkspace, box),
		"docker_smallest":     sandbox.Docker.Enclose(sandbox.Command{Argv: []string{"true"}}, smallest),
		"sbx":                 sandbox.Sbx.Enclose(agent, box),
		"sbx_in_workspace":    sandbox.Sbx.Enclose(inWorkspace, box),
		"sbx_smallest":        sandbox.Sbx.Enclose(sandbox.Command{Argv: []string{"/usr/bin/true"}}, smallest),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".golden")
			argv, env := strings.Join(enclosed.Argv, "\n"), strings.Join(enclosed.Env, "\n")
			got := argv + "\n\nin " + enclosed.Dir + " with\n" + env + "\n"
			if *renew {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestBoxesAreRefused checks that a container without an image, and a microVM without a name or a network, are refused.
func TestBoxesAreRefused(t *testing.T) {
	unnamed, noImage, open := box, box, box
	unnamed.Box.Name, noImage.Box.Image, open.Network = "", "", sandbox.Open
	for _, c := range []struct {
		tier    sandbox.Tier
		wall    sandbox.Wall
		refused bool
	}{
		{sandbox.Docker, box, false}, {sandbox.Docker, unnamed, true}, {sandbox.Docker, noImage, true},
		{sandbox.Sbx, open, false}, {sandbox.Sbx, unnamed, true}, {sandbox.Sbx, box, true},
	} {
		if err := c.tier.Check(c.wall); (err != nil) != c.refused {
			t.Errorf("%s with %+v: %v", c.tier, c.wall.Box, err)
		}
	}
}

// TestBoxFailed checks which exit statuses blame the engine.
func TestBoxFailed(t *testing.T) {
	for _, tier := range []sandbox.Tier{sandbox.Docker, sandbox.Sbx} {
		for status, failed := range map[int]bool{0: false, 1: false, 125: true, 126: false, 127: false, 137: false} {
			if tier.Failed(status, "") != failed {
				t.Errorf("%s with %d: %v", tier, status, !failed)
			}
		}
	}
}
