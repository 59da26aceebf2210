package term

import (
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/promise"
)

// eventFeeder applies events to a state, as the loop does, and shows each to a view.
type eventFeeder struct {
	t         *testing.T
	state     *fold.State
	see       func(ralph.Event)
	iteration int
}

func (s *eventFeeder) feed(kind ralph.EventType, data any) {
	s.t.Helper()
	e := ralph.Event{
		Version: ralph.EventVersion, Seq: s.state.Seq + 1, Run: sampleRun, Iteration: s.iteration, Type: kind, Data: data,
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if err := s.state.Apply(e); err != nil {
		s.t.Fatal(err)
	}
	s.see(e)
}

// hostile is output by which an agent or a command may try to control the terminal.
const hostile = "a\x1b[2Jb\x1b]52;c;eA==\ac\r\nd\u202ee\x9b31m"

func seconds(s float64) ralph.Span { return ralph.Span(s * float64(time.Second)) }

// story is a run with every event that the views have a line for.
func story(s *eventFeeder) {
	steps, cost := 7, 0.25
	policy := ralph.DefaultPolicy()
	policy.MaxIterations, policy.MaxTime, policy.MaxCost, policy.MaxTokens = 4, seconds(3600), 5, 900000
	s.feed(ralph.EvRunStarted, ralph.RunStarted{
		Agent: "claude", Checks: []string{"go test ./...", "go vet ./..."}, Policy: policy,
	})
	s.feed(ralph.EvNotice, ralph.Notice{Code: "no_sandbox", Text: "no sandbox: the agent runs with your permissions"})
	s.feed(ralph.EvTreeSnapshot, ralph.TreeState{Known: true, Head: "1"})
	s.feed(ralph.EvCheckStarted, ralph.CheckStarted{Name: "go test ./..."})
	s.feed(ralph.EvCheckFinished, ralph.CheckResult{
		Name: "go test ./...", ExitCode: 1, Output: "one\n" + hostile + "\n[ralph: two " + hostile + "]",
		Hints: []string{"two " + hostile}, Duration: seconds(1.5),
	})
	s.feed(ralph.EvCheckFinished, ralph.CheckResult{Name: "go vet ./...", Passed: true, Duration: seconds(0.5)})

	s.iteration = 1
	s.feed(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 1, Of: 4})
	s.feed(ralph.EvPromptBuilt, ralph.PromptBuilt{Bytes: 100})
	s.feed(ralph.EvAgentStarted, ralph.AgentStarted{Agent: "claude"})
	s.feed(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: seconds(10), Tool: "Bash", Events: 3})
	s.feed(ralph.EvAgentExited, ralph.AgentOutcome{
		Agent: "claude", End: ralph.EndOK, Duration: seconds(75), Steps: &steps, Cost: &cost,
		Denials: []string{"Bash(rm -rf /" + hostile + ")"},
		Said:    promise.Report{Complete: true, CompleteTag: "COMPLETE", TasksDone: []string{"TASK-1", "T-2"}},
	})
	s.feed(ralph.EvTreeQuiet, ralph.TreeQuiet{Killed: 2, Names: []string{"sleep", hostile}})
	s.feed(ralph.EvTruncated, ralph.OutputTruncated{What: "agent output", Bytes: 17 << 20})
	s.feed(ralph.EvSignal, ralph.SignalSeen{Kind: "COMPLETE"})
	s.feed(ralph.EvWarning, ralph.Notice{
		Code: "unknown_promise", Text: `the agent printed a promise of unknown type "` + hostile + `"`,
	})
	s.feed(ralph.EvCheckStarted, ralph.CheckStarted{Name: hostile})
	s.feed(ralph.EvCheckFinished, ralph.CheckResult{
		Name: hostile, TimedOut: true, ExitCode: 143, Output: "waiting\nTimeout after 120s", Duration: seconds(120),
	})
	s.feed(ralph.EvCheckFinished, ralph.CheckResult{
		Name: "pytset", Broken: true, ExitCode: 127, Output: "sh: pytset: not found\n",
	})
	refused := ralph.Verdict{Action: ralph.GoOn, Claimed: true, Counted: true, Gates: []ralph.Gate{
		{Name: "checks pass", State: ralph.GateShut, Refusal: ralph.RefusedCheckFailed, Detail: hostile + " failed"},
		{Name: "nothing visibly unfinished", State: ralph.GateNoted},
	}}
	s.feed(ralph.EvClaimRefused, ralph.ClaimRefused{Refusals: refused.Refusals()})
	s.feed(ralph.EvVerdict, ralph.VerdictReached{At: ralph.Moment{Elapsed: seconds(80)}, Verdict: refused})
	s.feed(ralph.EvBreaker, ralph.BreakerMoved{
		From: ralph.BreakerClosed, To: ralph.BreakerDiagnose, Reason: "3 iterations in a row without progress",
	})
	s.feed(ralph.EvWorkStashed, ralph.WorkStashed{Task: "T-2", Iteration: 1, Base: "b", Work: "w"})
	s.feed(ralph.EvWorkRestored, ralph.WorkRestored{Task: "T-2", Iteration: 1, From: "f", To: "t"})
	s.feed(ralph.EvWorkRestored, ralph.WorkRestored{Task: "T-2", Iteration: 1, Why: hostile, Conflicts: []string{hostile}})

	s.iteration = 2
	s.feed(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 2, Of: 4, Diagnose: true})
	s.feed(ralph.EvAgentExited, ralph.AgentOutcome{
		Agent: "claude", End: ralph.EndLimit, Error: "a usage limit (status 429): " + hostile, Duration: seconds(2),
	})
	s.feed(ralph.EvVerdict,
		ralph.VerdictReached{Verdict: ralph.Verdict{Action: ralph.Wait, WaitFor: ralph.WaitLimit, Wait: seconds(60)}})
	s.feed(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitLimit, Wait: seconds(60), Detail: "usage limit: " + hostile})
	s.feed(ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitPause, Detail: "continue with ralph resume"})

	s.iteration = 3
	s.feed(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 2, Probe: true})
	s.feed(ralph.EvRunResumed, ralph.RunResumed{Agent: "codex", Policy: policy, Interrupted: 3})
	s.feed(ralph.EvRunResumed, ralph.RunResumed{Agent: "codex", Policy: policy, Judged: 3})

	s.iteration = 4
	s.feed(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 2, Of: 4})
	s.feed(ralph.EvAgentExited, ralph.AgentOutcome{
		Agent: "codex", End: ralph.EndOK, Duration: seconds(3), Said: promise.Report{Complete: true},
	})
	s.feed(ralph.EvTreeQuiet, ralph.TreeQuiet{})
	s.feed(ralph.EvCheckFinished, ralph.CheckResult{Name: "go test ./...", Passed: true, Duration: seconds(1.5)})
	s.feed(ralph.EvVerdict,
		ralph.VerdictReached{
			Verdict: ralph.Verdict{Action: ralph.Stop, Reason: ralph.AllChecksPassed, Claimed: true, Counted: true},
		})
	s.feed(ralph.EvRunStopped, ralph.RunStopped{Reason: ralph.AllChecksPassed, Status: ralph.StatusCompleted})
}

func TestLines(t *testing.T) {
	cases := []struct {
		name  string
		style Style
		demo  bool
	}{
		{name: "lines"}, {name: "lines_colour", style: Style{Color: true}}, {name: "lines_demo", demo: true},
	}
	for _, c := range cases {
		var out strings.Builder
		state := &fold.State{}
		lines := &Lines{Out: &out, Style: c.style, State: state}
		story(&eventFeeder{t: t, state: state, see: func(e ralph.Event) {
			state.Started.Demo = c.demo
			lines.See(e)
		}})
		golden(t, c.name, out.String())
		if bad := foreignControls(out.String()); bad != "" {
			t.Errorf("%s: control characters of an agent reach the terminal: %q", c.name, bad)
		}
	}
}

func TestAHandOverIsTold(t *testing.T) {
	var out strings.Builder
	state := &fold.State{}
	lines := &Lines{Out: &out, State: state}
	s := &eventFeeder{t: t, state: state, see: lines.See}
	s.feed(ralph.EvRunStarted, ralph.RunStarted{
		Workspace: "/w", Agent: "claude", Policy: ralph.Policy{Agents: []string{"claude", "codex"}},
	})
	for i, rest := range []ralph.AgentCooldown{
		{Agent: 0, Because: ralph.EndLimit, Until: seconds(100)}, {Agent: 1, Because: ralph.EndBroken},
		{Agent: 1, Because: ralph.EndAuth},
	} {
		s.iteration = i + 1
		s.feed(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 1, Agent: rest.Agent})
		s.feed(ralph.EvAgentExited, ralph.AgentOutcome{
			Agent: state.Policy.Agents[rest.Agent], End: rest.Because, Error: "no", Hint: "try it",
			Denials: []string{"Bash: rm x"}, Allow: []string{"--yolo"},
		})
		verdict := ralph.Verdict{Action: ralph.GoOn, Cooldown: &rest, Detail: "gemini takes over"}
		if rest.Because == ralph.EndAuth {
			verdict.Hint = "log in"
		}
		s.feed(ralph.EvVerdict, ralph.VerdictReached{At: ralph.Moment{Elapsed: seconds(40)}, Verdict: verdict})
	}
	golden(t, "hand_over", out.String())
}

func TestARunWithoutCapsSaysSo(t *testing.T) {
	var out strings.Builder
	state := &fold.State{}
	lines := &Lines{Out: &out, State: state}
	s := &eventFeeder{t: t, state: state, see: lines.See}
	s.feed(ralph.EvRunStarted, ralph.RunStarted{Workspace: "/w", Agent: "command"})
	s.iteration = 1
	s.feed(ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 1})
	want := "run " + sampleRun + " in /w: no iteration limit\nagent: command\niteration 1\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
