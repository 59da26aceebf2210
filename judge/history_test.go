package judge

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func TestJudgeDoesNotChangeTheHistoryItIsAskedOn(t *testing.T) {
	s := plainSituation()
	s.before.Outputs, s.before.Phrases = make([]int64, 2, 9), make([]int, 4, 9)
	before := s.before
	first := s.before.Judge(s.at)
	second := s.before.Judge(s.at)
	if diff := cmp.Diff(before, s.before, cmp.AllowUnexported(History{})); diff != "" {
		t.Errorf("history changed:\n%s", diff)
	}
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(History{})); diff != "" {
		t.Errorf("judged again, it differs:\n%s", diff)
	}
}

func TestHistoryStaysSmall(t *testing.T) {
	h := plainSituation().before
	for i := range 1000 {
		h.Judging = true
		h.Started, h.Now.Number = i+1, i+1
		h = h.Judge(ralph.Moment{Elapsed: ralph.Span(i) * ralph.Span(time.Second)})
		h.ApplyVerdict(Decide(lenientPolicy(), h))
	}
	if len(h.Outputs) != 3 || len(h.Phrases) != 5 || h.Counted != 1000 {
		t.Errorf("after 1000 iterations: %d outputs, %d phrases, %d counted", len(h.Outputs), len(h.Phrases), h.Counted)
	}
}

func TestWhichEndsCount(t *testing.T) {
	want := map[ralph.EndClass]bool{
		ralph.EndOK:          true,
		ralph.EndFailed:      true,
		ralph.EndEmpty:       true,
		ralph.EndTimeout:     true,
		ralph.EndIdle:        true,
		ralph.EndOutOfTime:   true,
		ralph.EndInterrupted: false,
		ralph.EndAuth:        false,
		ralph.EndMissing:     false,
		ralph.EndSandbox:     false,
		ralph.EndLimit:       false,
		ralph.EndProvider:    false,
	}
	got := map[ralph.EndClass]bool{}
	for end := range want {
		got[end] = ralph.CountsAsIteration(end)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what counts against the cap (-want +got):\n%s", diff)
	}
}

// streaks are the counts after a sequence of ends.
type streaks struct{ Agent, Provider, Limits, Broken int }

func TestFailuresInARow(t *testing.T) {
	type ends = []ralph.EndClass
	for _, tt := range []struct {
		name string
		ends []ralph.EndClass
		want streaks
	}{
		{"its own failures add up", ends{ralph.EndFailed, ralph.EndTimeout, ralph.EndIdle}, streaks{Agent: 3}},
		{"a good end breaks the row", ends{ralph.EndFailed, ralph.EndOK, ralph.EndFailed}, streaks{Agent: 1}},
		{"limits and failing models say nothing about the agent",
			ends{ralph.EndFailed, ralph.EndLimit, ralph.EndProvider, ralph.EndFailed}, streaks{Agent: 2}},
		{"models fail in a row", ends{ralph.EndProvider, ralph.EndProvider}, streaks{Provider: 2}},
		{"a limit between says nothing about the model",
			ends{ralph.EndProvider, ralph.EndLimit, ralph.EndProvider}, streaks{Provider: 2}},
		{"any agent that worked shows that the model works",
			ends{ralph.EndProvider, ralph.EndProvider, ralph.EndFailed}, streaks{Agent: 1}},
		{"limits in a row", ends{ralph.EndLimit, ralph.EndLimit}, streaks{Limits: 2}},
		{"work between two limits", ends{ralph.EndLimit, ralph.EndOK, ralph.EndLimit}, streaks{Limits: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := plainSituation()
			h := s.before
			h.Now.Checks = nil
			for _, end := range tt.ends {
				h.Judging, h.Now.Agent.End = true, end
				h = h.Judge(ralph.Moment{})
				h.ApplyVerdict(ralph.Verdict{Breaker: closed})
			}
			got := streaks{h.AgentFailures, h.ProviderFailures, h.LimitHits, h.BrokenChecks}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("streaks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatMakesTwoErrorsTheSame(t *testing.T) {
	failing := func(output string) Observation {
		return Observation{
			Agent:  ralph.AgentOutcome{End: ralph.EndOK},
			Checks: []ralph.CheckResult{{Name: "go test", Output: output}},
		}
	}
	lintFails := failing("x")
	lintFails.Checks[0].Name = "lint"
	ended := func(end ralph.EndClass, why string) Observation {
		return Observation{Agent: ralph.AgentOutcome{End: end, Error: why}}
	}
	for _, tt := range []struct {
		name string
		a, b Observation
		same bool
	}{
		{"the same output", failing("got a, want b"), failing("got a, want b"), true},
		{"other figures: times, lines, counts",
			failing("a_test.go:12: FAIL in 0.31s"), failing("a_test.go:9: FAIL in 12.5s"), true},
		{"other scratch folders", failing("open /tmp/x1/f: no file"), failing("open /tmp/y2/g: no file"), true},
		{"other scratch folders on macOS",
			failing("open /var/folders/ab/f: no"), failing("open /var/folders/cd/g: no"), true},
		{"other blanks", failing("got  a,\nwant b"), failing("got a, want b\n"), true},
		{"another output", failing("got a, want b"), failing("got a, want c"), false},
		{"another check", failing("x"), lintFails, false},
		{"the agent's own error", ended(ralph.EndFailed, "exit 1"), ended(ralph.EndFailed, "exit 2"), true},
		{"another error of the agent", ended(ralph.EndFailed, "no such model"), ended(ralph.EndFailed, "bad flag"), false},
		{"another end", ended(ralph.EndFailed, "x"), ended(ralph.EndTimeout, "x"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := FaultPrint(tt.a), FaultPrint(tt.b)
			if a == 0 || b == 0 || (a == b) != tt.same {
				t.Errorf("%d and %d: same is %v, want %v", a, b, a == b, tt.same)
			}
		})
	}
	passing := Observation{
		Agent:  ralph.AgentOutcome{End: ralph.EndOK},
		Checks: []ralph.CheckResult{{Name: "go test", Passed: true}},
	}
	if got := FaultPrint(passing); got != 0 {
		t.Errorf("nothing went wrong, and the error is %d", got)
	}
}

// fill sets every field of a value to something that is not zero.
func fill(v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 17, 12, 0, 0, 5000, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // Decide ignores fields without JSON
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.String:
		v.SetString("x\x00y")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	default:
		if v.CanInt() {
			v.SetInt(int64(3 * time.Second)) // a span has milliseconds
		} else if v.CanUint() {
			v.SetUint(math.MaxUint64)
		}
	}
}

func TestAHistoryRoundTripsAsJSON(t *testing.T) {
	var whole, again History
	fill(reflect.ValueOf(&whole).Elem(), 0)
	data, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, again); diff != "" {
		t.Errorf("a field is lost (-written +read):\n%s", diff)
	}
	if data, err := json.Marshal(History{}); err != nil || string(data) != "{}" {
		t.Errorf("an empty history is %s, %v", data, err)
	}
}

// In logs of older versions a check that cannot run failed, so that a passing one that cannot run is progress.
func TestAnOldLogCountsACheckThatCannotRunAsFailed(t *testing.T) {
	for rules, want := range map[int]bool{0: true, 1: false} {
		tree := ralph.TreeState{Known: true, Head: "c0", Hash: "h"}
		h := History{Judging: true, LastSeen: LastSeen{Tree: tree, Rules: rules}}
		h.NoteChecks([]ralph.CheckResult{{Name: "go test", Passed: true}})
		h.Now = Observation{Tree: tree, Checks: []ralph.CheckResult{{Name: "go test", Broken: true}}}
		h = h.Judge(ralph.Moment{})
		if passed := h.Checks[CheckKey(h.Now.Checks[0])]; h.Progress != want || passed == want {
			t.Errorf("rules %d: progress %v, passed %v", rules, h.Progress, passed)
		}
	}
}
