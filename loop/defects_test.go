package loop

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
)

// lostResult is a log whose result cannot be written.
type lostResult struct{ *memoryLog }

func (lostResult) WriteResult(ralph.Result) error { return errDisk }

func TestAResultThatCannotBeWrittenIsOneEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hooks fakeHooks
		var ends []ralph.StopReason
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithRecorder(lostResult{w.log}), WithHooks(&hooks), WithObserver(func(e ralph.Event) {
			if stopped, ok := e.Data.(ralph.RunStopped); ok {
				ends = append(ends, stopped.Reason)
			}
		}))
		result := w.run(t.Context())
		same(t, "result", ralph.IOFailed, result.StopReason)
		same(t, "run_stopped that observers saw", []ralph.StopReason{ralph.IOFailed}, ends)
		var heard []ralph.StopReason
		for _, end := range hooks.ends {
			heard = append(heard, end.Reason)
		}
		same(t, "ends that on_stop heard", []ralph.StopReason{ralph.IOFailed}, heard)
	})
}

func TestAPreviewLeavesTheLoopAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithObserver(func(ralph.Event) { seen++ }))
		w.make()
		before, err := w.loop.Preview(t.Context())
		if err != nil || before.Text == "" {
			t.Fatalf("preview %q, %v", before.Text, err)
		}
		if again, err := w.loop.Preview(t.Context()); err != nil || again.Text != before.Text {
			t.Errorf("a second preview differs: %v", err)
		}
		same(t, "events of a preview", 0, seen+len(w.log.events))
		w.ends(ralph.AllChecksPassed, 1)
		if len(w.log.events) == 0 || seen != len(w.log.events) || payloads[ralph.RunStarted](w.log) == nil {
			t.Errorf("%d events were recorded and %d seen after a preview", len(w.log.events), seen)
		}
	})
}

func TestARunThatCannotStartLeavesNothingBehind(t *testing.T) {
	t.Run("a missing spec in a new worktree", func(t *testing.T) {
		shop := &workshop{dir: t.TempDir(), tree: &fakeTree{}}
		w := newWorld(t, done())
		w.cfg.UseWorktree, w.cfg.Dir, w.cfg.SpecFile, w.cfg.Task = true, t.TempDir(), "missing.md", ""
		w.options = append(w.options, WithWorktrees(shop))
		w.make()
		if _, err := w.loop.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "missing.md") {
			t.Errorf("error %v", err)
		}
		same(t, "removed", []ralph.Worktree{{Path: shop.dir, Branch: "ralph/R1", Base: "c0"}}, shop.removed)
		same(t, "events", 0, len(w.log.events))
	})
	t.Run("a task list that cannot be read", func(t *testing.T) {
		b := newMemoryTasks(entry("A"))
		b.spoil()
		w := newWorld(t, done())
		w.options = append(w.options, WithTasks(b))
		w.make()
		if _, err := w.loop.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "read task list") {
			t.Errorf("error %v", err)
		}
		same(t, "events", 0, len(w.log.events))
	})
}

func panicInTheAgent() { panic("the agent broke") }

func TestAPanicOfAnAgentKeepsItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, ralph.AgentInput) ralph.AgentOutcome {
			panicInTheAgent()
			return ralph.AgentOutcome{}
		})
		result := w.run(t.Context())
		same(t, "result", ralph.Internal, result.StopReason)
		for _, n := range payloads[ralph.Notice](w.log) {
			if n.Code == "panic" && strings.Contains(n.Text, "panicInTheAgent") {
				return
			}
		}
		t.Errorf("no stack names the function that panicked: %v", payloads[ralph.Notice](w.log))
	})
}

// brokenDiff is a tree that panics when it is asked what changed.
type brokenDiff struct{ *fakeTree }

func (brokenDiff) Changed(context.Context, string) (string, error) { panic("the tree broke") }

// brokenLog panics when the result is written.
type brokenLog struct{ *memoryLog }

func (brokenLog) WriteResult(ralph.Result) error { panic("the log broke") }

func TestAPanicAtTheEndDoesNotLeaveRun(t *testing.T) {
	bubble(t, "in the tree", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithTree(brokenDiff{w.tree}))
		result := w.run(t.Context())
		same(t, "result", ralph.Internal, result.StopReason)
		same(t, "verified", false, result.Verified)
	})
	bubble(t, "in the log", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithRecorder(brokenLog{w.log}))
		result := w.run(t.Context())
		same(t, "result", ralph.IOFailed, result.StopReason)
	})
}

func TestALoopRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.ends(ralph.AllChecksPassed, 1)
		if _, err := w.loop.Run(t.Context()); err == nil {
			t.Error("it ran again")
		}
		same(t, "run_started", 1, len(payloads[ralph.RunStarted](w.log)))
	})
}

func TestManyCallsAreWarnedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			time.Sleep(14 * time.Minute)
			return nothing()(ctx, in)
		})
		w.policy.CallsPerHour, w.policy.MaxIterations, w.policy.Breaker = 5, 12, ralph.BreakerPolicy{}
		w.ends(ralph.MaxIterations, 12)
		warned := 0
		for _, code := range notices(w.log) {
			if code == "calls_per_hour" {
				warned++
			}
		}
		same(t, "warnings", 1, warned)
	})
}

func TestAnotherInterruptCutsTheHooksOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		hooks := fakeHooks{stop: func(ctx context.Context, _ ralph.RunEnd) []ralph.HookRun {
			if ctx.Err() != nil {
				t.Error("the kill of the run reached its last hook")
			}
			<-ctx.Done()
			return nil
		}}
		w := newWorld(t, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			kill(ralph.Killed{Signal: ralph.SignalInterrupt})
			return nothing()(ctx, in)
		})
		w.options = append(w.options, WithHooks(&hooks))
		w.make()
		time.AfterFunc(time.Hour, w.loop.Abandon)
		result := w.run(ctx)
		same(t, "result", ralph.Interrupted, result.StopReason)
		same(t, "hooks of the end", 1, len(hooks.ends))
	})
}

func TestAnEndThatIsNotRecordedLeavesNoBetterResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.log.onAppend = func(e ralph.Event) {
			if e.Type == ralph.EvVerdict {
				w.log.failAt = w.log.ops + 3 // after a sync and the first result: run_stopped
			}
		}
		result := w.run(t.Context())
		same(t, "result", ralph.IOFailed, result.StopReason)
		if len(w.log.results) == 0 {
			t.Fatal("no result was written")
		}
		for _, kept := range w.log.results {
			if kept.ExitCode == 0 || kept.Success || kept.Verified {
				t.Errorf("a result on disk says exit %d, success %v, verified %v", kept.ExitCode, kept.Success, kept.Verified)
			}
		}
	})
}

func TestAnAgentThatEndsItsGoroutineEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, ralph.AgentInput) ralph.AgentOutcome {
			runtime.Goexit()
			return ralph.AgentOutcome{}
		})
		same(t, "result", ralph.Internal, w.run(t.Context()).StopReason)
	})
}

func TestTheOrderOfOptionsDoesNotMatter(t *testing.T) {
	for name, order := range map[string]func(policy, evaluator Option) []Option{
		"the policy last":    func(policy, evaluator Option) []Option { return []Option{evaluator, policy} },
		"the evaluator last": func(policy, evaluator Option) []Option { return []Option{policy, evaluator} },
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, done())
			w.policy.MaxIterations = 1
			w.checker.results = []ralph.CheckResult{isRed, isGreen}
			no := &fakeEvaluator{verdicts: []ralph.Evaluation{rejects(ralph.RejectedGap, "half of it is missing")}}
			w.options = append(w.options, order(WithPolicy(w.policy), WithEvaluator("critic", no))...)
			same(t, "result", ralph.MaxIterations, w.run(t.Context()).StopReason)
		})
	}
	worktree := ralph.Worktree{Path: "/w", Branch: "b"}
	for _, options := range [][]Option{
		{WithRun("R1", ralph.RunStarted{Ralph: "test"}), WithWorktree(worktree)},
		{WithWorktree(worktree), WithRun("R1", ralph.RunStarted{Ralph: "test"})},
	} {
		w := newWorld(t, done())
		w.options = options
		w.make()
		same(t, "worktree", &worktree, w.loop.startedEvent().Worktree)
	}
}

func TestAbandonWaitsForAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := fakeHooks{stop: func(ctx context.Context, _ ralph.RunEnd) []ralph.HookRun {
			if ctx.Err() != nil {
				t.Error("a hook of a run that was not killed is cut short")
			}
			return nil
		}}
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithHooks(&hooks))
		w.make()
		w.loop.Abandon()
		ctx, ended := w.loop.run.detachedContext(t.Context())
		synctest.Wait()
		same(t, "before a kill", nil, ctx.Err())
		ended()
		w.ends(ralph.AllChecksPassed, 1)
	})
}

// brokenAppend panics when the end of a run is recorded.
type brokenAppend struct{ *memoryLog }

func (b brokenAppend) Append(e ralph.Event) error {
	if e.Type == ralph.EvRunStopped {
		panic("the log broke")
	}
	return b.memoryLog.Append(e)
}

// brokenLook is a tree that panics from some look on.
type brokenLook struct {
	*fakeTree
	left int
}

func (b *brokenLook) Fingerprint(ctx context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	if b.left--; b.left < 0 {
		panic("the tree broke")
	}
	return b.fakeTree.Fingerprint(ctx, in)
}

func TestAPanicOfAPartDoesNotLeaveRun(t *testing.T) {
	bubble(t, "when the end is recorded", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(w.options, WithRecorder(brokenAppend{w.log}))
		same(t, "result", ralph.IOFailed, w.run(t.Context()).StopReason)
	})
	for looks := range 4 {
		bubble(t, fmt.Sprintf("after %d looks at the tree", looks), func(t *testing.T) {
			w := newWorld(t, done())
			w.checker.results = []ralph.CheckResult{isRed, isGreen}
			hooks := fakeHooks{stop: func(context.Context, ralph.RunEnd) []ralph.HookRun {
				return []ralph.HookRun{{Hook: ralph.OnStop}}
			}}
			w.options = append(w.options, WithTree(&brokenLook{w.tree, looks}), WithHooks(&hooks))
			result := w.run(t.Context())
			if result.StopReason != ralph.Internal && (looks < 2 || result.StopReason != ralph.AllChecksPassed) {
				t.Errorf("ended with %s", result.StopReason)
			}
		})
	}
}

func TestAGoalThatCannotBeReadLeavesTheListAlone(t *testing.T) {
	b := newMemoryTasks(entry("A"))
	b.edit(func(file []ralph.Task) []ralph.Task { return append(file, entry("B")) })
	w := newWorld(t, done())
	w.cfg.Dir, w.cfg.SpecFile, w.cfg.Task = t.TempDir(), "missing.md", ""
	w.options = append(w.options, WithTasks(b))
	w.make()
	if _, err := w.loop.Run(t.Context()); err == nil {
		t.Error("it started")
	}
	same(t, "tasks that were adopted", 1, len(b.List()))
}
