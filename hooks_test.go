package ralph

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fakeHooks answers as the test says and keeps what it was told.
type fakeHooks struct {
	before func(ctx context.Context, next IterationAhead) []HookRun
	after  func(ctx context.Context, judged IterationJudged) []HookRun
	stop   func(ctx context.Context, end RunEnd) []HookRun
	ahead  []IterationAhead
	judged []IterationJudged
	ends   []RunEnd
}

func (f *fakeHooks) BeforeIteration(ctx context.Context, next IterationAhead) []HookRun {
	f.ahead = append(f.ahead, next)
	if f.before == nil {
		return nil
	}
	return f.before(ctx, next)
}

func (f *fakeHooks) AfterIteration(ctx context.Context, judged IterationJudged) []HookRun {
	f.judged = append(f.judged, judged)
	if f.after == nil {
		return nil
	}
	return f.after(ctx, judged)
}

func (f *fakeHooks) AtStop(ctx context.Context, end RunEnd) []HookRun {
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

func blocking(text string) []HookRun {
	return []HookRun{{Hook: PreIteration, By: "sh guard.sh", Decision: HookBlocks, Text: text}}
}

// mustFoldTheSame holds a state that was folded from the log against that of the loop.
func (w *world) mustFoldTheSame() {
	w.t.Helper()
	again := mustReplay(w.t, w.log.events)
	if diff := cmp.Diff(*w.loop.State(), again, cmp.AllowUnexported(History{}), cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("live (-) and replayed (+) state differ:\n%s", diff)
	}
}

// replays gives the verdicts of the log as explain and replay do.
func (w *world) replays() []Judgement {
	w.t.Helper()
	again, err := Replay(func(yield func(Event, error) bool) {
		for _, e := range w.log.events {
			if !yield(throughJSON(w.t, e), nil) {
				return
			}
		}
	}, func(p Policy) Policy { return p })
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
		f.before = func(context.Context, IterationAhead) []HookRun { return blocking("the freeze\nis on  ") }
		result := w.ends(Blocked, 0)
		same(t, "code, reason and iterations", []any{2, "the freeze is on", 0}, []any{result.ExitCode, result.Reason, result.TotalIterations})
		same(t, "told", []Notice{{NoticeHookBlocks, "pre_iteration sh guard.sh blocks: the freeze is on"}}, payloads[Notice](w.log))
		same(t, "asked", []IterationAhead{{HookPlace{Run: "R1", Iteration: 1}, "fake"}}, f.ahead)
		if slices.Contains(w.log.types(), EvIterationStarted) {
			t.Error("the iteration began")
		}
		same(t, "row of the verdict", 5, w.replays()[0].Again.Row)
		w.mustFoldTheSame()
	})
	bubble(t, "the second, of a list; a resume asks again", func(t *testing.T) {
		b := newBook(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"), tagging("B"))
		f := w.withHooks()
		f.before = func(_ context.Context, next IterationAhead) []HookRun {
			if next.Task == "B" {
				return blocking("B needs a review")
			}
			return nil
		}
		result := w.ends(Blocked, 1)
		same(t, "reason", "B needs a review", result.Reason)
		same(t, "a question for people", (*string)(nil), w.loop.State().Asked)
		w.replays()
		w.mustFoldTheSame()
		again := w.resumed(b.copied(), tagging("B"))
		f = again.withHooks()
		again.ends(TasksDone, 1)
		same(t, "asked again", []IterationAhead{{HookPlace{Run: "R1", Iteration: 2, Task: "B"}, "fake"}}, f.ahead)
	})
	bubble(t, "who comes first decides, and nobody else is asked", func(t *testing.T) {
		w := newWorld(t, done())
		w.options = append(w.options, WithHooks(HookFuncs{Before: func(context.Context, IterationAhead) error { return errors.New("no") }}))
		f := w.withHooks()
		result := w.ends(Blocked, 0)
		same(t, "reason", "no", result.Reason)
		same(t, "asked", 0, len(f.ahead))
	})
	bubble(t, "without a word", func(t *testing.T) {
		w := newWorld(t, done())
		w.withHooks().before = func(context.Context, IterationAhead) []HookRun { return blocking(" ") }
		same(t, "reason", "a hook blocks, without a reason", w.ends(Blocked, 0).Reason)
	})
	bubble(t, "with too many words", func(t *testing.T) {
		w := newWorld(t, done())
		w.withHooks().before = func(context.Context, IterationAhead) []HookRun { return blocking(strings.Repeat("é", 5000)) }
		same(t, "reason", strings.Repeat("é", 1000)+" …", w.ends(Blocked, 0).Reason)
	})
}

func TestWhatHappensWhileAHookIsAsked(t *testing.T) {
	bubble(t, "one interrupt ends the run before an agent starts", func(t *testing.T) {
		w := newWorld(t, done())
		w.withHooks().before = func(context.Context, IterationAhead) []HookRun {
			w.loop.Stop(SignalInterrupt)
			return blocking("no")
		}
		w.ends(Interrupted, 0)
		w.mustFoldTheSame()
	})
	bubble(t, "the time runs out", func(t *testing.T) {
		w := newWorld(t, done())
		w.policy.MaxTime = Span(10 * time.Second)
		w.withHooks().before = func(context.Context, IterationAhead) []HookRun {
			time.Sleep(10 * time.Second)
			return []HookRun{{Hook: PreIteration, By: "sleep 10", Decision: HookAllows}}
		}
		w.ends(Timeout, 0)
		w.replays()
	})
	bubble(t, "a kill reaches it", func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		w := newWorld(t, done())
		f := w.withHooks()
		f.before = func(ctx context.Context, _ IterationAhead) []HookRun {
			kill(Killed{SignalTerminate})
			<-ctx.Done()
			return []HookRun{{Hook: PreIteration, By: "sh slow.sh", Decision: HookWarns, Text: "it was interrupted"}}
		}
		alive := false
		f.stop = func(ctx context.Context, _ RunEnd) []HookRun {
			alive = ctx.Err() == nil
			return nil
		}
		result := w.run(ctx)
		w.ended(result, Interrupted, 0)
		same(t, "exit code", 143, result.ExitCode)
		same(t, "the end can be told", true, alive)
		same(t, "told", []RunEnd{{HookPlace{Run: "R1"}, StatusInterrupted, Interrupted, 143, "interrupted by TERM"}}, f.ends)
	})
	bubble(t, "a kill at the end reaches it, and changes nothing", func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		w := newWorld(t, done())
		w.checker.results = []CheckResult{isRed, isGreen}
		w.withHooks().stop = func(ctx context.Context, _ RunEnd) []HookRun {
			kill(Killed{SignalTerminate})
			<-ctx.Done()
			return []HookRun{{Hook: OnStop, By: "sh slow.sh", Decision: HookWarns, Text: "it was interrupted"}}
		}
		w.ended(w.run(ctx), AllChecksPassed, 1)
	})
}

func TestHooksAfterAVerdict(t *testing.T) {
	bubble(t, "are told, and cannot block", func(t *testing.T) {
		w := newWorld(t, done(), done())
		w.tree.frozen = true
		w.checker.results = []CheckResult{isRed, isRed, isGreen}
		f := w.withHooks()
		f.after = func(context.Context, IterationJudged) []HookRun {
			return []HookRun{{Hook: PostIteration, By: "a", Decision: HookAllows}, {Hook: PostIteration, By: "b", Decision: HookAllows, Text: "seen"}, {Hook: PostIteration, By: "c", Decision: HookBlocks, Text: "no"}}
		}
		f.stop = func(context.Context, RunEnd) []HookRun {
			return []HookRun{{Hook: OnStop, By: "d", Decision: HookBlocks}}
		}
		w.ends(AllChecksPassed, 2)
		place := func(n int) HookPlace { return HookPlace{Run: "R1", Iteration: n} }
		same(t, "judged", []IterationJudged{
			{HookPlace: place(1), Agent: "fake", End: EndOK, Claims: []string{"COMPLETE"}, Refusals: []string{RefusedCheckFailed}, Action: GoOn},
			{HookPlace: place(2), Agent: "fake", End: EndOK, Claims: []string{"COMPLETE"}, Action: Stop, Reason: AllChecksPassed},
		}, f.judged)
		same(t, "ends", []RunEnd{{place(2), StatusCompleted, AllChecksPassed, 0, "the claim stands and every check is green"}}, f.ends)
		three := []Notice{{NoticeHookAllows, "post_iteration a allows"}, {NoticeHookSays, "post_iteration b: seen"}, {NoticeHookWarns, "post_iteration c warns: no"}}
		same(t, "told", slices.Concat(three, three, []Notice{{NoticeHookWarns, "on_stop d warns: a hook blocks, without a reason"}}), payloads[Notice](w.log))
		w.replays()
		w.mustFoldTheSame()
	})
	bubble(t, "are asked of an iteration that is judged after a crash", func(t *testing.T) {
		b := newBook(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"))
		w.policy.MaxIterations = 1
		w.ends(MaxIterations, 1)
		w.log.events = w.log.events[:indexOfLast(w.log.events, EvAgentExited)+1]
		again := w.resumed(newBook(entry("A"), entry("B")), tagging("B"))
		f := again.withHooks()
		again.policy.MaxIterations = 2
		again.ends(TasksDone, 1)
		same(t, "iterations", []int{1, 2}, []int{f.judged[0].Iteration, f.judged[1].Iteration})
		same(t, "proven", []string{"A"}, f.judged[0].Proven)
	})
	bubble(t, "are not asked of one that is killed", func(t *testing.T) {
		ctx, kill := context.WithCancelCause(t.Context())
		w := newWorld(t, nothing().then(func() { kill(Killed{SignalTerminate}) }))
		f := w.withHooks()
		w.ended(w.run(ctx), Interrupted, 1)
		same(t, "judged", 0, len(f.judged))
		same(t, "ends", 143, f.ends[0].ExitCode)
	})
}

func TestAHookThatPanicsWarns(t *testing.T) {
	bubble(t, "everywhere", func(t *testing.T) {
		w := newWorld(t, done())
		w.tree.frozen = true
		w.checker.results = []CheckResult{isRed, isGreen}
		f := w.withHooks()
		f.before = func(context.Context, IterationAhead) []HookRun { panic("a") }
		f.after = func(context.Context, IterationJudged) []HookRun { panic("b") }
		f.stop = func(context.Context, RunEnd) []HookRun { panic("c") }
		w.ends(AllChecksPassed, 1)
		same(t, "told", []Notice{
			{NoticeHookWarns, "pre_iteration function warns: it panicked: a"}, {NoticeHookWarns, "post_iteration function warns: it panicked: b"},
			{NoticeHookWarns, "on_stop function warns: it panicked: c"},
		}, payloads[Notice](w.log))
	})
}

func TestWhatHooksChangeIsNotTheAgents(t *testing.T) {
	bubble(t, "it joins the base", func(t *testing.T) {
		w, e, k := examined(t, nothing(), nothing())
		w.policy.MaxIterations = 2
		f := w.withHooks()
		f.before = func(_ context.Context, next IterationAhead) []HookRun {
			k.becomes("by the hook of " + string(rune('0'+next.Iteration)))()
			return []HookRun{{Hook: PreIteration, By: "x", Decision: HookAllows}}
		}
		result := w.ends(MaxIterations, 2)
		same(t, "joined", []string{"0(0..by the hook of 1)", "0(0..by the hook of 1)(by the hook of 1..by the hook of 2)"}, k.joined)
		same(t, "compared", []string{
			"0(0..by the hook of 1) by the hook of 1", "0(0..by the hook of 1)(by the hook of 1..by the hook of 2) by the hook of 2",
		}, e.compared)
		same(t, "in a row without progress", 1, w.loop.State().History.NoProgress) // the check turned green in the first
		same(t, "iterations", 2, result.TotalIterations)
	})
	bubble(t, "and nobody looks if nobody was asked", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 1
		w.withHooks()
		w.ends(MaxIterations, 1)
		same(t, "looks at the tree", 2, len(payloads[TreeState](w.log)))
	})
}

func TestOnStopIsToldWhatTheProcessEndsWith(t *testing.T) {
	bubble(t, "when the end cannot be written", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results = []CheckResult{isRed, isGreen}
		w.log.onAppend = func(e Event) {
			if e.Type == EvVerdict {
				w.log.failAt = w.log.ops + 1
			}
		}
		f := w.withHooks()
		result := w.run(t.Context())
		same(t, "exit code", 74, result.ExitCode)
		same(t, "told", []any{1, 74, IOFailed}, []any{len(f.ends), f.ends[0].ExitCode, f.ends[0].Reason})
	})
}

func TestHooksAboutCallsWarnOnceForEachReason(t *testing.T) {
	warns := func(by, text string) HookRun {
		return HookRun{Hook: "pre_tool", By: by, Decision: HookWarns, Text: text, Duration: time.Second}
	}
	bubble(t, "in all turns and iterations", func(t *testing.T) {
		w := newWorld(t)
		w.agent.turns = []turn{func(ctx context.Context, in AgentInput) AgentOutcome {
			in.Turn(ctx, Turn{Number: 1, Hooks: []HookRun{warns("guard.sh", "exit code 127: no such file"), warns("guard.sh", "exit code 127: no such  file at all")}})
			in.Turn(ctx, Turn{Number: 2, Hooks: []HookRun{warns("guard.sh", "it did not answer within 10s"), {Hook: "pre_tool", By: "other.sh", Decision: HookAllows}}})
			return works(ctx, in, AgentOutcome{Agent: "worker", End: EndOK, Hooks: []HookRun{warns("guard.sh", "exit code 127: again"), warns("other.sh", "exit code 127: no\nsuch file")}})
		}}
		w.cfg.Agent, w.policy.MaxIterations = caseMaker{w.agent}, 2
		w.ends(MaxIterations, 2)
		var told []Notice
		for _, n := range payloads[Notice](w.log) {
			if n.Code == NoticeHookWarns {
				told = append(told, n)
			}
		}
		same(t, "told", []Notice{
			{NoticeHookWarns, "pre_tool guard.sh warns, which holds nothing up (said once): exit code 127: no such file"},
			{NoticeHookWarns, "pre_tool guard.sh warns, which holds nothing up (said once): it did not answer within 10s"},
			{NoticeHookWarns, "pre_tool other.sh warns, which holds nothing up (said once): exit code 127: no such file"},
		}, told)
		w.mustFoldTheSame()
	})
	bubble(t, "and not without end", func(t *testing.T) {
		w := newWorld(t)
		w.agent.turns = []turn{func(ctx context.Context, in AgentInput) AgentOutcome {
			for i := range 3 * maxCallWarnings {
				in.Turn(ctx, Turn{Number: i + 1, Hooks: []HookRun{warns("guard.sh", strings.Repeat("x", i+1))}})
			}
			return works(ctx, in, AgentOutcome{Agent: "worker", End: EndOK})
		}}
		w.cfg.Agent, w.policy.MaxIterations = caseMaker{w.agent}, 1
		w.ends(MaxIterations, 1)
		same(t, "told", maxCallWarnings, len(slices.DeleteFunc(payloads[Notice](w.log), func(n Notice) bool { return n.Code != NoticeHookWarns })))
	})
}
