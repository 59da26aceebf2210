//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/needs"
)

// ralph take opens the conversation of the last iteration in a real terminal: the CLI shows what its agent said. When
// the person leaves it, Ralph names the command that continues the run.
func TestTakeOpensTheConversation(t *testing.T) {
	needs.Program(t, "tmux")
	both(t, func(t *testing.T, cli agentCLI) {
		script := parse(t, `{"s": {"conversations": [[{"text": "The word is marmalade."}]]}}`)
		w := newWorld(t, cli, script, "s")
		w.skipWelcome()
		if o := w.run("--check", "false", "-n", "1"); o.code != 1 {
			t.Fatalf("%d\n%s", o.code, o.stderr)
		}
		t.Cleanup(w.endDaemons)
		terminal := w.openTerminal(program + " take; echo left; cat")
		terminal.waitFor("The word is marmalade.")
		terminal.typeLine("/exit")
		terminal.waitFor("ralph: to continue: ralph resume")
	})
}

// skipWelcome answers what the CLIs ask at their first start in a terminal.
func (w *world) skipWelcome() {
	w.t.Helper()
	if w.cli.name == claude.name {
		const end = "aaaaaaaaaaaaaaaaaaaa"
		w.env["ANTHROPIC_API_KEY"] = "sk-ant-" + end
		w.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
		w.write(filepath.Join(w.home, ".claude.json"), fmt.Sprintf(`{"hasCompletedOnboarding": true, "theme": "dark",
			"customApiKeyResponses": {"approved": [%q], "rejected": []},
			"projects": {%q: {"hasTrustDialogAccepted": true}}}`, end, w.project))
		return
	}
	base := w.model.URL() + "/s"
	w.write(filepath.Join(w.home, ".codex/config.toml"), codexConfig(base)+fmt.Sprintf(
		"[features]\nplugins = false\n[projects.%q]\ntrust_level = \"trusted\"\n", w.project))
}

// endDaemons kills the programs that codex copied into the home folder and left running.
func (w *world) endDaemons() {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		path, err := os.Readlink(link)
		pid, alsoErr := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err == nil && alsoErr == nil && strings.HasPrefix(path, w.home+string(filepath.Separator)) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// terminal is a pseudo-terminal in which a command runs.
type terminal struct {
	w      *world
	socket string
}

func (w *world) openTerminal(command string) terminal {
	w.t.Helper()
	term := terminal{w, filepath.Join(w.t.TempDir(), "tmux")}
	term.tmux("new-session", "-d", "-x", "120", "-y", "50", "-s", "s", command)
	w.t.Cleanup(func() { term.tmux("kill-server") })
	return term
}

func (t terminal) tmux(args ...string) string {
	t.w.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", t.socket}, args...)...)
	cmd.Dir, cmd.Env = t.w.project, append(t.w.environ(), "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.w.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// typeLine types a line. The pause lets the CLI see keys instead of a pasted text.
func (t terminal) typeLine(line string) {
	t.w.t.Helper()
	t.tmux("send-keys", "-t", "s", "-l", line)
	time.Sleep(time.Second)
	t.tmux("send-keys", "-t", "s", "Enter")
}

func (t terminal) waitFor(text string) {
	t.w.t.Helper()
	screen := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if screen = t.tmux("capture-pane", "-p", "-S", "-", "-t", "s"); strings.Contains(screen, text) {
			return
		}
	}
	t.w.t.Fatalf("%q does not appear:\n%s", text, screen)
}
