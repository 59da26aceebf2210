package ralph

import (
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func eventsOf(events []Event, end error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if end != nil {
			yield(Event{}, end)
		}
	}
}

func asItWas(p Policy) Policy { return p }

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := eventful(t)
		w.ends(AllChecksPassed, 4)
		log := eventsOf(w.log.events, nil)

		judged, err := Replay(log, asItWas)
		if err != nil || len(judged) != 4 {
			t.Fatalf("%d judgements: %v", len(judged), err)
		}
		for i, j := range judged {
			if !j.Same() || !j.Judged || j.Iteration != i+1 || j.Seen.Number != i+1 {
				t.Errorf("judgement %d: %+v", i+1, j)
			}
		}

		stricter, err := Replay(log, func(p Policy) Policy {
			p.Status = StatusRequired
			return p
		})
		if err != nil || len(stricter) != 4 {
			t.Fatalf("%d judgements: %v", len(stricter), err)
		}
		last := stricter[3]
		want := []Refusal{{"status_gate", "no valid status block in this iteration"}}
		if diff := cmp.Diff(want, last.Again.Refusals()); diff != "" || last.Same() || last.Recorded.Reason != AllChecksPassed || last.Again.Action != GoOn {
			t.Errorf("under a stricter gate the last verdict is %s %s, refusals (-want +got):\n%s", last.Again.Action, last.Again.Reason, diff)
		}
		if refused := stricter[0]; refused.Same() || len(refused.Again.Refusals()) != 2 {
			t.Errorf("the first claim is refused for %v", refused.Again.Refusals())
		}

		tighter, err := Replay(log, func(p Policy) Policy {
			p.MaxIterations = 1
			return p
		})
		if err != nil || len(tighter) != 1 || tighter[0].Again.Reason != MaxIterations {
			t.Errorf("with a cap of 1 it goes on after the stop: %+v, %v", tighter, err)
		}
	})
}

func TestReplayGoesOnAfterAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.MaxIterations = 1
		w.ends(MaxIterations, 1)
		again := newWorld(t, nothing())
		again.policy.MaxIterations = 2
		state := refold(t, w.log.events)
		again.options = append(again.options, WithState(&state))
		again.ends(MaxIterations, 1)
		judged, err := Replay(eventsOf(append(w.log.events, again.log.events...), nil), asItWas)
		if err != nil || len(judged) != 2 || !judged[0].Same() || !judged[1].Same() {
			t.Errorf("judgements %+v: %v", judged, err)
		}
	})
}

func TestReplayOfALogThatCannotBeRead(t *testing.T) {
	broken := errors.New("checksum differs")
	if _, err := Replay(eventsOf(nil, broken), asItWas); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	gap := []Event{{Version: 1, Seq: 2, Type: EvRunStarted, Data: RunStarted{}}}
	if _, err := Replay(eventsOf(gap, nil), asItWas); err == nil {
		t.Error("a log with a gap was replayed")
	}
}

func TestWhenTwoVerdictsAreTheSame(t *testing.T) {
	refusing := func(detail string) Verdict {
		return Verdict{Action: GoOn, Claimed: true, Gates: []Gate{{State: GateShut, Refusal: "check_failed", Detail: detail}}}
	}
	for _, tt := range []struct {
		name string
		a, b Verdict
		same bool
	}{
		{"equal", refusing("x"), refusing("x"), true},
		{"another action", Verdict{Action: GoOn}, Verdict{Action: Wait}, false},
		{"another reason", Verdict{Reason: Timeout}, Verdict{Reason: MaxCost}, false},
		{"another wait", Verdict{Wait: 1}, Verdict{Wait: 2}, false},
		{"another breaker", Verdict{Breaker: closed}, Verdict{}, false},
		{"another agent at rest", Verdict{Rest: &AgentRest{Agent: 1}}, Verdict{Rest: &AgentRest{}}, false},
		{"nobody at rest", Verdict{}, Verdict{Rest: &AgentRest{}}, false},
		{"the same agent at rest", Verdict{Rest: &AgentRest{Agent: 1}}, Verdict{Rest: &AgentRest{Agent: 1}}, true},
		{"counted or not", Verdict{Counted: true}, Verdict{}, false},
		{"one refusal more", refusing("x"), Verdict{Action: GoOn}, false},
		{"another refusal", refusing("x"), refusing("y"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Judgement{Recorded: tt.a, Again: tt.b}).Same(); got != tt.same {
				t.Errorf("same is %v, want %v", got, tt.same)
			}
		})
	}
}
