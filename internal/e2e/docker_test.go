//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/dockertest"
	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// dockerEngine is an engine with which a test runs agents.
type dockerEngine struct {
	dockertest.Engine
	t *testing.T
}

func startDocker(t *testing.T) dockerEngine {
	t.Helper()
	if why := dockertest.Missing(); why != "" {
		needs.Missing(t, why)
	}
	return dockerEngine{dockertest.Start(t, os.Environ()), t}
}

// project makes a workspace of another user, with a script that plays the agent.
func (d dockerEngine) project(script string) (dir string) {
	d.t.Helper()
	const nobody = 65534
	dir = filepath.Join(d.t.TempDir(), "project")
	for _, err := range []error{
		os.Mkdir(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(script), 0o644),
		os.Chown(dir, nobody, nobody),
	} {
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return dir
}

// run returns a run of the agent in a container.
func (d dockerEngine) run(dir string, more ...string) *exec.Cmd {
	return d.ralph(dir, append([]string{"--check", "test -f done", "--agent-cmd", "sh agent.sh"}, more...)...)
}

func (d dockerEngine) ralph(dir string, more ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"-C", dir, "run", "goal", "--sandbox", "docker"}, more...)...)
	cmd.Env = d.Env
	return cmd
}

func (d dockerEngine) mustBeEmpty() {
	d.t.Helper()
	left := ""
	for range 100 {
		if left, _ = d.Docker("ps", "--all", "--quiet"); left == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.t.Errorf("containers are left: %s", left)
}

func status(cmd *exec.Cmd) int { return cmd.ProcessState.ExitCode() }

// TestDocker runs agents in containers of a real engine.
func TestDocker(t *testing.T) {
	d := startDocker(t)
	t.Run("proven", d.testProven)
	t.Run("read-only reviewer", d.testReviewer)
	t.Run("time-out", func(t *testing.T) {
		d.t = t
		cmd := d.run(d.project("trap '' TERM\nsleep 1000"), "--iteration-timeout", "1s", "--once")
		if out, err := cmd.CombinedOutput(); status(cmd) != 1 || !strings.Contains(string(out), "stopped at its time limit") {
			t.Errorf("%v\n%s", err, out)
		}
		d.mustBeEmpty()
	})
	t.Run("kill -9", d.testKilled)
	t.Run("memory", d.testMemory)
	t.Run("unavailable", d.testUnavailable)
}

func (d dockerEngine) testProven(t *testing.T) {
	d.t = t
	t.Setenv("SECRET_OF_THE_HOST", "here")
	dir := d.project(`
touch /written 2>/dev/null && echo "the root can be written"
[ -n "$SECRET_OF_THE_HOST" ] && echo "a variable passed"
case $PATH in *go*) echo "PATH passed" ;; esac
[ -e /etc/passwd ] && echo "files of the host are here"
touch "$HOME/here" /tmp/here done || echo "cannot write"
{ cat calls; sleep 1; } | "` + program + `" mcp >tools 2>&1
echo '<promise>COMPLETE</promise>'
`)
	calls := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "calls"), []byte(calls), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := d.run(dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(filepath.Join(dir, "done"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 65534 {
		t.Errorf("the agent's file belongs to another user than its folder: %v, %v", info, err)
	}
	tools, err := os.ReadFile(filepath.Join(dir, "tools"))
	if err != nil || !strings.Contains(string(tools), `"tools":[{`) {
		t.Errorf("ralph mcp does not work in a container: %s, %v", tools, err)
	}
	said := exec.Command(program, "-C", dir, "logs", "--agent")
	said.Env = d.Env
	if out, err := said.CombinedOutput(); err != nil ||
		strings.Join(strings.Fields(string(out)), " ") != "iteration 1, agent command <promise>COMPLETE</promise>" {
		t.Errorf("the agent complains: %s, %v", out, err)
	}
	d.mustBeEmpty()
}

// testReviewer checks that an evaluator, which has a view of the workspace elsewhere, cannot change it here.
func (d dockerEngine) testReviewer(t *testing.T) {
	d.t = t
	dir := d.project("touch done\necho '<promise>COMPLETE</promise>'")
	reviewer := "sh -c 'touch changed; cat >/dev/null; ls /tmp >&2; echo no verdict'"
	cmd := d.run(dir, "--once", "--set", "evaluator.command="+reviewer)
	out, _ := cmd.CombinedOutput()
	_, err := os.Stat(filepath.Join(dir, "changed"))
	if err == nil || status(cmd) != 1 || !strings.Contains(string(out), "command rejects (invalid_verdict)") {
		t.Errorf("the reviewer changed the workspace, or was not asked: %d\n%s", status(cmd), out)
	}
	d.mustBeEmpty()
}

func (d dockerEngine) testKilled(t *testing.T) {
	d.t = t
	dir := d.project("touch started\nsleep 1000")
	cmd := d.run(dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if running, _ := d.Docker("ps", "--quiet", "--filter", "label="+sandbox.RunLabel); running == "" {
		t.Error("no container with a label runs")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	d.mustBeEmpty()
}

// testMemory checks that an agent which reaches its limit is said to have been killed for memory.
func (d dockerEngine) testMemory(t *testing.T) {
	d.t = t
	dir := d.project("")
	room, err := containment.Open(t.Context(), containment.Options{
		Tier: sandbox.Docker, Run: "memory", Env: d.Env, Workspace: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	spec := process.Spec{Argv: process.Shell("tail /dev/zero"), Dir: dir, Timeout: time.Minute}
	room.Enter(containment.Place{
		Workspace: dir, Image: containment.ImageOf("command"), Limits: sandbox.Limits{Memory: 32 << 20},
	})(&spec)
	ended, err := process.Run(t.Context(), spec)
	if err != nil || ended.ExitCode != 137 || !ended.OutOfMemory {
		t.Errorf("%+v, %v", ended, err)
	}
	d.mustBeEmpty()
}

// testUnavailable checks that a run which cannot have its containers ends with 4, and says what helps.
func (d dockerEngine) testUnavailable(t *testing.T) {
	d.t = t
	dir := d.project("touch started")
	for name, c := range map[string]struct {
		env, args []string
		says      string
	}{
		"program": {[]string{"PATH=/nowhere"}, nil, "docker is not on PATH; install Docker"},
		"engine":  {[]string{"DOCKER_HOST=unix:///nowhere"}, nil, "the Docker daemon at unix:///nowhere; start Docker"},
		"image": {nil, []string{"--agent", "codex"},
			"there is no image ralph-sandbox:codex; build it with: ralph sandbox build codex"},
		"own image": {nil, []string{"--set", "sandbox.image=missing:1"}, "there is no image missing:1; build or pull it"},
		"agent": {nil, []string{"--agent", "codex", "--set", "sandbox.image=" + containment.ImageOf("command")},
			"has no program codex; build or pull it"},
	} {
		cmd := d.run(dir, c.args...)
		if len(c.args) > 1 && c.args[0] == "--agent" {
			cmd = d.ralph(dir, append([]string{"--check", "true"}, c.args...)...)
		}
		cmd.Env = append(d.Env[:len(d.Env):len(d.Env)], c.env...)
		out, _ := cmd.CombinedOutput()
		if status(cmd) != 4 || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit status %d\n%s", name, status(cmd), out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("an agent started")
	}
	d.mustBeEmpty()
}
