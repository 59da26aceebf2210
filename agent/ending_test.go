package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/process"
)

// TestUnkillableProcessesAreAFailure: an agent of which something still runs has not ended well, whatever it says.
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
		{"some were killed", good, leaves(exited(0), 1, "sleep", "su\x1bdo\n"), ending{End: ralph.EndFailed, Error: left + "1 (among sleep, sudo)"}},
		{"no words", claudeInit + claudeGood, leaves(exited(0), 1, "sudo"), ending{End: ralph.EndFailed, Error: left + "1 (sudo); the agent said nothing of its own"}},
		{"a bad end", good, leaves(exited(3), 1, "sudo"), ending{End: ralph.EndFailed, Error: left + "1 (sudo); the agent ended with exit status 3"}},
		{"a time-out", claudeInit, leaves(timedOut, 1, "sudo"), ending{End: ralph.EndFailed, Error: left + "1 (sudo); timed out after 1m0s"}},
		{"a refused login", claudeInit + claudeEnds(`"is_error":true,"api_error_status":401`), leaves(exited(1), 1, "sudo"),
			ending{End: ralph.EndAuth, Error: "the login was refused (status 401)", Hint: claudeLogin}},
		{"a limit", claudeInit + claudeEnds(`"is_error":true,"api_error_status":429`), leaves(exited(1), 1, "sudo"),
			ending{End: ralph.EndLimit, Error: "the usage limit is reached (status 429)"}},
		{"the model's failure", claudeInit + claudeEnds(`"is_error":true,"api_error_status":500`), leaves(exited(1), 1, "sudo"),
			ending{End: ralph.EndProvider, Error: "the model failed (status 500)"}},
		{"a missing program", "", leaves(exited(127), 1, "sudo"), ending{End: ralph.EndMissing, Error: "the agent was not found: agent"}},
		{"an interruption", good, leaves(ended{Result: process.Result{State: process.Canceled}, interrupted: true}, 1, "sudo"),
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
