//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// limitFor returns a model whose usage limit is reached once and ends after reset. A CLI that gets
// a short time would wait by itself.
func limitFor(t *testing.T, reset string) scriptedmodel.Script {
	t.Helper()
	return parse(t, `{"s": {"conversations": [[{"text": "<promise>COMPLETE</promise>",
		"faults": [{"do": "status", "status": 429, "reset_in": "`+reset+`", "headers": {"Retry-After": "7200"}}]}]]}}`)
}

// subscribed makes the CLI assume a subscription: only then does Claude Code report when a limit
// ends.
func (w *world) subscribed() {
	if w.cli.name == "claude" {
		delete(w.env, "ANTHROPIC_API_KEY")
		w.env["CLAUDE_CODE_OAUTH_TOKEN"] = "no-token"
	}
}

func TestLimitStops(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, limitFor(t, "1h"), "s")
		w.subscribed()
		o := w.run("--check", "true", "--on-limit", "stop")
		if o.code != 13 || o.result.StopReason != "rate_limited" || len(w.model.Requests()) != 1 ||
			o.result.Iterations[0].Counted {
			t.Errorf("exit status %d after %d requests: %s\n%s", o.code, len(w.model.Requests()), o.stdout, o.stderr)
		}
	})
}

// A limit longer than the allowed wait stops the run at once.
func TestLimitLongerThanAllowed(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, limitFor(t, "40h"), "s")
		w.subscribed()
		o := w.run("--check", "true", "--max-wait", "6h")
		if o.code != 13 || len(w.model.Requests()) != 1 {
			t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
		}
	})
}

// The run waits until the limit ends, and the iteration that met it does not count.
func TestLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, claude, limitFor(t, "5s"), "s")
	w.subscribed()
	o := w.run("--check", "true", "-n", "1", "--set", "gate.shown=off")
	if o.code != 0 || len(o.result.Iterations) != 2 || o.result.Iterations[0].Counted || !o.result.Iterations[1].Counted {
		t.Fatalf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
	}
	// Until the reset, which is reported in whole seconds, plus a margin of 15 s.
	waits := w.events("limit_wait")
	if len(waits) != 1 {
		t.Fatalf("waits: %v", waits)
	}
	if seconds, _ := waits[0]["wait"].(float64); seconds < 15 || seconds > 21 {
		t.Errorf("it waited %v s", seconds)
	}
}

// Codex reports the minute in which its limit ends. That is too long for a test to wait, so this
// one only checks that the run waits.
func TestLimitByTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, codex, limitFor(t, "90m"), "s")
	r := w.start("--check", "true")
	waits := w.eventually("limit_wait")
	r.signal(os.Interrupt)
	o := r.wait()
	seconds, _ := waits[0]["wait"].(float64)
	// The run waits until the reported minute is over, plus the margin. Time that passed since the
	// model answered counts.
	lowest, highest := (89 * time.Minute).Seconds(), (91*time.Minute + 15*time.Second).Seconds()
	if o.code != 130 || seconds < lowest || seconds > highest {
		t.Errorf("exit status %d, waits %v\n%s", o.code, waits, o.stderr)
	}
	if !strings.Contains(o.stderr, "waiting 1h3") && !strings.Contains(o.stderr, "waiting 1h29m") {
		t.Errorf("the wait is not shown:\n%s", o.stderr)
	}
}
