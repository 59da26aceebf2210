package runlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

const sampleRun = "01JZZZZZZZZZZZZZZZZZZZZZZZ"

var sampleStart = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

// script makes events in sequence, as the loop does.
type script struct {
	run    string
	seq    int64
	events []ralph.Event
}

func (s *script) add(iteration int, kind ralph.EventType, data any) {
	s.seq++
	s.events = append(s.events, ralph.Event{
		Version: ralph.EventVersion, Seq: s.seq, Time: sampleStart.Add(time.Duration(s.seq) * 1234567 * time.Nanosecond),
		Run: s.run, Iteration: iteration, Type: kind, Data: data,
	})
}

func (s *script) start() {
	s.add(0, ralph.EvRunStarted, ralph.RunStarted{
		Ralph: "1.0.0", Workspace: "/home/u/project", Goal: "make it <work> & \"hold\"\nfor good", Profile: "default",
		Agent:  "claude",
		Checks: []string{"go test ./..."}, Policy: ralph.DefaultPolicy(), Settings: []byte(`{"a":[1,2]}`), PID: 4711,
		Marker: "m",
	})
	s.add(0, ralph.EvTreeSnapshot, ralph.TreeState{
		Known: true, Head: "0123456789abcdef0123456789abcdef01234567", Hash: "base",
	})
	s.add(0, ralph.EvCheckFinished, sampleCheck(0))
}

func (s *script) iteration(n int) {
	steps, cost := 12+n%7, 0.0213
	s.add(n, ralph.EvIterationStarted, ralph.IterationStarted{
		Ordinal: n, Of: 20000, Elapsed: ralph.Span(n) * ralph.Span(time.Second),
	})
	s.add(n, ralph.EvPromptBuilt, ralph.PromptBuilt{Bytes: 4096, Hash: "5f2d1c3b9a8e7f60", Parts: []ralph.PromptPart{
		{Name: "task", Bytes: 1024, Hash: "5f2d1c3b9a8e7f60"}, {Name: "rules", Bytes: 2048, Hash: "6f2d1c3b9a8e7f60"},
		{Name: "feedback", Bytes: 1024, Truncated: true, Hash: "7f2d1c3b9a8e7f60"},
	}})
	s.add(n, ralph.EvAgentStarted, ralph.AgentStarted{Agent: "claude", Model: "large", Timeout: ralph.Span(2 * time.Hour)})
	s.add(n, ralph.EvAgentExited, ralph.AgentOutcome{
		Agent: "claude", End: ralph.EndOK, Duration: ralph.Span(71234 * time.Millisecond), Steps: &steps, Cost: &cost,
		Tokens:  &ralph.Tokens{Input: 1200, Output: 3400, CacheRead: 56000, CacheWrite: 780},
		Tools:   map[string]int{"Bash": 5, "Edit": 4, "Read": 9},
		Session: "3b1f8d1e-6a52-4a3a-9c1e-0a4d4a9e7b11", OutputBytes: 81234, Said: promise.Report{Phrases: n % 2, Text: true},
	})
	s.add(n, ralph.EvTreeQuiet, ralph.TreeQuiet{})
	s.add(n, ralph.EvTreeSnapshot, ralph.TreeState{
		Known: true, Head: "0123456789abcdef0123456789abcdef01234567", Hash: fmt.Sprintf("%032x", n), Dirty: 3,
	})
	s.add(n, ralph.EvCheckStarted, ralph.CheckStarted{Name: "go test ./..."})
	s.add(n, ralph.EvCheckFinished, sampleCheck(n))
	s.add(n, ralph.EvVerdict, ralph.VerdictReached{
		At: ralph.Moment{Elapsed: ralph.Span(n) * ralph.Span(72*time.Second)},
		Verdict: ralph.Verdict{
			Row: 10, Action: ralph.GoOn, Counted: true, Progress: true, Breaker: ralph.Breaker{State: ralph.BreakerClosed},
		},
	})
}

// sampleCheck fails in two of three iterations, with about 700 bytes of output except in the first
// ones.
func sampleCheck(n int) ralph.CheckResult {
	var output strings.Builder
	for i := range min(n, 8) {
		fmt.Fprintf(
			&output,
			"--- FAIL: TestThing%d (0.00s)\n    thing_test.go:%d: got \"%d\", want <%d>\n\tat /tmp/x%d/thing\n",
			i,
			40+i,
			n,
			i,
			n,
		)
	}
	return ralph.CheckResult{
		Name: "go test ./...", Passed: n%3 == 0, Output: output.String(), ExitCode: min(n%3, 1),
		Duration: ralph.Span(1234 * time.Millisecond),
	}
}

func (s *script) stop(reason ralph.StopReason) {
	s.add(s.events[len(s.events)-1].Iteration, ralph.EvRunStopped, ralph.RunStopped{
		Reason: reason, ExitCode: ralph.ExitCode(reason, ""), Status: ralph.StatusOf(reason), Detail: "why",
		Elapsed: ralph.Span(time.Hour),
	})
}

func openStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := Open(tb.TempDir(), tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// record writes a finished log.
func record(tb testing.TB, s *Store, run string, events []ralph.Event) {
	tb.Helper()
	log, err := s.Create(run)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range events {
		if err := log.Append(e); err != nil {
			tb.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		tb.Fatal(err)
	}
}
