package runlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"github.com/ralphloop/ralph"
)

func listed(t *testing.T, s *Store, run string) Summary {
	t.Helper()
	runs, err := s.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, summary := range runs {
		if summary.Run == run {
			return summary
		}
	}
	t.Fatalf("%s is not in %v", run, runs)
	return Summary{}
}

func TestRunsTellHowTheyStand(t *testing.T) {
	const goal = "make it <work> & \"hold\"\nfor good"
	at := func(seq int) time.Time { return sampleStart.Add(time.Duration(seq) * 1234567 * time.Nanosecond) }
	begun := Summary{StartedAt: at(1), Goal: goal, Agent: "claude", Status: ralph.StatusActive}
	tests := []struct {
		name string
		tell func(*script)
		want func(*Summary)
	}{
		{"active", func(s *script) { s.iteration(1) }, func(s *Summary) { s.Iterations, s.UpdatedAt = 1, at(12) }},
		{"only started", func(*script) {}, func(s *Summary) { s.UpdatedAt = at(3) }},
		{"stopped", func(s *script) { s.iteration(1); s.stop(ralph.MaxIterations) }, func(s *Summary) {
			s.Iterations, s.UpdatedAt, s.ExitCode = 1, at(13), new(1)
			s.Status, s.Reason = ralph.StatusExhausted, ralph.MaxIterations
		}},
		{
			"stopped, then a notice",
			func(s *script) { s.stop(ralph.Blocked); s.add(0, ralph.EvNotice, ralph.Notice{}) },
			func(s *Summary) {
				s.UpdatedAt, s.Status, s.Reason, s.ExitCode = at(5), ralph.StatusBlocked, ralph.Blocked, new(2)
			},
		},
		{"resumed", func(s *script) {
			s.stop(ralph.Blocked)
			s.add(0, ralph.EvRunResumed, ralph.RunResumed{Agent: "codex"})
		}, func(s *Summary) { s.UpdatedAt, s.Agent = at(5), "codex" }},
		{"waiting", func(s *script) { s.add(0, ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitLimit}) }, func(s *Summary) {
			s.UpdatedAt, s.Status = at(4), ralph.StatusWaiting
		}},
		{"paused", func(s *script) { s.add(0, ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitPause}) }, func(s *Summary) {
			s.UpdatedAt, s.Status = at(4), ralph.StatusPaused
		}},
		{"waited", func(s *script) {
			s.add(0, ralph.EvLimitWait, ralph.Waiting{For: ralph.WaitLimit})
			s.iteration(1)
		}, func(s *Summary) { s.Iterations, s.UpdatedAt = 1, at(13) }},
		{"long", func(s *script) {
			for n := range 200 {
				s.iteration(n + 1)
			}
		}, func(s *Summary) { s.Iterations, s.UpdatedAt = 200, at(1803) }},
	}
	store := openStore(t)
	for i, test := range tests {
		run := fmt.Sprintf("R%d", i)
		told := &script{run: run}
		told.start()
		test.tell(told)
		record(t, store, run, told.events)
		want := begun
		want.Run = run
		test.want(&want)
		if diff := cmp.Diff(want, listed(t, store, run)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestTornLastLineIsLeftOutOfTheList(t *testing.T) {
	s, told := openStore(t), &script{run: sampleRun}
	told.start()
	told.stop(ralph.Blocked)
	text, offsets := logText(t, told.events)
	for cut := offsets[3]; cut < len(text); cut++ {
		plant(t, s, sampleRun, text[:cut])
		if got := listed(t, s, sampleRun); got.Broken != "" || got.Status != ralph.StatusActive ||
			!got.UpdatedAt.Equal(told.events[2].Time) {
			t.Fatalf("cut at %d: %+v", cut, got)
		}
	}
	text[len(text)-5] ^= 1
	plant(t, s, sampleRun, text)
	if got := listed(t, s, sampleRun); got.Broken != "" || got.Status != ralph.StatusActive {
		t.Errorf("with a wrong sum: %+v", got)
	}
}

func TestBrokenRunsAreListedAndNotPassedOver(t *testing.T) {
	s := openStore(t)
	good := &script{run: "A0"}
	good.start()
	record(t, s, "A0", good.events)
	other := encoded(t, ralph.Event{Version: 1, Seq: 1, Run: "B4", Type: ralph.EvNotice, Data: ralph.Notice{}})
	newer := string(sealed(
		`{"v":9,"seq":1,"ts":"2026-01-02T03:04:05Z","run":"B5","iteration":0,"type":"run_started","data":{}`,
	)) + "\n"
	late := encoded(t, ralph.Event{Version: 1, Seq: 2, Run: "B6", Type: ralph.EvRunStarted, Data: ralph.RunStarted{}})
	tests := map[string]struct{ text, why string }{
		"B1": {"", "the log has no events"},
		"B2": {`{"v":1,"seq"`, "the log has no events"},
		"B3": {"rubbish\n", "the checksum does not match"},
		"B4": {other, "the log begins with notice, event 1"},
		"B5": {newer, "use a newer ralph"},
		"B6": {late, "the log begins with run_started, event 2"},
		"B7": {strings.Repeat("\x00", 5000), "the log has no events"},
	}
	for run, test := range tests {
		plant(t, s, run, []byte(test.text))
	}
	if err := os.Mkdir(s.RunDir("B8"), folderMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "runs", "note.txt"), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, run := range runs {
		names = append(names, run.Run)
		if test, ok := tests[run.Run]; ok &&
			(!strings.Contains(run.Broken, test.why) || run != (Summary{Run: run.Run, Broken: run.Broken})) {
			t.Errorf("%s: %+v, want %s", run.Run, run, test.why)
		}
	}
	if diff := cmp.Diff([]string{"B8", "B7", "B6", "B5", "B4", "B3", "B2", "B1", "A0"}, names); diff != "" {
		t.Error(diff)
	}
	// B8 and B7 wrote nothing; B6 did, and an older run must not be taken in its place.
	if run, err := s.Resolve(""); err != nil || run != "B6" {
		t.Errorf("got %s, %v", run, err)
	}
}

func TestLiveRunIsTheOneThatHoldsTheLock(t *testing.T) {
	s := openStore(t)
	for _, run := range []string{"R1", "R2"} {
		told := &script{run: run}
		told.start()
		record(t, s, run, told.events)
	}
	lock, err := s.Lock(Owner{PID: 1, Run: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	if !listed(t, s, "R1").Live || listed(t, s, "R2").Live {
		t.Error("R1 alone should be live")
	}
	lock.Release()
	if listed(t, s, "R1").Live {
		t.Error("R1 should be dead")
	}
}

func TestResolve(t *testing.T) {
	s := openStore(t)
	for _, run := range []string{"01JA1", "01JA2", "01JB1", "01JB1X"} {
		told := &script{run: run}
		told.start()
		record(t, s, run, told.events)
	}
	tests := []struct{ name, want, problem string }{
		{"", "01JB1X", ""},
		{"01JA1", "01JA1", ""},
		{"01ja2", "01JA2", ""},
		{"01JB1", "01JB1", ""},
		{"01JB1x", "01JB1X", ""},
		{"01JA", "", `"01JA" matches several runs: 01JA2, 01JA1`},
		{"01K", "", `"01K"; the runs are 01JB1X, 01JB1, 01JA2, 01JA1`},
		{"../01JA1", "", `"../01JA1"; the runs are`},
		{"01JA1long", "", `"01JA1long"; the runs are`},
	}
	for _, test := range tests {
		got, err := s.Resolve(test.name)
		if got != test.want || errors.Is(err, ErrNoRun) != (test.problem != "") ||
			err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%q: got %q, %v", test.name, got, err)
		}
	}
	if _, err := openStore(t).Resolve("01J"); !errors.Is(err, ErrNoRun) ||
		!strings.Contains(err.Error(), "this workspace has no runs") {
		t.Errorf("got %v", err)
	}
	if got := listSome(strings.Split("abcdefghijk", "")); got != "a, b, c, d, e, f, g, h and 3 more" {
		t.Error(got)
	}
}

// The newest run is the one that started last, even if the clock went back. (B12)
func TestNewRunIDIsTheGreatest(t *testing.T) {
	s := openStore(t)
	now := time.Now()
	later := ulid.MustNewDefault(now.Add(24 * time.Hour)).String()
	for _, name := range []string{later, "not-a-run"} {
		if err := os.MkdirAll(filepath.Join(s.dir, "runs", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if id := s.NewRunID(now); id <= later {
		t.Errorf("after %s comes %s", later, id)
	}
}
