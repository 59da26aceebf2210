package agent

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// TestUnkillableProcessesAreAFailure: an agent with a process still running has not succeeded,
// whatever it says.
func TestUnkillableProcessesAreAFailure(t *testing.T) {
	leaves := func(e ended, unkillable int, survivors ...string) ended {
		e.Unkillable, e.Survivors, e.SurvivorNames = unkillable, len(survivors), survivors
		return e
	}
	const left = "processes of the agent that could not be killed: "
	good := samples["claude"]
	timedOut := ended{Result: process.Result{State: process.TimedOut}, timeout: time.Minute}
	cases := []struct {
		name, stdout string
		end          ended
		want         ending
	}{
		{"all were killed", good, leaves(exited(0), 0, "sleep"), ending{End: ralph.EndOK}},
		{"a good end", good, leaves(exited(0), 1, "sudo"), ending{End: ralph.EndFailed, Error: left + "1 (sudo)"}},
		{"names unknown", good, leaves(exited(0), 2), ending{End: ralph.EndFailed, Error: left + "2"}},
		{"some were killed", good, leaves(exited(0), 1, "sleep", "su\x1bdo\n"), ending{
			End: ralph.EndFailed, Error: left + "1 (among sleep, sudo)",
		}},
		{"no words", claudeInit + claudeGood, leaves(exited(0), 1, "sudo"), ending{
			End: ralph.EndFailed, Error: left + "1 (sudo); the agent wrote no message",
		}},
		{"a bad end", good, leaves(exited(3), 1, "sudo"), ending{
			End: ralph.EndFailed, Error: left + "1 (sudo); the agent ended with exit status 3",
		}},
		{"a time-out", claudeInit, leaves(timedOut, 1, "sudo"), ending{
			End: ralph.EndFailed, Error: left + "1 (sudo); timed out after 1m0s",
		}},
		{"a refused login", claudeInit + claudeEnds(`"is_error":true,"api_error_status":401`), leaves(exited(1), 1, "sudo"),
			ending{End: ralph.EndAuth, Error: "the login was refused (status 401)", Hint: claudeLogin}},
		{"a limit", claudeInit + claudeEnds(`"is_error":true,"api_error_status":429`), leaves(exited(1), 1, "sudo"),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached (status 429)"}},
		{"the model's failure", claudeInit + claudeEnds(
			`"is_error":true,"api_error_status":500`,
		), leaves(exited(1), 1, "sudo"),
			ending{End: ralph.EndProvider, Error: "the model failed (status 500)"}},
		{"a missing program", "", leaves(exited(127), 1, "sudo"), ending{
			End: ralph.EndMissing, Error: "the agent was not found: agent",
		}},
		{"an interruption", good, leaves(
			ended{Result: process.Result{State: process.Canceled}, interrupted: true}, 1, "sudo",
		),
			ending{End: ralph.EndInterrupted, Error: "interrupted"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("claude", []byte(c.stdout), whole, c.end))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAGuardThatFailsIsNoMissingAgent: what Ralph could not do before the agent started is the sandbox's failure.
func TestAGuardThatFailsIsNoMissingAgent(t *testing.T) {
	denied := func(what error) error { return fmt.Errorf("%w: %w", what, syscall.EACCES) }
	for _, c := range []struct {
		err  error
		tier sandbox.Tier
		want ending
	}{
		{denied(process.ErrLimits), sandbox.Bwrap, ending{
			End: ralph.EndSandbox, Error: "sandbox bwrap: cannot limit the process tree: permission denied",
		}},
		{denied(process.ErrFilter), sandbox.Landlock, ending{
			End:   ralph.EndSandbox,
			Error: "sandbox landlock: cannot filter the connections of the process tree: permission denied",
		}},
		{denied(process.ErrLimits), sandbox.None, ending{
			End: ralph.EndSandbox, Error: "sandbox: cannot limit the process tree: permission denied",
		}},
		{denied(process.ErrGuard), sandbox.Bwrap, ending{
			End: ralph.EndSandbox, Error: "sandbox bwrap: the guard of the process tree failed: permission denied",
		}},
		{denied(process.ErrGuard), sandbox.None, ending{
			End:   ralph.EndFailed,
			Error: "the agent could not be started: the guard of the process tree failed: permission denied",
		}},
		{denied(process.ErrNotExecutable), sandbox.Bwrap, ending{
			End: ralph.EndMissing, Error: "the agent was not found: agent",
		}},
	} {
		end := ended{Result: process.Result{State: process.NotStarted, ExitCode: -1, StartError: c.err}, sandbox: c.tier}
		end.program = "agent"
		if diff := cmp.Diff(c.want, endingOf(listen("claude", nil, whole, end))); diff != "" {
			t.Errorf("%v in %s (-want +got):\n%s", c.err, c.tier, diff)
		}
	}
}

// TestComplaintsOnStandardError: some CLIs report a missing login only there. Text that an agent or
// a tool writes there must not count.
func TestComplaintsOnStandardError(t *testing.T) {
	const (
		cursorAsks = "Error: Authentication required. Please run 'agent login' first."
		cursorKey  = "⚠ Warning: The provided API key is invalid."
	)
	failed := ending{End: ralph.EndFailed, Error: "the agent ended with exit status 1: last"}
	cases := []struct {
		name, dialect, stdout, complaint string
		status                           int
		want                             ending
	}{
		{"no login", "cursor", "", cursorAsks, 1, ending{
			End: ralph.EndAuth, Error: "Authentication required. Please run 'agent login' first.", Hint: cursorLogin,
		}},
		{"a bad key", "cursor", "", cursorKey, 1, ending{End: ralph.EndAuth, Error: cursorKey, Hint: cursorLogin}},
		{"a failing server", "amp", "", "Error: API request for getUserInfo failed: 503", 1, ending{
			End: ralph.EndProvider, Error: "API request for getUserInfo failed: 503",
		}},
		{"another status", "amp", "", "Error: API request for getUserInfo failed: 404", 1, failed},
		{"text before the stream", "copilot", "hello\n", "Error: No authentication information found.", 1,
			ending{End: ralph.EndAuth, Error: "No authentication information found.", Hint: copilotLogin}},
		{"status 0", "cursor", "", cursorAsks, 0, ending{
			End: ralph.EndFailed, Error: "the agent ended without a result: last",
		}},
		{"an event was understood", "cursor", cursorInit, cursorAsks, 1, failed},
		{"within a line", "cursor", "", "I read: " + cursorAsks, 1, failed},
		{"a CLI that has events for it", "claude", "", cursorAsks, 1, failed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := exited(c.status)
			e.complaint, e.stderr = c.complaint, "last"
			if diff := cmp.Diff(c.want, endingOf(listen(c.dialect, []byte(c.stdout), whole, e))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestComplaintIsTheFirstLine(t *testing.T) {
	const complaint = "Error: No authentication information found."
	s := newStage(t, "copilot", "", "1")
	s.options.Env = append(s.options.Env, roleStderr+"=\n"+complaint+"\n\n"+strings.Repeat("log in\n", 2000)+"last")
	want := ending{End: ralph.EndAuth, Error: "No authentication information found.", Hint: copilotLogin}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s = newStage(t, "copilot", "", "1")
	s.options.Env = append(s.options.Env, roleStderr+"=first\n"+complaint)
	want = ending{End: ralph.EndFailed, Error: "the agent ended with exit status 1: " + complaint}
	if diff := cmp.Diff(want, endingOf(s.run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStatusesOfSignals: claude and others exit by themselves on an outside signal, and launchers
// report the signal of the program that they started.
func TestStatusesOfSignals(t *testing.T) {
	cases := []struct {
		dialect, stdout string
		status          int
		want            ending
	}{
		{"claude", claudeInit, 129, ending{
			End: ralph.EndKilled, Error: "the agent was terminated by a signal (exit status 129)",
		}},
		{"claude", claudeInit, 130, ending{
			End: ralph.EndKilled, Error: "the agent was terminated by a signal (exit status 130)",
		}},
		{"codex", "", 137, ending{End: ralph.EndKilled, Error: "the agent was terminated by a signal (exit status 137)"}},
		{"command", "hello\n", 143, ending{
			End: ralph.EndKilled, Error: "the agent was terminated by a signal (exit status 143)",
		}},
		{"claude", claudeInit, 131, ending{End: ralph.EndFailed, Error: "the agent ended with exit status 131"}},
		// it reports itself how it ended
		{"claude", samples["claude"], 143, ending{End: ralph.EndFailed, Error: "the agent ended with exit status 143"}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, endingOf(listen(c.dialect, []byte(c.stdout), whole, exited(c.status)))); diff != "" {
			t.Errorf("%s %d: -want +got:\n%s", c.dialect, c.status, diff)
		}
	}
}
