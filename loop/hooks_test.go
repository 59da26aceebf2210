package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// fakeHooks answers as the test says and keeps what it was told.
type fakeHooks struct {
	before func(ctx context.Context, next ralph.IterationAhead) []ralph.HookRun
	after  func(ctx context.Context, judged ralph.IterationJudged) []ralph.HookRun
	stop   func(ctx context.Context, end ralph.RunEnd) []ralph.HookRun
	ahead  []ralph.IterationAhead
	judged []ralph.IterationJudged
	ends   []ralph.RunEnd
}

func (f *fakeHooks) BeforeIteration(ctx context.Context, next ralph.IterationAhead) []ralph.HookRun {
	f.ahead = append(f.ahead, next)
	if f.before == nil {
		return nil
	}
	return f.before(ctx, next)
}

func (f *fakeHooks) AfterIteration(ctx context.Context, judged ralph.IterationJudged) []ralph.HookRun {
	f.judged = append(f.judged, judged)
	if f.after == nil {
		return nil
	}
	return f.after(ctx, judged)
}

func (f *fakeHooks) AtStop(ctx context.Context, end ralph.RunEnd) []ralph.HookRun {
	f.ends = append(f.ends, end)
	if f.stop == nil {
		return nil
	}
	return f.stop(ctx, end)
}

func (w *world) withHooks() *fakeHooks {
	f := &fakeHooks{}
	w.options = append(w.options, WithHooks(f))
	return f
}

func blocking(text string) []ralph.HookRun {
	return []ralph.HookRun{{Hook: ralph.PreIteration, By: "sh guard.sh", Decision: ralph.HookBlocks, Text: text}}
}

// mustFoldTheSame holds a state that was folded from the log against that of the loop.
func (w *world) mustFoldTheSame() {
	w.t.Helper()
	again := mustReplay(w.t, w.log.events)
	if diff := cmp.Diff(*w.loop.State(), again, cmp.AllowUnexported(judge.History{}), cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("live (-) and replayed (+) state differ:\n%s", diff)
	}
}

// replays gives the verdicts of the log as explain and replay do.
func (w *world) replays() []fold.Judgement {
	w.t.Helper()
	again, err := fold.Replay(func(yield func(ralph.Event, error) bool) {
		for _, e := range w.log.events {
			if !yield(throughJSON(w.t, e), nil) {
				return
			}
		}
	}, func(p ralph.Policy) ralph.Policy { return p })
	if err != nil {
		w.t.Fatal(err)
	}
	for _, j := range again {
		if !j.Same() {
			w.t.Errorf("a verdict on iteration %d is another one in replay: %+v", j.Iteration, j)
		}
	}
	return again
}

func TestAHookThatBlocksKeepsTheIterationFromStarting(t *testing.T) {
	bubble(t, "the first", func(t *testing.T) {
		w := newWorld(t, done())
		f := w.withHooks()
		f.before = func(context.Context, ralph.IterationAhead) []ralph.HookRun { return blocking("the freeze\nis on  ") }
		result := w.ends(ralph.Blocked, 0)
		same(t, "code, reason and iterations", []any{2, "the freeze is on", 0}, []any{
			result.ExitCode, result.Reason, result.TotalIterations,
		})
		same(
			t,
			"told",
			[]ralph.Notice{{Code: ralph.NoticeHookBlocks, Text: "pre_iteration sh guard.sh blocks: the freeze is on"}},
			payloads[ralph.Notice](w.log),
		)
		same(
			t,
			"asked",
			[]ralph.IterationAhead{{HookContext: ralph.HookContext{Run: "R1", Iteration: 1}, Agent: "fake"}},
			f.ahead,
		)
		if slices.Contains(w.log.types(), ralph.EvIterationStarted) {
			t.Error("the iteration began")
		}
		same(t, "row of the verdict", 5, w.replays()[0].Again.Row)
		w.mustFoldTheSame()
	})
	bubble(t, "the second, of a list; a resume asks again", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"), tagging("B"))
		f := w.withHooks()
		f.before = func(_ context.Context, next ralph.IterationAhead) []ralph.HookRun {
			if next.Task == "B" {
				return blocking("B needs a review")
			}
			return nil
		}
		result := w.ends(ralph.Blocked, 1)
		same(t, "reason", "B needs a review", result.Reason)
		same(t, "a question for people", (*string)(nil), w.loop.State().Asked)
		w.replays()
		w.mustFoldTheSame()
		again := w.resumed(b.clone(), tagging("B"))
		f = again.withHooks()
		again.ends(ralph.TasksDone, 1)
		same(
			t,
			"asked again",
			[]ralph.IterationAhead{{HookContext: ralph.HookContext{Run: "R1", Iteration: 2, Task: "B"}, Agent: "fake"}},
			f.ahead,
		)
	})
	bubble(t, "who comes first decides, and nobody else is asked", func(t *testing.T) {
		w := newWorld(t, done())
		w.options = append(w.options, WithHooks(ralph.HookFuncs{Before: func(context.Context, ralph.IterationAhead) error {
			return errors.New("no")
		}}))
		f := w.withHooks()
		result := w.ends(ralph.Blocked, 0)
		same(t, "reason", "no", result.Reason)
		same(t, "asked", 0, len(f.ahead))
	})
	bubble(t, "without a word", func(t *testing.T) {
		w := newWorld(t, done())
		w.withHooks().before = func(context.Context, ralph.IterationAhead) []ralph.HookRun { return blocking(" ") }
		same(t, "reason", "a hook blocks without giving a reason", w.ends(ralph.Blocked, 0).Reason)
	})
	bubble(t, "with too many words", func(t *testing.T) {
		w := newWorld(t, done())
		w.withHooks().before = func(context.Context, ralph.IterationAhead) []ralph.HookRun {
			return blocking(strings.Repeat("é", 5000))
		}
		same(t, "reason", strings.Repeat("é", 1000)+" …", w.ends(ralph.Blocked, 0).Reason)
	})
}

func TestWhatHappensWhileAHookIsAsked(t *testing.T) {
	bubble(t, "one interrupt ends the run before an agent starts", func(t *testing.T) {
		w := newWorld(t, done())
		w.withHooks().before = func(context.Context, ralph.IterationAhead) []ralph.HookRun {
			w.loop.Stop(ralph.SignalInterrupt)
			return blocking("no")
		}
		w.ends(ralph.Interrupted, 0)
		w.mustFoldTheSame()
	})
	bubble(t, "the time runs out", func(t *testing.T) {
		w := newWorld(t, done())
		w.policy.MaxTime = ralph.Span(10 * time.Second)
		w.withHooks().before = func(context.Context, ralph.IterationAhead) []ralph.HookRun {
			time.Sleep(10 * time.Second)
			return []ralph.HookRun{{Hook: ralph.PreIteration, By: "sleep 10", Decision: ralph.HookAllows}}
		}
		w.ends(ralph.Timeout, 0)
		w.replays()
	})
	bubble(t, "a kill reaches it", func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		w := newWorld(t, done())
		f := w.withHooks()
		f.before = func(ctx context.Context, _ ralph.IterationAhead) []ralph.HookRun {
			kill(ralph.Killed{Signal: ralph.SignalTerminate})
			<-ctx.Done()
			return []ralph.HookRun{
				{Hook: ralph.PreIteration, By: "sh slow.sh", Decision: ralph.HookWarns, Text: "it was interrupted"},
			}
		}
		alive := false
		f.stop = func(ctx context.Context, _ ralph.RunEnd) []ralph.HookRun {
			alive = ctx.Err() == nil
			return nil
		}
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 0)
		same(t, "exit code", 143, result.ExitCode)
		same(t, "the end can be told", true, alive)
		same(
			t,
			"told",
			[]ralph.RunEnd{
				{
					HookContext: ralph.HookContext{Run: "R1"}, Status: ralph.StatusInterrupted, Reason: ralph.Interrupted,
					ExitCode: 143, Summary: "interrupted by TERM",
				},
			},
			f.ends,
		)
	})
	bubble(t, "a kill at the end reaches it, and changes nothing", func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.withHooks().stop = func(ctx context.Context, _ ralph.RunEnd) []ralph.HookRun {
			kill(ralph.Killed{Signal: ralph.SignalTerminate})
			<-ctx.Done()
			return []ralph.HookRun{{Hook: ralph.OnStop, By: "sh slow.sh", Decision: ralph.HookWarns, Text: "it was interrupted"}}
		}
		w.ended(w.run(ctx), ralph.AllChecksPassed, 1)
	})
}

func TestHooksAfterAVerdict(t *testing.T) {
	bubble(t, "are told, and cannot block", func(t *testing.T) {
		w := newWorld(t, done(), done())
		w.tree.frozen = true
		w.checker.results = []ralph.CheckResult{isRed, isRed, isGreen}
		f := w.withHooks()
		f.after = func(context.Context, ralph.IterationJudged) []ralph.HookRun {
			return []ralph.HookRun{
				{Hook: ralph.PostIteration, By: "a", Decision: ralph.HookAllows},
				{Hook: ralph.PostIteration, By: "b", Decision: ralph.HookAllows, Text: "seen"},
				{Hook: ralph.PostIteration, By: "c", Decision: ralph.HookBlocks, Text: "no"},
			}
		}
		f.stop = func(context.Context, ralph.RunEnd) []ralph.HookRun {
			return []ralph.HookRun{{Hook: ralph.OnStop, By: "d", Decision: ralph.HookBlocks}}
		}
		w.ends(ralph.AllChecksPassed, 2)
		place := func(n int) ralph.HookContext { return ralph.HookContext{Run: "R1", Iteration: n} }
		same(t, "judged", []ralph.IterationJudged{
			{
				HookContext: place(1), Agent: "fake", End: ralph.EndOK, Claims: []string{"COMPLETE"},
				Refusals: []string{ralph.RefusedCheckFailed}, Action: ralph.GoOn,
			},
			{
				HookContext: place(2), Agent: "fake", End: ralph.EndOK, Claims: []string{"COMPLETE"}, Action: ralph.Stop,
				Reason: ralph.AllChecksPassed,
			},
		}, f.judged)
		same(
			t,
			"ends",
			[]ralph.RunEnd{
				{
					HookContext: place(2), Status: ralph.StatusCompleted, Reason: ralph.AllChecksPassed, ExitCode: 0,
					Summary: "the agent claims completion, and every check passes",
				},
			},
			f.ends,
		)
		three := []ralph.Notice{
			{Code: ralph.NoticeHookAllows, Text: "post_iteration a allows"},
			{Code: ralph.NoticeHookSays, Text: "post_iteration b: seen"},
			{Code: ralph.NoticeHookWarns, Text: "post_iteration c warns: no"},
		}
		same(
			t,
			"told",
			slices.Concat(three, three, []ralph.Notice{
				{Code: ralph.NoticeHookWarns, Text: "on_stop d warns: a hook blocks without giving a reason"},
			}),
			payloads[ralph.Notice](w.log),
		)
		w.replays()
		w.mustFoldTheSame()
	})
	bubble(t, "are asked of an iteration that is judged after a crash", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"))
		w.policy.MaxIterations = 1
		w.ends(ralph.MaxIterations, 1)
		w.log.events = w.log.events[:indexOfLast(w.log.events, ralph.EvAgentExited)+1]
		again := w.resumed(newMemoryTasks(entry("A"), entry("B")), tagging("B"))
		f := again.withHooks()
		again.policy.MaxIterations = 2
		again.ends(ralph.TasksDone, 1)
		same(t, "iterations", []int{1, 2}, []int{f.judged[0].Iteration, f.judged[1].Iteration})
		same(t, "proven", []string{"A"}, f.judged[0].Proven)
	})
	bubble(t, "are not asked of one that is killed", func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		w := newWorld(t, nothing().then(func() { kill(ralph.Killed{Signal: ralph.SignalTerminate}) }))
		f := w.withHooks()
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		same(t, "judged", 0, len(f.judged))
		same(t, "ends", 143, f.ends[0].ExitCode)
	})
}

func TestAHookThatPanicsWarns(t *testing.T) {
	bubble(t, "everywhere", func(t *testing.T) {
		w := newWorld(t, done())
		w.tree.frozen = true
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		f := w.withHooks()
		f.before = func(context.Context, ralph.IterationAhead) []ralph.HookRun { panic("a") }
		f.after = func(context.Context, ralph.IterationJudged) []ralph.HookRun { panic("b") }
		f.stop = func(context.Context, ralph.RunEnd) []ralph.HookRun { panic("c") }
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "told", []ralph.Notice{
			{Code: ralph.NoticeHookWarns, Text: "pre_iteration function warns: it panicked: a"},
			{Code: ralph.NoticeHookWarns, Text: "post_iteration function warns: it panicked: b"},
			{Code: ralph.NoticeHookWarns, Text: "on_stop function warns: it panicked: c"},
		}, payloads[ralph.Notice](w.log))
	})
}

func TestWhatHooksChangeIsNotTheAgents(t *testing.T) {
	bubble(t, "it joins the base before any agent worked", func(t *testing.T) {
		w, e, k := examined(t, nothing(), nothing())
		w.policy.MaxIterations = 2
		f := w.withHooks()
		f.before = func(_ context.Context, next ralph.IterationAhead) []ralph.HookRun {
			k.becomes("by the hook of " + string(rune('0'+next.Iteration)))()
			return []ralph.HookRun{{Hook: ralph.PreIteration, By: "x", Decision: ralph.HookAllows}}
		}
		result := w.ends(ralph.MaxIterations, 2)
		same(t, "joined", []string{"0(0..by the hook of 1)"}, k.joined)
		same(t, "compared", []string{
			"0(0..by the hook of 1) by the hook of 1",
			"0(0..by the hook of 1) by the hook of 2",
		}, e.compared)
		// the check started to pass in the first
		same(t, "in a row without progress", 1, w.loop.State().History.NoProgress)
		same(t, "iterations", 2, result.TotalIterations)
	})
	bubble(t, "and nobody looks if nobody was asked", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 1
		w.withHooks()
		w.ends(ralph.MaxIterations, 1)
		same(t, "looks at the tree", 2, len(payloads[ralph.TreeState](w.log)))
	})
}

// A hook may run the agent's code. What it changes at the end of a run must not become the user's when the
// run is resumed.
func TestWhatHooksChangeAtTheEndIsNotTheUsers(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := newMemoryTree()
		w := listed(t, newMemoryTasks(entry("A")), s.does(nothing(), "code=new"))
		w.onShelf(s)
		w.policy.MaxIterations = 1
		f := w.withHooks()
		f.after = func(context.Context, ralph.IterationJudged) []ralph.HookRun {
			s.write("x_test.go=weak")
			return []ralph.HookRun{{Hook: ralph.PostIteration, By: "x", Decision: ralph.HookAllows}}
		}
		f.stop = func(context.Context, ralph.RunEnd) []ralph.HookRun {
			s.write("y_test.go=weak")
			return []ralph.HookRun{{Hook: ralph.OnStop, By: "x", Decision: ralph.HookAllows}}
		}
		w.ends(ralph.MaxIterations, 1)
		again := w.resumed(newMemoryTasks(entry("A")), s.does(tagging("A"), "code=newer"))
		again.onShelf(s)
		again.policy.MaxIterations = 2
		again.ends(ralph.TasksDone, 1)
		same(t, "the base", "code=old", again.loop.State().History.Base.Snapshot)
	})
}

func TestOnStopIsToldWhatTheProcessEndsWith(t *testing.T) {
	bubble(t, "when the end cannot be written", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.log.onAppend = func(e ralph.Event) {
			if e.Type == ralph.EvVerdict {
				w.log.failAt = w.log.ops + 1
			}
		}
		f := w.withHooks()
		result := w.run(t.Context())
		same(t, "exit code", 74, result.ExitCode)
		same(t, "told", []any{1, 74, ralph.IOFailed}, []any{len(f.ends), f.ends[0].ExitCode, f.ends[0].Reason})
	})
}

func TestHooksAboutCallsWarnOnceForEachReason(t *testing.T) {
	warns := func(by, text string) ralph.HookRun {
		return ralph.HookRun{Hook: "pre_tool", By: by, Decision: ralph.HookWarns, Text: text, Duration: time.Second}
	}
	bubble(t, "in all turns and iterations", func(t *testing.T) {
		w := newWorld(t)
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			in.Turn(ctx, ralph.Turn{
				Number: 1,
				Hooks: []ralph.HookRun{
					warns("guard.sh", "exit code 127: no such file"), warns("guard.sh", "exit code 127: no such  file at all"),
				},
			})
			in.Turn(ctx, ralph.Turn{
				Number: 2,
				Hooks: []ralph.HookRun{
					warns("guard.sh", "it did not answer within 10s"),
					{Hook: "pre_tool", By: "other.sh", Decision: ralph.HookAllows},
				},
			})
			return works(ctx, in, ralph.AgentOutcome{
				Agent: "worker", End: ralph.EndOK,
				Hooks: []ralph.HookRun{
					warns("guard.sh", "exit code 127: again"), warns("other.sh", "exit code 127: no\nsuch file"),
				},
			})
		}}
		w.cfg.Agent, w.policy.MaxIterations = submitter{w.agent}, 2
		w.ends(ralph.MaxIterations, 2)
		var told []ralph.Notice
		for _, n := range payloads[ralph.Notice](w.log) {
			if n.Code == ralph.NoticeHookWarns {
				told = append(told, n)
			}
		}
		same(t, "told", []ralph.Notice{
			{
				Code: ralph.NoticeHookWarns,
				Text: "pre_tool guard.sh warns but does not block (shown once): exit code 127: no such file",
			},
			{
				Code: ralph.NoticeHookWarns,
				Text: "pre_tool guard.sh warns but does not block (shown once): it did not answer within 10s",
			},
			{
				Code: ralph.NoticeHookWarns,
				Text: "pre_tool other.sh warns but does not block (shown once): exit code 127: no such file",
			},
		}, told)
		w.mustFoldTheSame()
	})
	bubble(t, "and not without end", func(t *testing.T) {
		w := newWorld(t)
		w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			for i := range 3 * maxCallWarnings {
				in.Turn(ctx, ralph.Turn{Number: i + 1, Hooks: []ralph.HookRun{warns("guard.sh", strings.Repeat("x", i+1))}})
			}
			return works(ctx, in, ralph.AgentOutcome{Agent: "worker", End: ralph.EndOK})
		}}
		w.cfg.Agent, w.policy.MaxIterations = submitter{w.agent}, 1
		w.ends(ralph.MaxIterations, 1)
		same(t, "told", maxCallWarnings, len(slices.DeleteFunc(payloads[ralph.Notice](w.log), func(n ralph.Notice) bool {
			return n.Code != ralph.NoticeHookWarns
		})))
	})
}
