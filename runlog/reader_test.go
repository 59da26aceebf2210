package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// allTypes is a log of 30 events and more with every payload that exists, and one that does not.
func allTypes() []ralph.Event {
	s := &script{run: sampleRun}
	s.start()
	s.iteration(1)
	s.add(1, ralph.EvSignal, ralph.SignalSeen{Kind: "complete", Text: "x"})
	s.add(1, ralph.EvWarning, ralph.Notice{Code: "w", Text: "careful"})
	s.add(1, ralph.EvNotice, ralph.Notice{Code: "n", Text: "by the way"})
	s.add(2, ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: 2, Of: 10, Diagnose: true})
	s.add(2, ralph.EvAgentOutput, ralph.AgentOutput{Tool: "Edit", Events: 3, Elapsed: 9e9})
	s.add(2, ralph.EvAgentExited, ralph.AgentOutcome{
		Agent: "claude", End: ralph.EndLimit, Error: "limit", RetryAfter: 5e9,
	})
	s.add(2, ralph.EvTruncated, ralph.OutputTruncated{What: "agent.jsonl", Bytes: 1e9})
	s.add(2, ralph.EvStatusBlock, ralph.StatusBlockSeen{Problem: "half", Mismatches: []string{"tests"}})
	s.add(2, ralph.EvClaimRefused, ralph.ClaimRefused{Refusals: []ralph.Refusal{{Code: "check_failed", Detail: "red"}}})
	s.add(2, ralph.EvVerdict, ralph.VerdictReached{
		Verdict: ralph.Verdict{Row: 2, Action: ralph.Wait, WaitFor: ralph.WaitLimit, Wait: 2e10},
	})
	s.add(2, ralph.EvBreaker, ralph.BreakerMoved{From: ralph.BreakerClosed, To: ralph.BreakerDiagnose, Reason: "r"})
	s.add(2, ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitLimit, Wait: 2e10, Detail: "d"})
	s.stop(ralph.RateLimited)
	s.add(2, ralph.EvRunResumed, ralph.RunResumed{Agent: "codex", Policy: ralph.DefaultPolicy(), PID: 5, Interrupted: 2})
	s.add(2, "not_invented_yet", map[string]any{"a": "b"})
	s.iteration(3)
	s.add(3, ralph.EvCheckStarted, ralph.CheckStarted{Name: "between iterations"})
	return s.events
}

// folded is the state that events have once they were written and read, by the plain way.
func folded(tb testing.TB, events []ralph.Event) *fold.State {
	tb.Helper()
	state := &fold.State{}
	for _, e := range events {
		data, err := ralph.DecodePayload(e.Type, asJSON(tb, e.Data))
		if err != nil {
			tb.Fatal(err)
		}
		e.Data = data
		if err := state.Apply(e); err != nil {
			tb.Fatal(err)
		}
	}
	return state
}

// prefixes are the states after each number of events.
func prefixes(tb testing.TB, events []ralph.Event) []*fold.State {
	tb.Helper()
	var states []*fold.State
	for n := range len(events) + 1 {
		states = append(states, folded(tb, events[:n]))
	}
	return states
}

func diffStates(want, got *fold.State) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(judge.History{}))
}

// logText is a log as bytes, with the offset of each line and of the end.
func logText(tb testing.TB, events []ralph.Event) (text []byte, offsets []int) {
	tb.Helper()
	before := ""
	for _, e := range events {
		offsets = append(offsets, len(text))
		before = linkedTo(tb, e, []byte(before))
		text = append(text, before...)
	}
	return text, append(offsets, len(text))
}

// plant makes a run out of bytes.
func plant(tb testing.TB, s *Store, run string, text []byte) {
	tb.Helper()
	if err := os.MkdirAll(s.RunDir(run), folderMode); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(s.logPath(run), text, fileMode); err != nil {
		tb.Fatal(err)
	}
}

func TestFoldLeavesNothingOut(t *testing.T) {
	s, events := openStore(t), allTypes()
	record(t, s, sampleRun, events)
	state, err := stateOf(s, sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffStates(folded(t, events), state); diff != "" {
		t.Error(diff)
	}
}

func TestReadGivesBackWhatWasAppended(t *testing.T) {
	s, want := openStore(t), allTypes()
	record(t, s, sampleRun, want)
	for i, e := range want {
		data, err := ralph.DecodePayload(e.Type, asJSON(t, e.Data))
		if err != nil {
			t.Fatal(err)
		}
		want[i].Data = data
	}
	var got []ralph.Event
	var lines []byte
	err := s.Read(sampleRun, func(e ralph.Event, line []byte) error {
		got = append(got, e)
		lines = append(append(lines, line...), '\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text, _ := logText(t, want); !bytes.Equal(text, lines) {
		t.Errorf("the lines differ from the log: %s", lines)
	}
}

// places returns the offsets of a log to test: all of them or, if time is short, those around line
// ends and one in 37.
func places(size int, offsets []int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := range size {
			next, _ := slices.BinarySearch(offsets, at)
			atEnd := next < len(offsets) && offsets[next]-at <= 3 || next > 0 && at-offsets[next-1] <= 3
			if (!testing.Short() || atEnd || at%37 == 0) && !yield(at) {
				return
			}
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	events := allTypes()
	text, offsets := logText(t, events)
	states := prefixes(t, events)
	s := openStore(t)
	for cut := range places(len(text)+1, offsets) {
		plant(t, s, sampleRun, text[:cut])
		log, state, tail, err := reopen(s, sampleRun)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		whole, _ := slices.BinarySearch(offsets, cut+1)
		whole--
		if want := int64(cut - offsets[whole]); tail.Dropped != want {
			t.Fatalf("cut at %d: %d bytes dropped, want %d", cut, tail.Dropped, want)
		}
		if diff := diffStates(states[whole], state); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
		if whole < len(events) {
			if err := log.Append(events[whole]); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			whole++
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(s.logPath(sampleRun)); err != nil || !bytes.Equal(text[:offsets[whole]], got) {
			t.Fatalf("cut at %d: the log does not go on where it was cut (%v)", cut, err)
		}
	}
}

func TestFlipEveryByte(t *testing.T) {
	events := allTypes()
	text, offsets := logText(t, events)
	states := prefixes(t, events)
	s := openStore(t)
	for at := range places(len(text), offsets) {
		text[at] ^= 1 << (at % 8)
		plant(t, s, sampleRun, text)
		text[at] ^= 1 << (at % 8)
		line, _ := slices.BinarySearch(offsets, at+1)
		line--
		state, err := stateOf(s, sampleRun)
		if at >= offsets[len(events)-1]-1 { // the newline before the last line makes one wrong last line of two
			if diff := diffStates(states[line], state); err != nil || diff != "" {
				t.Fatalf("byte %d at the end: %v %s", at, err, diff)
			}
			continue
		}
		damaged, ok := errors.AsType[*Damaged](err)
		if !ok {
			t.Fatalf("byte %d: got %v, want damage", at, err)
		}
		want := Damaged{Path: s.logPath(sampleRun), Offset: int64(offsets[line]), Line: int64(line + 1), Why: damaged.Why}
		if diff := cmp.Diff(want, *damaged); diff != "" || damaged.Why == "" {
			t.Fatalf("byte %d: %s", at, diff)
		}
	}
}

func TestDamageThatSumsDoNotShow(t *testing.T) {
	event := func(seq int64, run string) string {
		return encoded(t, ralph.Event{
			Version: 1, Seq: seq, Run: run, Time: sampleStart, Type: ralph.EvWarning, Data: ralph.Notice{Code: "c"},
		})
	}
	const prefix = `{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":0,"type":`
	first := event(1, "R")
	tests := []struct {
		name, second, want string
	}{
		{"a gap", event(3, "R"), "event 3 follows event 1"},
		{"twice", event(1, "R"), "event 1 follows event 1"},
		{"another run", event(2, "S"), `it belongs to run "S"`},
		{"not JSON", string(sealed(`{"v":1,"seq":2`)) + "x\n" + event(3, "R"), "the checksum does not match"},
		{
			"data that is not JSON", string(sealed(prefix+`"warning","data":{`)) + "\n",
			"not an event: invalid character ',' looking for beginning of object key string",
		},
		{
			"data of the wrong kind", string(sealed(prefix+`"warning","data":[]`)) + "\n",
			"decode event data: json: cannot unmarshal array into Go value of type ralph.Notice",
		},
		{
			"an unknown type with bad data", string(sealed(prefix+`"new","data":nul`)) + "\n",
			"not an event: invalid character ',' in literal null (expecting 'l')",
		},
		{"an empty line", "\n" + event(2, "R"), "the checksum does not match"},
		{"a wrong sum and half a line", "{}\n{", "the checksum does not match"},
	}
	for _, test := range tests {
		s := openStore(t)
		plant(t, s, "R", []byte(first+test.second))
		_, err := stateOf(s, "R")
		damaged, ok := errors.AsType[*Damaged](err)
		if !ok {
			t.Errorf("%s: got %v, want damage", test.name, err)
			continue
		}
		want := Damaged{Path: s.logPath("R"), Offset: int64(len(first)), Line: 2, Why: test.want}
		if diff := cmp.Diff(want, *damaged); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if _, _, _, reopened := reopen(s, "R"); reopened == nil {
			t.Errorf("%s: could be reopened", test.name)
		}
		if text, err := os.ReadFile(s.logPath("R")); err != nil || string(text) != first+test.second {
			t.Errorf("%s: reopening changed a damaged log (%v)", test.name, err)
		}
	}
}

func TestDamageIsToldInOneSentence(t *testing.T) {
	err := error(&Damaged{Path: "p", Offset: 12, Line: 3, Why: "a reason"})
	if got, want := err.Error(), "log damaged at byte 12 (line 3): a reason: p"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFieldsBehindTheDataAreAllowed(t *testing.T) {
	const text = `{"v":1,"seq":1,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":0,"type":"%s","data":{"code":"c",` +
		`"text":""},"later":{}`
	s := openStore(t)
	for kind, want := range map[string]any{
		"warning": ralph.Notice{Code: "c"}, "not_invented_yet": json.RawMessage(`{"code":"c","text":""}`),
	} {
		plant(t, s, "R", append(sealed(fmt.Sprintf(text, kind)), '\n'))
		var got any
		if err := s.Read("R", func(e ralph.Event, _ []byte) error { got = e.Data; return nil }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNewerLogAsksForANewerProgram(t *testing.T) {
	s := openStore(t)
	plant(
		t,
		s,
		"R",
		append(
			sealed(`{"v":2,"seq":1,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":0,"type":"run_started","data":{}`), '\n',
		),
	)
	_, err := stateOf(s, "R")
	newer, ok := errors.AsType[*TooNew](err)
	if !ok || *newer != (TooNew{Path: s.logPath("R"), Version: 2}) || !strings.Contains(err.Error(), "use a newer ralph") {
		t.Errorf("got %v", err)
	}
}

// longLog is a log of many chunks.
func longLog(tb testing.TB, iterations int) ([]ralph.Event, []byte, []int) {
	tb.Helper()
	s := &script{run: sampleRun}
	s.start()
	for n := range iterations {
		s.iteration(n + 1)
	}
	text, offsets := logText(tb, s.events)
	if len(text) < 4*chunkSize {
		tb.Fatalf("a log of %d bytes is too short for this test", len(text))
	}
	return s.events, text, offsets
}

func TestLongLogIsReadInOrder(t *testing.T) {
	events, text, offsets := longLog(t, 250)
	s := openStore(t)
	for _, cut := range []int{len(text), len(text) - 1, len(text) - 700, 3 * chunkSize, 3*chunkSize + 1} {
		plant(t, s, sampleRun, text[:cut])
		whole, _ := slices.BinarySearch(offsets, cut+1)
		log, state, tail, err := reopen(s, sampleRun)
		if err != nil {
			t.Fatal(err)
		}
		log.Close()
		if diff := diffStates(folded(t, events[:whole-1]), state); diff != "" {
			t.Errorf("cut at %d: %s", cut, diff)
		}
		if want := int64(cut - offsets[whole-1]); tail.Dropped != want {
			t.Errorf("cut at %d: dropped %d, want %d", cut, tail.Dropped, want)
		}
	}
}

func TestDamageInALongLog(t *testing.T) {
	events, text, offsets := longLog(t, 250)
	s := openStore(t)
	step := 397
	if testing.Short() {
		step *= 3
	}
	for line := 0; line < len(events)-1; line += step {
		flipped := bytes.Clone(text)
		flipped[offsets[line]+30] ^= 4
		plant(t, s, sampleRun, flipped)
		visited := 0
		err := s.Read(sampleRun, func(ralph.Event, []byte) error { visited++; return nil })
		damaged, ok := errors.AsType[*Damaged](err)
		if !ok || damaged.Offset != int64(offsets[line]) || damaged.Line != int64(line+1) || visited != line {
			t.Errorf("line %d: %d events, then %v", line+1, visited, err)
		}
	}
}

// A wrong sum that ends a chunk is a torn line only if the log ends there too.
func TestTornLineAtTheEndOfAChunk(t *testing.T) {
	good := encoded(t, ralph.Event{
		Version: 1, Seq: 1, Run: "R", Time: sampleStart, Type: ralph.EvWarning, Data: ralph.Notice{Code: "c"},
	})
	filler := strings.Repeat("x", chunkSize-len(good)-1) + "\n"
	s := openStore(t)

	plant(t, s, "R", []byte(good+filler))
	_, _, tail, err := reopen(s, "R")
	if want := (Tail{Dropped: int64(len(filler))}); err != nil || tail != want {
		t.Errorf("at the end: got %v, %v, want %v", tail, err, want)
	}

	for _, after := range []string{"x", "x\n", good} {
		plant(t, s, "R", []byte(good+filler+after))
		_, err := stateOf(s, "R")
		if damaged, ok := errors.AsType[*Damaged](err); !ok || damaged.Line != 2 || damaged.Offset != int64(len(good)) {
			t.Errorf("before %.5q: got %v", after, err)
		}
	}
}

func TestLineLongerThanAChunk(t *testing.T) {
	s, sample := openStore(t), &script{run: sampleRun}
	sample.start()
	sample.add(0, ralph.EvWarning, ralph.Notice{Code: "long", Text: strings.Repeat("a long story\n", chunkSize/4)})
	sample.iteration(1)
	record(t, s, sampleRun, sample.events)
	state, err := stateOf(s, sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffStates(folded(t, sample.events), state); diff != "" {
		t.Error(diff)
	}
	runs, err := s.Runs()
	if err != nil || len(runs) != 1 || runs[0].Broken != "" || runs[0].Iterations != 1 {
		t.Errorf("got %+v, %v", runs, err)
	}
}

func TestRubbishWithoutANewlineIsNotReadIntoMemory(t *testing.T) {
	s := openStore(t)
	plant(t, s, "R", nil)
	if err := os.Truncate(s.logPath("R"), 1<<40); err != nil {
		t.Skip("no file of that size here: ", err)
	}
	_, err := stateOf(s, "R")
	damaged, ok := errors.AsType[*Damaged](err)
	if !ok || *damaged != (Damaged{Path: s.logPath("R"), Line: 1, Why: "a line is too long"}) {
		t.Errorf("got %v", err)
	}
}

func TestReadingEndsWithTheVisitorsError(t *testing.T) {
	_, text, _ := longLog(t, 600)
	s := openStore(t)
	plant(t, s, sampleRun, text)
	enough := errors.New("enough")
	for _, last := range []int64{1, 17, 3000} {
		visited := int64(0)
		err := s.Read(sampleRun, func(e ralph.Event, _ []byte) error {
			visited = e.Seq
			if e.Seq == last {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || visited != last {
			t.Errorf("got %v after event %d, want the end after %d", err, visited, last)
		}
	}
}

func TestReadingARunThatIsNotThere(t *testing.T) {
	s := openStore(t)
	for name, err := range map[string]error{
		"state":  second(stateOf(s, "R")),
		"read":   s.Read("R", func(ralph.Event, []byte) error { return nil }),
		"send":   s.Send("R", Stop),
		"follow": s.Follow(t.Context(), "R", func(ralph.Event, []byte) error { return nil }),
	} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking created %s", s.Dir())
	}
}

func second[T any](_ T, err error) error { return err }
