package loop

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/promise"
)

// killedWorkspace is what survives a crash: how much work was done, and how outside services
// responded.
type killedWorkspace struct {
	Work, Calls int
	fallback    bool // the run has two agents
}

// recorded is a run whose workspace was noted at every event, so that it can be cut anywhere.
type recorded struct {
	events []ralph.Event
	spaces []killedWorkspace
}

// needed is how many pieces of work make the check pass.
const needed = 3

// live runs a loop over ws, going on with what was recorded. The agent claims in every iteration;
// its second call meets a usage limit, its third a failing model.
func live(t *testing.T, past recorded, ws *killedWorkspace) (*world, recorded, ralph.Result) {
	t.Helper()
	var mu sync.Mutex // summaries are recorded while the agent works
	w := newWorld(t, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		mu.Lock()
		ws.Calls++
		if ws.Calls == 1 || ws.Calls > 3 {
			ws.Work++
		}
		call := ws.Calls
		mu.Unlock()
		switch call {
		case 2:
			return works(ctx, in, ralph.AgentOutcome{
				End: ralph.EndLimit, Error: "limit", Cost: new(0.25), Tokens: &ralph.Tokens{Input: 1},
			})
		case 3:
			return works(ctx, in, ralph.AgentOutcome{End: ralph.EndProvider, Error: "529"})
		}
		said := promise.Report{Text: true, Complete: true, CompleteTag: "COMPLETE"}
		return works(ctx, in, ralph.AgentOutcome{
			End: ralph.EndOK, Cost: new(0.5), Tokens: &ralph.Tokens{Output: 10}, Said: said,
		})
	})
	w.options = append(w.options, WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
		return ralph.CheckResult{Name: in.Name, Passed: ws.Work >= needed}
	})), WithTree(treeOf(func() ralph.TreeState {
		return ralph.TreeState{Known: true, Head: "c0", Hash: fmt.Sprint(ws.Work)}
	})))
	if ws.fallback {
		w.cfg.Fallbacks = []Fallback{{Name: "other", Agent: w.agent}}
	}
	if len(past.events) > 0 {
		state := refold(t, past.events)
		w.policy = state.Policy
		w.options = append(w.options, WithState(&state))
	}
	now := recorded{slices.Clone(past.events), slices.Clone(past.spaces)}
	w.log.onAppend = func(e ralph.Event) {
		mu.Lock()
		defer mu.Unlock()
		now.events, now.spaces = append(now.events, e), append(now.spaces, *ws)
	}
	result := w.run(t.Context())
	return w, now, result
}

// cutAfter is the run as a crash after k events left it.
func (r recorded) cutAfter(k int) (recorded, *killedWorkspace) {
	return recorded{r.events[:k:k], r.spaces[:k:k]}, new(r.spaces[k-1])
}

func refold(t *testing.T, events []ralph.Event) fold.State {
	t.Helper()
	var state fold.State
	for _, e := range events {
		if err := state.Apply(throughJSON(t, e)); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

type checkerOf func(in ralph.CheckInput) ralph.CheckResult

func (f checkerOf) Check(_ context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	return f(in), nil
}

type treeOf func() ralph.TreeState

func (f treeOf) Fingerprint(context.Context, ralph.TreeInput) (ralph.TreeState, error) {
	return f(), nil
}

// cuts are the numbers of events after which a recorded run is cut: of all, or in a short run of
// every fifth and the first of each kind.
func cuts(events []ralph.Event) iter.Seq[int] {
	return func(yield func(int) bool) {
		seen := map[ralph.EventType]bool{}
		for i, e := range events {
			if k := i + 1; (!testing.Short() || k%5 == 0 || k == len(events) || !seen[e.Type]) && !yield(k) {
				return
			}
			seen[e.Type] = true
		}
	}
}

func TestResumeAtEveryCut(t *testing.T) {
	bubble(t, "one agent", func(t *testing.T) { resumeAtEveryCut(t, &killedWorkspace{}) })
	bubble(t, "two agents", func(t *testing.T) { resumeAtEveryCut(t, &killedWorkspace{fallback: true}) })
}

func resumeAtEveryCut(t *testing.T, ws *killedWorkspace) {
	t.Helper()
	_, whole, result := live(t, recorded{}, ws)
	if result.StopReason != ralph.AllChecksPassed || result.TotalIterations != 5 {
		t.Fatalf("the uncut run ended with %s after %d iterations", result.StopReason, result.TotalIterations)
	}
	for k := range cuts(whole.events) {
		past, ws := whole.cutAfter(k)
		w, again, result := live(t, past, ws)
		mustResumeWell(t, fmt.Sprintf("cut after event %d, %s", k, past.events[k-1].Type), past, again, result, w)
		mustReplay(t, again.events)
		if t.Failed() {
			return
		}
	}
}

func TestResumeOfAResumedRun(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts every resumed run again")
	}
	synctest.Test(t, func(t *testing.T) {
		_, whole, _ := live(t, recorded{}, &killedWorkspace{})
		for k := 1; k <= len(whole.events); k += 7 {
			first, ws := whole.cutAfter(k)
			_, second, _ := live(t, first, ws)
			for j := k + 1; j <= len(second.events); j += 5 { // of every kind of event some
				past, ws := second.cutAfter(j)
				w, again, result := live(t, past, ws)
				mustResumeWell(
					t, fmt.Sprintf("cut after event %d, then %d, %s", k, j, past.events[j-1].Type), past, again, result, w,
				)
				if t.Failed() {
					return
				}
			}
		}
	})
}

// mustResumeWell checks a resumed run against everything that resume promises.
func mustResumeWell(t *testing.T, name string, past, again recorded, result ralph.Result, w *world) {
	t.Helper()
	if result.StopReason != ralph.AllChecksPassed || result.ExitCode != 0 || !result.Verified {
		t.Errorf("%s: ended with %s (%s)", name, result.StopReason, result.Summary)
	}
	var numbers []int
	var counted int
	var cost float64
	var tokens int64
	for _, e := range again.events {
		switch data := e.Data.(type) {
		case ralph.IterationStarted:
			numbers = append(numbers, e.Iteration)
			if data.Ordinal != counted+1 {
				t.Errorf("%s: iteration %d is told as number %d, and %d counted before", name, e.Iteration, data.Ordinal, counted)
			}
		case ralph.AgentOutcome:
			if data.End == ralph.EndOK {
				counted++
			}
			if data.Cost != nil {
				cost, tokens = cost+*data.Cost, tokens+data.Tokens.Total()
			}
		}
	}
	for i, number := range numbers {
		if number != i+1 {
			t.Errorf("%s: iterations are numbered %v", name, numbers)
			break
		}
	}
	final := refold(t, again.events)
	if h := final.History; h.Counted != counted || h.Cost != cost || h.Tokens.Total() != tokens ||
		len(final.Iterations) != len(numbers) {
		t.Errorf("%s: counted %d, cost %v, %d tokens, %d results; the log tells %d, %v, %d, %d",
			name, h.Counted, h.Cost, h.Tokens.Total(), len(final.Iterations), counted, cost, tokens, len(numbers))
	}
	if counted > result.TotalIterations || *result.TotalCost != cost {
		t.Errorf("%s: the result tells %d iterations and $%v", name, result.TotalIterations, *result.TotalCost)
	}
	mustNeverGiveBack(t, name, again.events)
	if provenIn(past.events) && len(w.agent.inputs) > 0 {
		t.Errorf("%s: the run was proven, and an agent was started", name)
	}
	if diff := cmp.Diff(w.loop.State().Result(), final.Result(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: live (-) and folded (+) result differ:\n%s", name, diff)
	}
}

// mustNeverGiveBack: no event lowers what was spent.
func mustNeverGiveBack(t *testing.T, name string, events []ralph.Event) {
	t.Helper()
	var before, now fold.State
	for _, e := range events {
		before = now
		if err := now.Apply(e); err != nil {
			t.Fatal(err)
		}
		if now.Elapsed < before.Elapsed || now.History.Cost < before.History.Cost ||
			now.History.Tokens.Total() < before.History.Tokens.Total() || now.History.Counted < before.History.Counted {
			t.Errorf("%s: event %d (%s) gives back what was spent", name, e.Seq, e.Type)
		}
	}
}

// provenIn reports whether the log holds the agent's last word and enough work: nothing is left but
// to judge it.
func provenIn(events []ralph.Event) bool {
	worked := 0
	for _, e := range events {
		if o, ok := e.Data.(ralph.AgentOutcome); ok && o.End == ralph.EndOK {
			worked++
		}
	}
	return worked >= needed
}

func TestResumeKeepsSpentBudgets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit func(p *ralph.Policy)
		raise func(p *ralph.Policy)
		want  ralph.StopReason
		more  int // agents after the raise
	}{
		{
			"the cap", func(p *ralph.Policy) { p.MaxIterations = 2 }, func(p *ralph.Policy) { p.MaxIterations += 3 },
			ralph.MaxIterations, 3,
		},
		{"money", func(p *ralph.Policy) { p.MaxCost = 1 }, func(p *ralph.Policy) { p.MaxCost += 0.5 }, ralph.MaxCost, 1},
		{
			"tokens", func(p *ralph.Policy) { p.MaxTokens = 20 }, func(p *ralph.Policy) { p.MaxTokens += 40 }, ralph.MaxTokens,
			4,
		},
		{"time", func(p *ralph.Policy) { p.MaxTime = ralph.Span(2 * worked) }, func(p *ralph.Policy) {
			p.MaxTime += ralph.Span(2 * worked)
		}, ralph.Timeout, 2},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			spends := ends(ralph.AgentOutcome{End: ralph.EndOK, Cost: new(0.5), Tokens: &ralph.Tokens{Output: 10}})
			w := newWorld(t, spends)
			w.policy.Breaker = ralph.BreakerPolicy{}
			tt.limit(&w.policy)
			w.ends(tt.want, 2)

			same := newWorld(t, spends)
			same.policy, same.log.events = w.policy, w.log.events
			state := refold(t, w.log.events)
			same.options = append(same.options, WithState(&state))
			same.ends(tt.want, 0)

			raised := newWorld(t, spends)
			raised.policy = w.policy
			tt.raise(&raised.policy)
			state = refold(t, same.log.events)
			raised.options = append(raised.options, WithState(&state), WithTornTail(7))
			raised.ends(tt.want, tt.more)
			if got := payloads[ralph.RunResumed](raised.log)[0]; got.TornBytes != 7 || !cmp.Equal(got.Policy, raised.policy) {
				t.Errorf("run_resumed tells %+v", got)
			}
		})
	}
}

// Times of events are for people. What a run has spent is measured on the monotonic clock and added up in
// its events, so that a clock which was set back or ahead between two starts changes no limit. (A11)
func TestA11AClockThatJumpsChangesNoLimit(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": 25 * time.Hour, "ahead": -25 * time.Hour} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, nothing())
			w.policy.Breaker, w.policy.MaxTime = ralph.BreakerPolicy{}, ralph.Span(2*worked)
			w.ends(ralph.Timeout, 2)
			for i := range w.log.events {
				w.log.events[i].Time = w.log.events[i].Time.Add(jump)
			}
			again := newWorld(t, nothing())
			again.policy, again.log.events = w.policy, w.log.events
			again.policy.MaxTime += ralph.Span(worked)
			state := refold(t, w.log.events)
			again.options = append(again.options, WithState(&state))
			if result := again.ends(ralph.Timeout, 1); result.TotalDuration != ralph.Span(3*worked) {
				t.Errorf("it took %s", result.TotalDuration)
			}
			for i, event := range again.log.events {
				if event.Seq != int64(i+1) {
					t.Errorf("event %d has the number %d", i+1, event.Seq)
				}
			}
		})
	}
}

func TestResumeLetsOneProbeThroughAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nothing())
		w.tree.frozen = true
		w.ends(ralph.CircuitOpen, 4)
		again := newWorld(t, nothing())
		again.tree.frozen = true
		state := refold(t, w.log.events)
		again.options = append(again.options, WithState(&state))
		again.ends(ralph.CircuitOpen, 1)
		if started := payloads[ralph.IterationStarted](again.log); !started[0].Probe || started[0].Diagnose {
			t.Errorf("iteration %+v", started[0])
		}
	})
}

func TestResumeAfterAFailingAgentCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := ends(ralph.AgentOutcome{End: ralph.EndFailed, Error: "exit 1"})
		w := newWorld(t, fails)
		w.ends(ralph.AgentFailed, 3)
		again := newWorld(t, fails)
		state := refold(t, w.log.events)
		again.options = append(again.options, WithState(&state))
		again.ends(ralph.AgentFailed, 3)
	})
}

// The user who resumes may know that the limit is over. If it is not, the agent meets it again and
// the run waits again.
func TestResumeTriesAtOnceAfterALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, limitTurn(time.Hour), done())
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.ends(ralph.AllChecksPassed, 2)
		exited := slices.Index(w.log.types(), ralph.EvAgentExited)
		again := newWorld(t, done())
		again.checker.results = []ralph.CheckResult{isGreen}
		state := refold(t, w.log.events[:exited+1])
		again.options = append(again.options, WithState(&state))
		begun := time.Now()
		again.ends(ralph.AllChecksPassed, 1)
		if waited := again.agent.starts[0].Sub(begun); waited != 0 {
			t.Errorf("the next agent started after %s", waited)
		}
	})
}

// An iteration that was cut after its agent exited is judged from what it left, without another
// agent.
func TestResumeJudgesWhatAKillLeftUnjudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := ends(ralph.AgentOutcome{
			End: ralph.EndOK, Cost: new(0.5), Tokens: &ralph.Tokens{Input: 3},
			Said: promise.Report{Complete: true, CompleteTag: "DONE"},
		})
		w := newWorld(t, turn)
		ctx, cancel := context.WithCancelCause(t.Context())
		w.checker.before = func(_ context.Context, call int) {
			if call == 2 {
				cancel(ralph.Killed{Signal: ralph.SignalTerminate})
			}
		}
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 1)
		want := ralph.IterationResult{
			Iteration: 1, Agent: "fake", Cost: new(0.5), Duration: ralph.Span(worked), CompletionTagFound: true,
			Claims: []string{"DONE"}, Counted: true,
		}
		if diff := cmp.Diff([]ralph.IterationResult{want}, result.Iterations, cmpopts.EquateEmpty()); diff != "" ||
			result.TotalIterations != 1 {
			t.Errorf("iterations of the killed run (-want +got):\n%s", diff)
		}
		if result.TotalCost == nil || *result.TotalCost != 0.5 || result.TotalTokens == nil || result.TotalTokens.Input != 3 {
			t.Errorf("the killed run tells cost %v and tokens %v", result.TotalCost, result.TotalTokens)
		}

		again := newWorld(t, turn)
		again.checker.results = []ralph.CheckResult{isGreen}
		state := refold(t, w.log.events)
		again.options = append(again.options, WithState(&state))
		result = again.ends(ralph.AllChecksPassed, 0)
		if result.TotalIterations != 1 || *result.TotalCost != 0.5 || state.History.Counted != 1 {
			t.Errorf("after the resume: %d iterations, $%v, %d counted", result.TotalIterations, *result.TotalCost,
				state.History.Counted)
		}
	})
}

// Failures of outside services before a kill are retried, not judged again.
func TestResumeTriesAgainWhatAKillCutOff(t *testing.T) {
	for _, end := range []ralph.EndClass{ralph.EndAuth, ralph.EndLimit, ralph.EndProvider, ralph.EndInterrupted} {
		bubble(t, string(end), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			w := newWorld(t, ends(ralph.AgentOutcome{End: end, Error: "refused"}).then(func() {
				cancel(ralph.Killed{Signal: ralph.SignalTerminate})
			}))
			w.ended(w.run(ctx), ralph.Interrupted, 1)
			again := newWorld(t, done())
			again.checker.results = []ralph.CheckResult{isGreen}
			state := refold(t, w.log.events)
			again.options = append(again.options, WithState(&state))
			if result := again.ends(ralph.AllChecksPassed, 1); result.TotalIterations != 2 || state.History.Counted != 1 {
				t.Errorf("%d iterations, %d counted", result.TotalIterations, state.History.Counted)
			}
		})
	}
}
