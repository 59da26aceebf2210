package loop

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

func TestReplayAgreesAtTheEdgeOfALimit(t *testing.T) {
	for _, works := range []time.Duration{10*time.Second - 400*time.Microsecond, 10*time.Second - 600*time.Microsecond, 10*time.Second + 300*time.Microsecond} {
		bubble(t, works.String(), func(t *testing.T) {
			w := newWorld(t, func(context.Context, ralph.AgentInput) ralph.AgentOutcome {
				time.Sleep(works)
				return ralph.AgentOutcome{End: ralph.EndLimit, RetryAfter: ralph.Span(time.Minute + works)}
			})
			w.policy.MaxTime, w.policy.OnLimit = ralph.Span(10*time.Second), ralph.LimitWait
			w.run(t.Context())
			mustReplay(t, w.log.events)
			w = newWorld(t, func(context.Context, ralph.AgentInput) ralph.AgentOutcome {
				time.Sleep(works)
				return ralph.AgentOutcome{End: ralph.EndOK}
			})
			w.policy.MaxTime, w.policy.MaxIterations = ralph.Span(10*time.Second), 1
			w.run(t.Context())
			mustReplay(t, w.log.events)
		})
	}
}

// mustReplay folds a log as it is read from disk, and asks for every verdict again.
func mustReplay(t *testing.T, log []ralph.Event) fold.State {
	t.Helper()
	var again fold.State
	for _, e := range log {
		e = throughJSON(t, e)
		if reached, ok := e.Data.(ralph.VerdictReached); ok {
			got := judge.Decide(again.Policy, again.History.Judge(reached.At))
			if recorded, repeated := asJSON(t, reached.Verdict), asJSON(t, got); recorded != repeated {
				t.Fatalf("event %d: recorded (-) and repeated (+) verdict differ:\n%s", e.Seq, cmp.Diff(reached.Verdict, got))
			}
		}
		if err := again.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return again
}

func asJSON(t *testing.T, data any) string {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// throughJSON writes an event as the log does and reads it back.
func throughJSON(t *testing.T, e ralph.Event) ralph.Event {
	t.Helper()
	var raw struct {
		ralph.Event
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal([]byte(asJSON(t, e)), &raw); err != nil {
		t.Fatal(err)
	}
	data, err := ralph.DecodePayload(e.Type, raw.Data)
	if err != nil {
		t.Fatal(err)
	}
	back := raw.Event
	back.Data = data
	return back
}

func eventsOf(events []ralph.Event, end error) iter.Seq2[ralph.Event, error] {
	return func(yield func(ralph.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if end != nil {
			yield(ralph.Event{}, end)
		}
	}
}

func asItWas(p ralph.Policy) ralph.Policy { return p }

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := eventful(t)
		w.ends(ralph.AllChecksPassed, 4)
		log := eventsOf(w.log.events, nil)

		judged, err := fold.Replay(log, asItWas)
		if err != nil || len(judged) != 4 {
			t.Fatalf("%d judgements: %v", len(judged), err)
		}
		for i, j := range judged {
			if !j.Same() || !j.Judged || j.Iteration != i+1 || j.Seen.Number != i+1 {
				t.Errorf("judgement %d: %+v", i+1, j)
			}
		}

		stricter, err := fold.Replay(log, func(p ralph.Policy) ralph.Policy {
			p.Status = ralph.StatusRequired
			return p
		})
		if err != nil || len(stricter) != 4 {
			t.Fatalf("%d judgements: %v", len(stricter), err)
		}
		last := stricter[3]
		want := []ralph.Refusal{{Code: "status_gate", Detail: "no valid status block in this iteration"}}
		if diff := cmp.Diff(want, last.Again.Refusals()); diff != "" || last.Same() || last.Recorded.Reason != ralph.AllChecksPassed || last.Again.Action != ralph.GoOn {
			t.Errorf("under a stricter gate the last verdict is %s %s, refusals (-want +got):\n%s", last.Again.Action, last.Again.Reason, diff)
		}
		if refused := stricter[0]; refused.Same() || len(refused.Again.Refusals()) != 2 {
			t.Errorf("the first claim is refused for %v", refused.Again.Refusals())
		}

		tighter, err := fold.Replay(log, func(p ralph.Policy) ralph.Policy {
			p.MaxIterations = 1
			return p
		})
		if err != nil || len(tighter) != 1 || tighter[0].Again.Reason != ralph.MaxIterations {
			t.Errorf("with a cap of 1 it continues after the stop: %+v, %v", tighter, err)
		}
	})
}

func TestReplayGoesOnAfterAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 1
		w.ends(ralph.MaxIterations, 1)
		again := newWorld(t, nothing())
		again.policy.MaxIterations = 2
		state := refold(t, w.log.events)
		again.options = append(again.options, WithState(&state))
		again.ends(ralph.MaxIterations, 1)
		judged, err := fold.Replay(eventsOf(append(w.log.events, again.log.events...), nil), asItWas)
		if err != nil || len(judged) != 2 || !judged[0].Same() || !judged[1].Same() {
			t.Errorf("judgements %+v: %v", judged, err)
		}
	})
}

func TestReplayOfALogThatCannotBeRead(t *testing.T) {
	broken := errors.New("checksum differs")
	if _, err := fold.Replay(eventsOf(nil, broken), asItWas); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	gap := []ralph.Event{{Version: 1, Seq: 2, Type: ralph.EvRunStarted, Data: ralph.RunStarted{}}}
	if _, err := fold.Replay(eventsOf(gap, nil), asItWas); err == nil {
		t.Error("a log with a gap was replayed")
	}
}

func TestWhenTwoVerdictsAreTheSame(t *testing.T) {
	refusing := func(detail string) ralph.Verdict {
		return ralph.Verdict{Action: ralph.GoOn, Claimed: true, Gates: []ralph.Gate{{State: ralph.GateShut, Refusal: "check_failed", Detail: detail}}}
	}
	for _, tt := range []struct {
		name string
		a, b ralph.Verdict
		same bool
	}{
		{"equal", refusing("x"), refusing("x"), true},
		{"another action", ralph.Verdict{Action: ralph.GoOn}, ralph.Verdict{Action: ralph.Wait}, false},
		{"another reason", ralph.Verdict{Reason: ralph.Timeout}, ralph.Verdict{Reason: ralph.MaxCost}, false},
		{"another wait", ralph.Verdict{Wait: 1}, ralph.Verdict{Wait: 2}, false},
		{"another breaker", ralph.Verdict{Breaker: closed}, ralph.Verdict{}, false},
		{"another agent at rest", ralph.Verdict{Cooldown: &ralph.AgentCooldown{Agent: 1}}, ralph.Verdict{Cooldown: &ralph.AgentCooldown{}}, false},
		{"nobody at rest", ralph.Verdict{}, ralph.Verdict{Cooldown: &ralph.AgentCooldown{}}, false},
		{"the same agent at rest", ralph.Verdict{Cooldown: &ralph.AgentCooldown{Agent: 1}}, ralph.Verdict{Cooldown: &ralph.AgentCooldown{Agent: 1}}, true},
		{"counted or not", ralph.Verdict{Counted: true}, ralph.Verdict{}, false},
		{"one refusal more", refusing("x"), ralph.Verdict{Action: ralph.GoOn}, false},
		{"another refusal", refusing("x"), refusing("y"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (fold.Judgement{Recorded: tt.a, Again: tt.b}).Same(); got != tt.same {
				t.Errorf("same is %v, want %v", got, tt.same)
			}
		})
	}
}
