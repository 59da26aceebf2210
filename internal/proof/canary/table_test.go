package canary_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

const (
	goFatal  = "go pkg fatal"
	goTable  = "go pkg table"
	goOther  = "go other fatal"
	newFatal = "go fresh fatal"
	literal  = "go pkg/a_test.go literal TestAdd"
)

func TestJudgeCanary(t *testing.T) {
	three := []string{goFatal, goTable, goOther}
	red := canary.Outcome{Exit: 1, Red: true, Total: -1, Planted: three, Failing: three}
	green := canary.Outcome{Total: -1, Planted: three}
	with := func(out canary.Outcome, change func(*canary.Outcome)) canary.Outcome {
		change(&out)
		return out
	}
	for _, c := range []struct {
		name      string
		base, now canary.Outcome
		stops     bool
		want      ralph.Proof
	}{
		{name: "nothing planted", now: canary.Outcome{Total: -1},
			want: ralph.Proof{Canary: ralph.CanaryNone, Detail: "It runs no tests that Ralph knows."}},
		{name: "no place left", base: red, now: canary.Outcome{Total: -1}, want: ralph.Proof{
			Canary: ralph.CanaryNone, Lost: 1,
			Detail: "The tests next to which Ralph planted a failing one are gone: pkg (go).",
		}},
		{name: "red both times", base: red, now: red, want: ralph.Proof{Canary: ralph.CanaryRed}},
		{name: "green now", base: red, now: green, want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "The check passed with a deliberately failing test in pkg (go); at the base that test " +
				"made it fail."}},
		{name: "green both times", base: green, now: green, want: ralph.Proof{Canary: ralph.CanaryMute,
			Detail: "It does not run the failing test that Ralph planted, and did not before the run."}},
		{name: "no base, green", now: green, want: ralph.Proof{
			Canary: ralph.CanaryMute,
			Detail: "It does not run the failing test that Ralph planted, and did not before the run.",
		}},
		{name: "no base, red", now: red, want: ralph.Proof{Canary: ralph.CanaryRed}},
		{name: "no base, green, known", now: with(green, func(o *canary.Outcome) {
			o.Silent = three
		}), want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "The check passed without running the deliberately failing test in pkg (go)."}},
		{name: "as silent as at the base", base: with(green, func(o *canary.Outcome) {
			o.Silent = three
		}), now: with(green, func(o *canary.Outcome) { o.Silent = three }),
			want: ralph.Proof{
				Canary: ralph.CanaryMute,
				Detail: "It does not run the failing test that Ralph planted, and did not before the run.",
			}},
		{name: "failures are ignored", base: with(red, func(o *canary.Outcome) {
			o.Exit, o.Red = 0, false
		}), now: with(red, func(o *canary.Outcome) { o.Exit, o.Red = 0, false }),
			want: ralph.Proof{Canary: ralph.CanaryMute, Detail: "Tests fail inside the check, but it still exits with 0."}},
		{name: "failures are ignored since", base: red, now: with(red, func(o *canary.Outcome) {
			o.Exit, o.Red = 0, false
		}), want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "The check passed with a deliberately failing test in pkg (go); at the base that test " +
				"made it fail."}},
		{name: "one place is silent", base: red, now: with(red, func(o *canary.Outcome) {
			o.Failing = []string{goFatal, goTable}
		}), want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "A deliberately failing test in other (go) failed at the base and no longer does."}},
		{name: "one place is gone", base: red, now: with(red, func(o *canary.Outcome) {
			o.Planted, o.Failing = []string{goFatal, goTable}, []string{goFatal, goTable}
		}),
			want: ralph.Proof{Canary: ralph.CanaryRed}},
		{name: "one place is silent, but the run may stop early", base: red, now: with(
			red, func(o *canary.Outcome) { o.Failing = []string{goFatal} },
		), stops: true,
			want: ralph.Proof{Canary: ralph.CanaryRed}},
		{
			name: "never at the base, now",
			base: with(red, func(o *canary.Outcome) { o.Failing, o.Unbuilt = nil, true }), now: red,
			want: ralph.Proof{Canary: ralph.CanaryRed},
		},
		{name: "red for another reason both times", base: with(red, func(o *canary.Outcome) {
			o.Failing = nil
		}), now: with(red, func(o *canary.Outcome) { o.Failing = nil }),
			want: ralph.Proof{
				Canary: ralph.CanaryMute,
				Detail: "The check failed with a deliberately failing test, but that test was not seen.",
			}},
		{name: "red without any canary", base: red, now: with(red, func(o *canary.Outcome) {
			o.Failing = nil
		}), want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "The check exited with 1 without running the deliberately failing test in pkg (go), which it ran " +
				"at the base."}},
		{name: "the canary does not build", base: red, now: with(red, func(o *canary.Outcome) {
			o.Failing, o.Unbuilt = nil, true
		}),
			want: ralph.Proof{
				Canary: ralph.CanaryGreen,
				Detail: "The check exited with 1 without running the deliberately failing test in pkg (go), which it ran " +
					"at the base.",
			}},
		{name: "out of time", base: red, now: with(red, func(o *canary.Outcome) { o.Failing, o.Exit = nil, -1 }),
			want: ralph.Proof{
				Canary: ralph.CanaryGreen,
				Detail: "The run with a deliberately failing test stopped with status -1; at the base that test made " +
					"the check fail.",
			}},
		{name: "out of time both times", base: with(red, func(o *canary.Outcome) { o.Exit = -1 }), now: with(
			red, func(o *canary.Outcome) { o.Failing, o.Exit = nil, -1 },
		),
			want: ralph.Proof{
				Canary: ralph.CanaryMute,
				Detail: "The run with a deliberately failing test stopped with status -1, so it proves nothing.",
			}},
		{name: "a canary passed", base: red, now: with(red, func(o *canary.Outcome) {
			o.Failing, o.Passing = []string{goFatal, goOther}, []string{goTable}
		}),
			want: ralph.Proof{Canary: ralph.CanaryGreen, Detail: "A deliberately failing test passed: pkg (go)."}},
		{name: "a failure is hidden", base: red, now: with(red, func(o *canary.Outcome) {
			o.Hidden = []string{goTable}
		}), want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "A deliberately failing test in pkg (go) failed, but its package was reported as passed; at " +
				"the base it was not."}},
		{name: "a failure was hidden at the base", base: with(red, func(o *canary.Outcome) {
			o.Hidden = three
		}), now: with(red, func(o *canary.Outcome) { o.Hidden = three }),
			want: ralph.Proof{Canary: ralph.CanaryRed}},
		{name: "a canary passed at the base, too", base: with(red, func(o *canary.Outcome) {
			o.Failing, o.Passing = []string{goFatal, goOther}, []string{goTable}
		}),
			now:  with(red, func(o *canary.Outcome) { o.Failing, o.Passing = []string{goFatal, goOther}, []string{goTable} }),
			want: ralph.Proof{Canary: ralph.CanaryRed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := canary.Row{Today: c.base, Canary: c.now, Stops: c.stops}
			row.Claimed.Total = -1
			if diff := cmp.Diff(c.want, row.Judge()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeLiterals(t *testing.T) {
	plants := []string{goFatal}
	red := canary.Outcome{Exit: 1, Red: true, Total: -1, Planted: plants, Failing: plants}
	changed := func(change func(*canary.Outcome)) canary.Outcome {
		out := tests(states{"b": canary.Passed}, nil)
		out.Exit, out.Red, out.Planted, out.Literals = 1, true, []string{literal}, []string{literal}
		out.Failing, out.Skewed = out.Literals, map[string]bool{"a": true}
		change(&out)
		return out
	}
	for _, c := range []struct {
		name     string
		literals canary.Outcome
		stops    bool
		want     string
	}{
		{"none changed", canary.Outcome{}, false, ""},
		{"exactly the changed test fails", changed(func(*canary.Outcome) {}), false, ""},
		{"it passes", changed(func(o *canary.Outcome) { o.Failing, o.Passing = nil, o.Literals }), false,
			"It passed although Ralph had changed an expected value in its copy: TestAdd in pkg/a_test.go."},
		{"it does not run", changed(func(o *canary.Outcome) { o.Failing = nil }), false,
			"A test did not run when its expected value was changed: TestAdd in pkg/a_test.go."},
		{"it does not run, and the command may stop", changed(func(o *canary.Outcome) { o.Failing = nil }), true, ""},
		{"the check passes", changed(func(o *canary.Outcome) { o.Exit, o.Red = 0, false }), false,
			"The check passed although a test failed: TestAdd in pkg/a_test.go."},
		{"out of time", changed(func(o *canary.Outcome) { o.Exit = -1 }), false, ""},
		{"another test fails, too", changed(func(o *canary.Outcome) { o.Tests = states{"b": canary.Failed} }), false,
			"b passes on the claimed tree, but not beside a deliberately failing test."},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := canary.Row{
				Today: red, Canary: red, Literals: c.literals, Stops: c.stops,
				Claimed: tests(states{"a": canary.Passed, "b": canary.Passed}, nil),
			}
			want := ralph.Proof{Canary: ralph.CanaryRed, Tests: 2}
			if c.want != "" {
				want.Canary, want.Detail = ralph.CanaryGreen, c.want
			}
			if diff := cmp.Diff(want, row.Judge()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// tests makes outcomes from the states of tests by name.
func tests(states map[string]canary.State, change func(*canary.Outcome)) canary.Outcome {
	out := canary.Outcome{Complete: true, Formats: []string{"go"}, Tests: states}
	for _, state := range states {
		if state != canary.Skipped {
			out.Total++
		}
		if state == canary.Failed {
			out.Red, out.Exit = true, 1
		}
	}
	if change != nil {
		change(&out)
	}
	return out
}

type states = map[string]canary.State

func TestMissingTests(t *testing.T) {
	base := tests(states{"a": canary.Passed, "b": canary.Failed, "c": canary.Skipped}, nil)
	counted := func(n int) canary.Outcome { return canary.Outcome{Formats: []string{"jest"}, Total: n} }
	type lost struct {
		Missing []string
		Lost    int
		Detail  string
	}
	const none = "It runs no tests that Ralph knows."
	for _, c := range []struct {
		name       string
		then       *canary.Outcome
		today, now canary.Outcome
		row        canary.Row
		want       lost
	}{
		{name: "the same", then: &base, now: base},
		{name: "gone and skipped", then: &base, now: tests(states{"b": canary.Skipped}, nil),
			want: lost{Missing: []string{"a", "b (skipped)"}, Lost: 2}},
		{name: "never ran", then: &base, now: tests(states{"a": canary.Passed, "b": canary.Passed}, nil)},
		{name: "only today is known", today: base, now: tests(states{"a": canary.Passed}, nil),
			want: lost{Missing: []string{"b"}, Lost: 1}},
		{name: "fewer by number", today: counted(5), now: counted(3),
			want: lost{Lost: 2, Detail: "5 tests ran at the base, 3 now."}},
		{name: "as many by number", today: counted(5), now: counted(5)},
		{name: "number unknown at the base", today: counted(-1), now: counted(3)},
		{name: "number unknown now", today: counted(5), now: counted(-1),
			want: lost{Lost: 5, Detail: "5 tests ran at the base, 0 now."}},
		{name: "no test ran", then: &base, now: tests(states{}, nil),
			want: lost{Missing: []string{"a", "b"}, Lost: 2}},
		{name: "tests changed", then: &base, now: tests(states{"x": canary.Passed, "y": canary.Passed}, nil),
			row: canary.Row{Changed: true}},
		{name: "a check that may stop passes", then: &base, now: tests(states{"b": canary.Passed}, nil),
			row: canary.Row{Stops: true}, want: lost{Missing: []string{"a"}, Lost: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := c.row
			row.Then, row.Today, row.Claimed = c.then, c.today, c.now
			proof := row.Judge()
			got := lost{proof.Missing, proof.Lost, strings.TrimSpace(strings.TrimPrefix(proof.Detail, none))}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// In a run with planted tests, exactly these fail. A product that behaves only while nobody looks is seen here.
func TestExactlyTheCanariesFail(t *testing.T) {
	fired := func(o *canary.Outcome) {
		o.Red, o.Exit, o.Planted, o.Failing = true, 1, []string{goFatal}, []string{goFatal}
	}
	claimed := states{"a": canary.Passed, "b": canary.Passed}
	for _, c := range []struct {
		name                string
		then, today, canary states
		row                 canary.Row
		want                ralph.CanaryState
	}{
		{name: "both pass", today: claimed, canary: claimed, want: ralph.CanaryRed},
		{name: "one fails", today: claimed, canary: states{"a": canary.Failed, "b": canary.Passed}, want: ralph.CanaryGreen},
		{name: "one failed at the base", today: states{"a": canary.Failed, "b": canary.Passed},
			canary: states{"a": canary.Failed, "b": canary.Passed}, want: ralph.CanaryGreen},
		{name: "one does not end", today: claimed, canary: states{"a": canary.Ran, "b": canary.Passed},
			want: ralph.CanaryGreen},
		{name: "one does not run", today: claimed, canary: states{"b": canary.Passed}, want: ralph.CanaryGreen},
		{name: "one does not run, as at the base", today: states{"b": canary.Passed}, canary: states{"b": canary.Passed},
			want: ralph.CanaryRed},
		{name: "one does not run, because the check may stop", today: claimed, canary: states{"b": canary.Passed},
			row: canary.Row{Stops: true}, want: ralph.CanaryRed},
		{name: "one looks at all files, also at the base", then: claimed,
			today: states{"a": canary.Failed, "b": canary.Passed}, canary: states{"a": canary.Failed, "b": canary.Passed},
			want: ralph.CanaryRed},
		{name: "one is flaky", today: claimed, canary: states{"a": canary.Failed, "b": canary.Passed},
			row: canary.Row{Excused: []string{"a"}}, want: ralph.CanaryRed},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := c.row
			if c.then != nil {
				then := tests(c.then, nil)
				row.Then = &then
			}
			row.Today, row.Claimed, row.Canary = tests(c.today, fired), tests(claimed, nil), tests(c.canary, fired)
			if proof := row.Judge(); proof.Canary != c.want {
				t.Errorf("got %s (%s), want %s", proof.Canary, proof.Detail, c.want)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	planted := func(o *canary.Outcome) {
		o.Red, o.Exit, o.Planted, o.Failing = true, 1, []string{goFatal}, []string{goFatal}
	}
	exits := func(code int) canary.Outcome {
		return canary.Outcome{Exit: code, Red: code != 0, Total: -1, Complete: true}
	}
	exitsPlanted := exits(1)
	planted(&exitsPlanted)
	killed := exits(143)
	killed.Stopped = true
	unbuilt := tests(states{}, planted)
	unbuilt.Unbuilt = true
	type result struct {
		Different  []string
		Comparable bool
	}
	for _, c := range []struct {
		name        string
		then, today canary.Outcome
		stops       bool
		excused     []string
		want        result
	}{
		{name: "the same, with a planted test", then: tests(states{"a": canary.Passed, "b": canary.Failed}, nil),
			today: tests(states{"a": canary.Passed, "b": canary.Failed}, planted), want: result{nil, true}},
		{name: "a test passes today", then: tests(states{"a": canary.Failed}, nil),
			today: tests(states{"a": canary.Passed}, planted),
			want:  result{[]string{"a failed, and today it passed"}, true}},
		{name: "a test is gone, another is new", then: tests(states{"a": canary.Passed}, nil),
			today: tests(states{"b": canary.Passed}, nil),
			want: result{[]string{
				"a passed, and today it does not run", "b did not run, and today it passed",
			}, true}},
		{name: "a flaky test", then: tests(states{"a": canary.Failed}, nil), today: tests(states{"a": canary.Passed}, nil),
			excused: []string{"a"}, want: result{nil, true}},
		{name: "the command stops early", then: tests(states{"a": canary.Passed, "b": canary.Passed}, nil),
			today: tests(states{"b": canary.Passed}, nil), stops: true, want: result{nil, true}},
		{name: "no test has a name today", then: tests(states{"a": canary.Passed}, nil), today: tests(states{}, nil),
			want: result{[]string{"1 tests were named, and today none"}, true}},
		{name: "what is planted does not build", then: tests(states{"a": canary.Passed}, nil), today: unbuilt,
			want: result{nil, false}},
		{name: "exit codes alike", then: exits(1), today: exits(1), want: result{nil, true}},
		{name: "exit codes differ", then: exits(1), today: exits(0),
			want: result{[]string{"it ended with exit 1, and today with exit 0"}, true}},
		{name: "a planted test decides the exit code", then: exits(1), today: exitsPlanted, want: result{nil, false}},
		{name: "stopped today", then: exits(1), today: exits(-1),
			want: result{[]string{"it ended with exit 1, and today with no exit code, because it was stopped"}, true}},
		{name: "stopped then", then: exits(-1), today: exits(0), want: result{nil, true}},
		{name: "killed then", then: killed, today: exits(0), want: result{nil, true}},
		{name: "it crashed, and passes today", then: exits(139), today: exits(0),
			want: result{[]string{"it ended with exit 139, and today with exit 0"}, true}},
		{name: "it crashed, and fails today", then: exits(255), today: exits(1), want: result{nil, true}},
		{name: "it crashes both times", then: exits(134), today: exits(134), want: result{nil, true}},
		{name: "it crashed, and a planted test decides", then: exits(255), today: exitsPlanted, want: result{nil, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			different, comparable := canary.Differences(c.then, c.today, c.stops, c.excused)
			if diff := cmp.Diff(c.want, result{different, comparable}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Names that hold a port or another number of the moment differ in every run.
func TestNamesThatComeAndGo(t *testing.T) {
	run := func(port string) canary.Outcome {
		return tests(states{"TestPort/" + port: canary.Passed, "TestA": canary.Passed}, nil)
	}
	flaky := canary.FlakyIn(run("41001"), run("41002"))
	if diff := cmp.Diff([]string{"TestPort/#"}, flaky); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if different, _ := canary.Differences(run("41000"), run("41002"), false, flaky); len(different) > 0 {
		t.Errorf("different: %q", different)
	}
	then := run("41000")
	row := canary.Row{Then: &then, Today: run("41001"), Claimed: run("41003"), Excused: flaky}
	if proof := row.Judge(); proof.Lost > 0 {
		t.Errorf("missing: %q", proof.Missing)
	}
	row.Claimed = tests(states{"TestPort/41003": canary.Passed}, nil)
	if diff := cmp.Diff([]string{"TestA"}, row.Judge().Missing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The log keeps the names of tests, so that the base can be compared after a resume. Of very many it keeps a sum.
func TestOutcomesInTheLog(t *testing.T) {
	few := tests(states{"a": canary.Passed, "b": canary.Failed, "c": canary.Skipped, "d": canary.Ran}, nil)
	got := canary.OutcomeOf(ralph.CheckResult{ExitCode: 1, Tests: few.Seen()})
	if different, comparable := canary.Differences(got, few, false, nil); len(different) > 0 || !comparable {
		t.Errorf("the same tests differ: %q, %t", different, comparable)
	}
	many := tests(states{}, nil)
	for i := range 3000 {
		many.Tests[strconv.Itoa(i)] = canary.Passed
	}
	seen := many.Seen()
	if len(seen.Passed) > 0 || seen.Sum == "" {
		t.Errorf("the log keeps %d names and the sum %q", len(seen.Passed), seen.Sum)
	}
	got = canary.OutcomeOf(ralph.CheckResult{Passed: true, Tests: seen})
	if different, _ := canary.Differences(got, many, false, nil); len(different) > 0 {
		t.Errorf("the same tests differ: %q", different)
	}
	many.Tests["7"] = canary.Failed
	if different, _ := canary.Differences(got, many, false, nil); len(different) != 1 {
		t.Errorf("other tests do not differ: %q", different)
	}
}

// A test that printed "... ok" before it failed counted as passed.
func TestUnittestListsItsFailures(t *testing.T) {
	output := "test_a (test_b.T.test_a) ... retrying ... ok\nFAIL\n\n" + strings.Repeat("=", 70) +
		"\nFAIL: test_a (test_b.T.test_a)\n"
	got := canary.Read(canary.Invocation{}, nil, 1, strings.NewReader(output), nil)
	if diff := cmp.Diff(states{"test_b.T.test_a": canary.Failed}, got.Tests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If unittest could not load a file at the base, it named the file like a test. That test was
// missing once the file loaded.
func TestAFileThatUnittestCannotLoadIsNoTest(t *testing.T) {
	output := "test_calc (unittest.loader._FailedTest.test_calc) ... ERROR\ntest_a (test_b.T.test_a) ... ok\n"
	got := canary.Read(canary.Invocation{}, nil, 1, strings.NewReader(output), nil)
	want := canary.Outcome{
		Exit: 1, Red: true, Total: 1, Complete: true, Formats: []string{"unittest"}, Unbuilt: true,
		Tests: map[string]canary.State{"test_b.T.test_a": canary.Passed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without -v, go test names only failing tests: a test that failed at the base and passes now
// looked as if it were gone.
func TestGoNamesOnlyFailuresWithoutV(t *testing.T) {
	text := "--- FAIL: TestAdd (0.00s)\n    a_test.go:3: x\nFAIL\nFAIL\texample.com/p\t0.002s\nFAIL\n"
	for _, c := range []struct {
		output string
		want   canary.Outcome
	}{
		{text, canary.Outcome{Exit: 1, Red: true, Total: -1, Counted: 1}},
		{"=== RUN   TestAdd\n" + text, canary.Outcome{
			Exit: 1, Red: true, Total: 1, Complete: true, Formats: []string{"go"}, Counted: 1,
			Tests: map[string]canary.State{"example.com/p.TestAdd": canary.Failed},
		}},
	} {
		got := canary.Read(canary.Invocation{}, nil, 1, strings.NewReader(c.output), nil)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s(-want +got):\n%s", c.output, diff)
		}
	}
}

// In `go test ./cmd/... && go test ./internal/...`, the first test of cmd brought a canary that
// kept those of internal from running.
func TestWhereTheBaseHadCanaries(t *testing.T) {
	plant := func(name, key string) canary.Plant {
		return canary.Plant{Name: name, Marks: []canary.Mark{{Key: key}}}
	}
	old, other := plant("pkg/a_test.go", goFatal), plant("other/a_test.go", goOther)
	fresh := plant("fresh/b_test.go", newFatal)
	all := []canary.Plant{old, fresh}
	for _, c := range []struct {
		name string
		base []canary.Plant
		want []canary.Plant
	}{
		{"nothing is known of the base", nil, all},
		{"all folders are new", []canary.Plant{other}, all},
		{"one folder is new", []canary.Plant{old, other}, []canary.Plant{old}},
	} {
		if diff := cmp.Diff(c.want, canary.SameFolders(all, c.base)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
