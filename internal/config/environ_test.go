package config

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewEnv(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of Unix")
	}
	for name, c := range map[string]struct {
		environ []string
		want    Env
	}{
		"nothing": {nil, Env{}},
		"home": {[]string{"HOME=/home/me"}, Env{
			Home: "/home/me", StateDir: "/home/me/.local/state/ralph", ConfigDir: "/home/me/.config/ralph",
			CacheDir: "/home/me/.cache/ralph",
		}},
		"XDG": {[]string{"HOME=/home/me", "XDG_STATE_HOME=/state", "XDG_CONFIG_HOME=/config", "XDG_CACHE_HOME=/cache"}, Env{
			Home: "/home/me", StateDir: "/state/ralph", ConfigDir: "/config/ralph", CacheDir: "/cache/ralph",
		}},
		"a relative XDG folder is ignored": {[]string{"HOME=/home/me", "XDG_STATE_HOME=state"}, Env{
			Home: "/home/me", StateDir: "/home/me/.local/state/ralph", ConfigDir: "/home/me/.config/ralph",
			CacheDir: "/home/me/.cache/ralph",
		}},
		"our own": {[]string{"RALPH_STATE_DIR=/mine", "XDG_STATE_HOME=/state", "RALPH_RUN_ID=01J"}, Env{
			StateDir: "/mine", InsideRun: "01J",
		}},
		"the surroundings": {[]string{"PATH=/bin", "SHELL=/bin/sh", "TERM=dumb", "NO_COLOR=1", "CI=true"}, Env{
			Term: "dumb", NoColor: true, CI: true,
		}},
		"GitHub":   {[]string{"GITHUB_ACTIONS=true"}, Env{CI: true, GitHubActions: true}},
		"clear no": {[]string{"CI=false", "NO_COLOR=", "GITHUB_ACTIONS=off"}, Env{}},
		"the last one counts": {[]string{"TERM=a", "=C:=x", "nonsense", "TERM=b"}, Env{
			Term: "b",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewEnv(c.environ)
			got.Environ = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironHasEachNameOnce(t *testing.T) {
	env := NewEnv([]string{"A=1", "=C:=x", "nonsense", "B=2", "A=3=4"})
	if diff := cmp.Diff([]string{"B=2", "A=3=4"}, env.Environ); diff != "" {
		t.Error(diff)
	}
	if value, ok := env.Lookup("A"); value != "3=4" || !ok {
		t.Errorf("A is %q %v", value, ok)
	}
	if value, ok := env.Lookup("C"); value != "" || ok {
		t.Errorf("C is %q %v", value, ok)
	}
}

func TestUserFile(t *testing.T) {
	if got := (Env{}).UserFile(); got != "" {
		t.Errorf("without a folder: %q", got)
	}
	if got, want := (Env{ConfigDir: "ralph"}).UserFile(), filepath.Join("ralph", "config.yaml"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFromOS(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("RALPH_STATE_DIR", "state")
	t.Setenv("RALPH_RUN_ID", "01J")
	env := FromOS()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(here, "state"); env.StateDir != want || env.InsideRun != "01J" {
		t.Errorf("%q %q, want %q and 01J", env.StateDir, env.InsideRun, want)
	}
}

func TestFromOSWithoutHome(t *testing.T) {
	t.Setenv(homeVariable(), "")
	if err := os.Unsetenv(homeVariable()); err != nil {
		t.Fatal(err)
	}
	env := FromOS()
	if env.Home != "" && env.ConfigDir == "" {
		t.Errorf("a home %q, but no folder in it", env.Home)
	}
}

func TestUnknownVariablesWarn(t *testing.T) {
	loaded := mustLoad(t, Input{Env: NewEnv([]string{
		"RALPH_MAX_ITERATION=3", "RALPH_MODEL=opus", "RALPH_ZZZ=1", "RALPH_CHECKS_TIMEOUT=5m", "RALPH_EMPTY=",
		"RALPH_STATE_DIR=/x", "RALPH_RUN_ID=1", "RALPH_PROCESS_MARKER=m", "RALPH_PROCESS_TREE=t", "RALPH_NOTIFY_TEXT=x",
		"OTHER_THING=1",
	})})
	want := []string{
		"RALPH_CHECKS_TIMEOUT is not a known variable; did you mean RALPH_CHECKS__TIMEOUT?",
		"RALPH_EMPTY is not a known variable",
		"RALPH_MAX_ITERATION is not a known variable; did you mean RALPH_MAX_ITERATIONS?",
		"RALPH_MODEL is not a known variable; did you mean RALPH_AGENT__MODEL?",
		"RALPH_ZZZ is not a known variable",
	}
	if diff := cmp.Diff(want, loaded.Warnings); diff != "" {
		t.Error(diff)
	}
}
