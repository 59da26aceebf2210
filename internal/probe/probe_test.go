package probe

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/agent"
)

// link returns a fake CLI with a defect.
func link(t *testing.T, defect string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no probe on Windows")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fake-"+defect)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// surroundings keep a program built with the race detector from sleeping for a second when it
// exits.
func surroundings() []string { return append(os.Environ(), "GORACE=atexit_sleep_ms=0") }

func claude(t *testing.T) agent.Dialect {
	t.Helper()
	d, ok := agent.Find("claude")
	if !ok {
		t.Fatal("there is no claude")
	}
	return d
}

// Each aspect fails for its own reason, and only the affected one fails.
func TestDefects(t *testing.T) {
	const (
		notWell   = "the run did not succeed"
		elsewhere = "the CLI never called the scripted model"
		noTwo     = "fewer than two runs succeeded"
		noShell   = "the local model could not make it run a command"
	)
	ok := Aspect{State: OK}
	failed := func(why string) Aspect { return Aspect{Failed, why} }
	unknown := func(why string) Aspect { return Aspect{Unknown, why} }
	unusable := func(stream Aspect) Report {
		return Report{stream, unknown(notWell), unknown(notWell), unknown(noTwo), true}
	}
	for defect, want := range map[string]Report{
		"none": {ok, ok, ok, ok, true},
		"nonsense": unusable(failed(
			"with permissions bypassed the run ended as broken: the agent's output could not be understood; its " +
				"format may be new",
		)),
		"unknown-flag": unusable(failed(
			"with permissions bypassed the run ended as broken: the agent ended with exit status 1: error: unknown " +
				"option '--verbose'",
		)),
		"unfinished": unusable(failed(
			"with permissions bypassed the run ended as broken: the agent ended without a result",
		)),
		"bad-status": unusable(failed(
			"with permissions bypassed the run ended as broken: the agent ended with exit status 3",
		)),
		"shim": unusable(unknown(
			"it does not start with a different home folder, which is common for programs installed by a version manager",
		)),
		"login": unusable(unknown("it requires a login before it calls the local model: " +
			"the login was refused: Not logged in · Please run /login")),
		"absent-minded":    {unknown(elsewhere), unknown(elsewhere), unknown(elsewhere), unknown(elsewhere), true},
		"renamed-tools":    {ok, unknown(noShell), unknown(noShell), ok, true},
		"easily-hurt":      {ok, ok, ok, ok, true}, // it ends when something is denied
		"shell-less-edits": {ok, ok, unknown(noShell), ok, true},
		"tagless":          {ok, failed("the tag that the model wrote did not arrive"), ok, ok, true},
		"parrot":           {ok, failed("a tag that a tool printed counted as the agent's own"), ok, ok, true},
		"unmetered":        {ok, failed("no tokens were reported"), ok, ok, true},
		"never-bypassing": {
			ok, unknown("the tool that prints a tag did not run"),
			failed("with permissions bypassed a command did not run (denied: Bash: cat notes.txt; echo ran > ran.txt)"),
			ok, true,
		},
		"permissive":     {ok, ok, failed("in edit mode a forbidden command ran"), ok, true},
		"silent-denials": {ok, ok, failed("in edit mode a command was refused, but not reported as such"), ok, true},
		"one-session":    {ok, ok, ok, failed("two runs shared one session"), true},
		"remembering":    {ok, ok, ok, failed("the second run started with the conversation of the first"), true},
		"leaky":          {ok, ok, ok, failed("a run started the user's own hook and MCP server"), true},
		"without-plants": {ok, ok, ok, unknown("sessions are separate; unknown whether the user's own hooks and " +
			"MCP servers stay out: " +
			"a run that inherits them started 0 of 2"), true},
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			got, err := Run(t.Context(), Subject{
				Dialect: claude(t), Version: fakeVersion, Path: link(t, defect), Env: surroundings(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A refused command is quoted with paths of the temporary folder, so only the beginning is
// compared.
func TestRefusals(t *testing.T) {
	for defect, want := range map[string]string{
		"never-editing": "in edit mode a file was not edited (denied: Write: ",
		"never-checking": "in edit mode the allowed command did not run (denied: Bash: awk -f check.awk; Bash: " +
			"echo forbidden > ",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			got, err := Run(t.Context(), Subject{
				Dialect: claude(t), Version: fakeVersion, Path: link(t, defect), Env: surroundings(),
			})
			if err != nil {
				t.Fatal(err)
			}
			detail := got.Permission.Detail
			got.Permission.Detail = detail[:min(len(detail), len(want))]
			ok := Aspect{State: OK}
			if diff := cmp.Diff(Report{ok, ok, Aspect{Failed, want}, ok, true}, got); diff != "" {
				t.Errorf("%s\n%s", detail, diff)
			}
		})
	}
}

func TestHangingCLIIsUnknown(t *testing.T) {
	got, err := Run(t.Context(), Subject{
		Dialect: claude(t), Version: fakeVersion, Path: link(t, "hanging"), Env: surroundings(),
		Limit: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Settled || got.State() != Unknown || got.Stream.State != Unknown {
		t.Errorf("%+v", got)
	}
}

func TestInterruptedProbeIsNotSettled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := Run(ctx, Subject{Dialect: claude(t), Version: fakeVersion, Path: link(t, "none"), Env: surroundings()})
	if err != nil {
		t.Fatal(err)
	}
	want := Report{
		Stream: Aspect{Unknown, "interrupted"}, Tag: Aspect{Unknown, "the run did not succeed"},
		Permission: Aspect{Unknown, "the run did not succeed"}, Isolation: Aspect{Unknown, "fewer than two runs succeeded"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMissingProgramFails(t *testing.T) {
	link(t, "none")
	got, err := Run(t.Context(), Subject{
		Dialect: claude(t), Path: filepath.Join(t.TempDir(), "claude"), Env: surroundings(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Stream.State != Failed || got.State() != Failed {
		t.Errorf("%+v", got)
	}
}

func TestCLIWithoutARow(t *testing.T) {
	d, ok := agent.Find("aider")
	if !ok {
		t.Fatal("there is no aider")
	}
	got, err := Run(t.Context(), Subject{Dialect: d, Path: "/nowhere/aider"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Impossible(), got); diff != "" || Possible(d) {
		t.Errorf("possible: %v\n%s", Possible(d), diff)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	program, temp := link(t, "none"), t.TempDir()
	t.Setenv("TMPDIR", temp)
	if _, err := Run(t.Context(), Subject{
		Dialect: claude(t), Version: fakeVersion, Path: program, Env: surroundings(),
	}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// Every row is about an existing CLI.
func TestRowsAreOfKnownDialects(t *testing.T) {
	for name := range rows {
		d, ok := agent.Find(name)
		if !ok || d.About().Program == "" {
			t.Errorf("%s is no known CLI", name)
		}
	}
}

// The user's own files must not reach a CLI under probe.
func TestEnvironmentHasNothingOfTheUser(t *testing.T) {
	s := &scene{home: "/probe/home", temp: "/probe/tmp"}
	p := &probing{Subject: Subject{Env: []string{
		"PATH=/bin", "LANG=C", "HOME=/home/me", "XDG_CONFIG_HOME=/home/me/.config", "HTTPS_PROXY=http://proxy",
		"SSH_AUTH_SOCK=/s", "RALPH_TRUST=1",
		"GIT_CONFIG_GLOBAL=/home/me/.gitconfig", "TMPDIR=/home/me/tmp",
	}}, scene: s}
	want := []string{
		"PATH=/bin", "LANG=C", "HOME=/probe/home", "USERPROFILE=/probe/home", "TMPDIR=/probe/tmp",
		"XDG_CONFIG_HOME=/probe/home/.config", "XDG_DATA_HOME=/probe/home/.local/share",
		"XDG_STATE_HOME=/probe/home/.local/state",
		"XDG_CACHE_HOME=/probe/home/.cache", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
	if diff := cmp.Diff(want, p.environment()); diff != "" && runtime.GOOS != "windows" {
		t.Error(diff)
	}
}
