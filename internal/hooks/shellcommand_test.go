//go:build unix

package hooks

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/hooks/deny"
)

// repository is a real one, with these settings.
func repository(t *testing.T, settings ...deny.Setting) (dir string, s *Set) {
	t.Helper()
	dir = t.TempDir()
	s = testSet()
	s.Env = append(s.Env, "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	s.ToolEnv = s.Env
	commands := [][]string{{"init", "-q", "."}}
	for _, setting := range settings {
		commands = append(commands, []string{"config", setting.Key, setting.Value})
	}
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, s.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir, s
}

// decide returns what becomes of a shell command: the reason if it is blocked.
func (s *Set) decide(t *testing.T, dir, command string) string {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return s.BeforeTool(t.Context(), call(dir, "bash", string(input))).Text
}

func TestGitSettingsOfARepository(t *testing.T) {
	want := []deny.Setting{{Key: "alias.x", Value: "push\n --force"}, {Key: "remote.O.push", Value: "+main"}}
	dir, s := repository(t, want...)
	got := map[string]bool{}
	for _, setting := range s.gitSettings(t.Context(), dir) {
		got[setting.Key+"="+setting.Value] = true
	}
	for _, setting := range want {
		if !got[setting.Key+"="+setting.Value] {
			t.Errorf("%+v is missing in %v", setting, got)
		}
	}
	if got := s.gitSettings(t.Context(), filepath.Join(dir, "nonexistent")); got != nil {
		t.Errorf("in a folder that does not exist: %+v", got)
	}
}

// TestAliasesOfARepository is finding 11 about real agents: an alias that an earlier command made
// hid a forced push.
func TestAliasesOfARepository(t *testing.T) {
	dir, s := repository(t,
		deny.Setting{Key: "alias.x", Value: "push --force"}, deny.Setting{Key: "alias.s", Value: "status"})
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	const (
		push = "refused: a forced push overwrites other people's work; push without force"
		many = "refused: this throws away the uncommitted edits of more than one file; name each file that you want to " +
			"undo, or keep the edits with git stash"
	)
	got := map[string]string{}
	want := map[string]string{
		"git x": push, "git s": "", "cd src && git x": push, "git restore src": many, "git restore a.go": "",
	}
	for command := range want {
		got[command] = s.decide(t, dir, command)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStrict(t *testing.T) {
	dir, s := repository(t)
	s.ToolEnv = append(s.ToolEnv, "TOOL=ls", "FORCE=-f")
	const why = "refused: in strict mode a command must show what it does, and the name of a command is only known when " +
		"it runs: $(…); write out what it runs"
	for _, strict := range []bool{false, true} {
		s.Strict = strict
		want := map[string]string{
			"$(cat x) y": "", "$TOOL": "", "$NOT_SET ls": "", "make test": "",
			"git push $FORCE": "refused: a forced push overwrites other people's work; push without force",
		}
		if strict {
			want["$(cat x) y"] = why
		}
		got := map[string]string{}
		for command := range want {
			got[command] = s.decide(t, dir, command)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("strict %v (-want +got):\n%s", strict, diff)
		}
	}
}
