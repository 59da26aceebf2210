package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestTasksThatUseUpTheirTries(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   ralph.TaskRule
		again  int
		turns  []turn
		want   ralph.StopReason
		agents int
		worked string
		moves  []string
		lies   map[string]ralph.TaskStatus
	}{
		{
			"halt", ralph.TaskHalt, 0, []turn{nothing()}, ralph.TaskTries, 2, "A A", []string{"failed A"},
			map[string]ralph.TaskStatus{"A": ralph.TaskFailed, "B": ralph.TaskPending},
		},
		{
			"skip", ralph.TaskSkip, 0, []turn{nothing(), nothing(), tagging("B")}, ralph.TaskTries, 3, "A A B",
			[]string{"failed A", "done B"}, map[string]ralph.TaskStatus{"A": ralph.TaskFailed, "B": ralph.TaskDone},
		},
		{
			"skip, and another proves it", ralph.TaskSkip, 0, []turn{nothing(), nothing(), tagging("A", "B")}, ralph.TasksDone,
			3, "A A B", []string{"failed A", "done A", "done B"},
			map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone},
		},
		{
			"retry", ralph.TaskRetry, 1, []turn{nothing(), nothing(), nothing(), tagging("B"), nothing(), tagging("A")},
			ralph.TasksDone, 6, "A A B B A A", []string{"failed A", "done B", "done A"},
			map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone},
		},
		{
			"retry, in vain", ralph.TaskRetry, 1, []turn{nothing(), nothing(), tagging("B"), nothing()}, ralph.TaskTries, 5,
			"A A B A A", []string{"failed A", "done B", "failed A"},
			map[string]ralph.TaskStatus{"A": ralph.TaskFailed, "B": ralph.TaskDone},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"))
			w := listed(t, b, tt.turns...)
			w.policy.TaskTries, w.policy.OnTaskFailure, w.policy.TaskRetries = 2, tt.rule, tt.again
			result := w.ends(tt.want, tt.agents)
			same(t, "worked on", tt.worked, strings.Join(workedOn(w.log), " "))
			same(t, "moves", tt.moves, moves(w.log))
			same(t, "the list", tt.lies, b.lies())
			if code := ralph.ExitCode(tt.want, ""); result.ExitCode != code {
				t.Errorf("exit %d, want %d", result.ExitCode, code)
			}
		})
	}
	bubble(t, "a resume tries again, and so does another run", func(t *testing.T) {
		b := newMemoryTasks(entry("A"))
		w := listed(t, b, nothing())
		w.policy.TaskTries = 2
		w.ends(ralph.TaskTries, 2)
		another := listed(t, b.clone(), tagging("A"))
		another.ends(ralph.TasksDone, 1)
		again := w.resumed(b, nothing(), tagging("A"))
		again.ends(ralph.TasksDone, 2)
		same(t, "tries", []int{1, 1, 2}, func() (tries []int) {
			for _, s := range payloads[ralph.TaskSelected](again.log) {
				tries = append(tries, s.Try)
			}
			return tries
		}())
	})
	bubble(t, "what regressed takes its place", func(t *testing.T) {
		b := newMemoryTasks(entry("A", "own A"), entry("B"))
		w := listed(t, b, tagging("A"), tagging("B"), tagging("B"), tagging("A"))
		w.policy.TaskTries, w.policy.OnTaskFailure = 2, ralph.TaskSkip
		reds := map[int]bool{1: true, 2: true}
		w.options = append(w.options, WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
			if in.Name == "own A" && reds[w.agent.runs()-1] {
				return ralph.CheckResult{Name: in.Name, ExitCode: 1}
			}
			return ralph.CheckResult{Name: in.Name, Passed: true}
		})))
		w.ends(ralph.TaskTries, 4)
		same(t, "worked on", []string{"A", "B", "B", "A"}, workedOn(w.log))
		same(t, "moves", []string{"done A", "failed B", "reopened A", "done A"}, moves(w.log))
		same(t, "warnings", []ralph.Notice{
			{Code: "task_regressed", Text: "A was done, but its own check fails again"},
			{
				Code: "work_left",
				Text: "the work on an unfinished task stays in the tree: there are no snapshots to restore it from",
			},
		}, payloads[ralph.Notice](w.log))
	})
}

// The file changes when the harness writes a state into it; the next iteration has no part in that.
func TestWhatTheHarnessWritesIsNoProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		rule ralph.TaskRule
		want []bool
	}{"given up": {ralph.TaskSkip, []bool{false, false}}, "put behind": {ralph.TaskRetry, []bool{false, false}}} {
		bubble(t, name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"))
			w := listed(t, b, nothing())
			w.policy.TaskTries, w.policy.OnTaskFailure, w.policy.TaskRetries, w.policy.MaxIterations = 1, tt.rule, 1, 2
			w.checker.results = []ralph.CheckResult{isGreen}
			w.options = append(w.options, WithTree(treeOf(func() ralph.TreeState {
				return ralph.TreeState{Known: true, Hash: fmt.Sprint(b.lies())}
			})))
			w.run(t.Context())
			var progress []bool
			for _, v := range payloads[ralph.VerdictReached](w.log) {
				if v.Verdict.Row != 9 || v.Verdict.Counted {
					progress = append(progress, v.Verdict.Progress)
				}
			}
			same(t, "progress", tt.want, progress[:2])
		})
	}
}
