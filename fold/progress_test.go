package fold

import (
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

func TestProgressEntries(t *testing.T) {
	long := strings.Repeat("ä", 201)
	for _, tt := range []struct {
		name string
		r    ralph.IterationResult
		want string
	}{
		{"everything known, one check red", ralph.IterationResult{
			Iteration: 1, StepsTaken: new(8), Cost: new(0.0234), Duration: ralph.Span(15200 * time.Millisecond),
			CheckResults: []ralph.CheckResult{
				{Name: "pytest tests/", Passed: true, Output: "1 failed before"},
				{Name: "ruff check src/", ExitCode: 1,
					Output: "src/auth.py:42:1: F841 local variable 'x' is assigned to but never used\n"},
			},
		}, `## Iteration 1: FAIL
- Steps: 8
- Cost: $0.0234
- Duration: 15.2s
- Checks:
  - pytest tests/: PASS
  - ruff check src/: FAIL: src/auth.py:42:1: F841 local variable 'x' is assigned to but never used
`},
		{"all green", ralph.IterationResult{
			Iteration: 2, StepsTaken: new(3), Cost: new(0.0089), Duration: ralph.Span(5100 * time.Millisecond),
			AllChecksPassed: true, CheckResults: []ralph.CheckResult{{Name: "pytest tests/", Passed: true}},
		}, `## Iteration 2: PASS
- Steps: 3
- Cost: $0.0089
- Duration: 5.1s
- Checks:
  - pytest tests/: PASS
`},
		{"nothing known", ralph.IterationResult{Iteration: 3}, `## Iteration 3: no check ran
- Steps: unknown
- Cost: unknown
- Duration: 0s
`},
		{"zero is not unknown", ralph.IterationResult{
			Iteration: 3, StepsTaken: new(0), Cost: new(0.0), Duration: ralph.Span(2 * time.Minute),
		}, `## Iteration 3: no check ran
- Steps: 0
- Cost: $0.0000
- Duration: 2m
`},
		{"a task that was only worked on, its own check, an error, refusals", ralph.IterationResult{
			Iteration: 4, Task: "T-1", Error: new("exit 1\nand much more"), Refusals: []string{"agent_failed", "tasks_open"},
			CheckResults: []ralph.CheckResult{
				{Name: "make t1", Task: "T-1", ExitCode: 2}, {Name: "slow", TimedOut: true, ExitCode: 124},
			},
		}, `## Iteration 4: FAIL
- Task: T-1
- Steps: unknown
- Cost: unknown
- Duration: 0s
- Error: exit 1
- Refused: agent_failed, tasks_open
- Checks:
  - T-1: make t1: FAIL: exit 2
  - slow: FAIL: timed out
`},
		{"a task that was proven", ralph.IterationResult{
			Iteration: 5, Task: "T-1", TasksDone: []string{"T-0", "T-1"}, AllChecksPassed: true,
			CheckResults: []ralph.CheckResult{{Name: "a", Passed: true}},
		}, `## Iteration 5: PASS
- Task: T-1 (proven)
- Steps: unknown
- Cost: unknown
- Duration: 0s
- Checks:
  - a: PASS
`},
		{"the line that says what failed, cut where it is too long", ralph.IterationResult{
			Iteration: 6, Error: new(long), CheckResults: []ralph.CheckResult{
				{Name: "go test", ExitCode: 1, Output: "\n=== RUN TestA\n   --- FAIL: TestA  \nboom"},
				{Name: "quiet", ExitCode: 1, Output: "\n\n  something is odd\nmore"},
				{Name: "loud", ExitCode: 1, Output: long},
			},
		}, `## Iteration 6: FAIL
- Steps: unknown
- Cost: unknown
- Duration: 0s
- Error: ` + long[:400] + `…
- Checks:
  - go test: FAIL: --- FAIL: TestA
  - quiet: FAIL: something is odd
  - loud: FAIL: ` + long[:400] + `…
`},
	} {
		t.Run(tt.name, func(t *testing.T) { same(t, "entry", tt.want, ProgressEntry(tt.r)) })
	}
}

func TestTheTailOfProgress(t *testing.T) {
	var s State
	same(t, "of nothing", "", s.ProgressTail())
	var entries []string
	for i := range 1000 {
		s.Iterations = append(s.Iterations, ralph.IterationResult{Iteration: i + 1})
		entries = append(entries, ProgressEntry(s.Iterations[i]))
		if i == 1 {
			same(t, "of two", strings.Join(entries, "\n"), s.ProgressTail())
		}
	}
	same(t, "of many: the newest", strings.Join(entries[1000-progressShown:], "\n"), s.ProgressTail())
}
