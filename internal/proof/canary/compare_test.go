package canary_test

import (
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
)

func TestCompare(t *testing.T) {
	three := []string{goFatal, goTable, goOther}
	red := canary.Outcome{Exit: 1, Red: true, Total: -1, Planted: three, Failing: three}
	green := canary.Outcome{Total: -1, Planted: three}
	with := func(out canary.Outcome, change func(*canary.Outcome)) canary.Outcome {
		change(&out)
		return out
	}
	known := canary.Invocation{Known: true, Runs: "go"}
	for _, c := range []struct {
		name      string
		base, now canary.Outcome
		inv       canary.Invocation
		want      ralph.Proof
	}{
		{name: "nothing planted", base: red, now: canary.Outcome{Total: -1},
			want: ralph.Proof{Canary: ralph.CanaryNone, Detail: "It runs no tests that Ralph knows."}},
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
		}), inv: known, want: ralph.Proof{Canary: ralph.CanaryGreen,
			Detail: "The check passed without running the deliberately failing test in pkg (go)."}},
		{name: "as silent as at the base", base: with(green, func(o *canary.Outcome) {
			o.Silent = three
		}), now: with(green, func(o *canary.Outcome) { o.Silent = three }), inv: known,
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
		), inv: canary.Invocation{Stops: true},
			want: ralph.Proof{Canary: ralph.CanaryRed}},
		{name: "another place comes first and the run stopped", base: with(red, func(o *canary.Outcome) {
			o.Failing = []string{goOther}
		}),
			now: with(red, func(o *canary.Outcome) {
				o.Planted, o.Failing = []string{newFatal, goFatal, goTable, goOther}, []string{newFatal}
			}), want: ralph.Proof{Canary: ralph.CanaryRed}},
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
				Canary: ralph.CanaryMute,
				Detail: "The deliberately failing test could not be built or loaded on this tree.",
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
			if diff := cmp.Diff(c.want, canary.Compare(c.base, c.now, c.inv)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareTests(t *testing.T) {
	outcome := func(change func(*canary.Outcome)) canary.Outcome {
		out := canary.Outcome{
			Exit:     1,
			Red:      true,
			Planted:  []string{goFatal},
			Failing:  []string{goFatal},
			Complete: true,
			Formats:  []string{"go"},
			Tests:    map[string]canary.State{"a": canary.Passed, "b": canary.Failed, "c": canary.Skipped},
			Total:    2,
		}
		change(&out)
		return out
	}
	same := func(*canary.Outcome) {}
	counted := func(n int) func(*canary.Outcome) {
		return func(o *canary.Outcome) { o.Tests, o.Complete, o.Formats, o.Total = nil, false, []string{"jest"}, n }
	}
	type lost struct {
		Missing []string
		Lost    int
		Detail  string
	}
	for _, c := range []struct {
		name      string
		base, now func(*canary.Outcome)
		inv       canary.Invocation
		want      lost
	}{
		{name: "the same", base: same, now: same},
		{name: "gone and skipped", base: same, now: func(o *canary.Outcome) {
			o.Tests, o.Total = map[string]canary.State{"b": canary.Skipped}, 0
		},
			want: lost{Missing: []string{"a", "b (skipped)"}, Lost: 2}},
		{name: "never ran", base: same, now: func(o *canary.Outcome) { delete(o.Tests, "c") }},
		{name: "more", base: same, now: func(o *canary.Outcome) { o.Tests["d"], o.Total = canary.Passed, 3 }},
		{name: "fewer by number", base: counted(5), now: counted(3), want: lost{
			Lost: 2, Detail: "5 tests ran at the base, 3 now.",
		}},
		{name: "as many by number", base: counted(5), now: counted(5)},
		{name: "number unknown at the base", base: counted(-1), now: counted(3)},
		{name: "number unknown now", base: counted(5), now: counted(-1)},
		{name: "another runner, as many", base: same, now: counted(2)},
		{name: "another runner, fewer", base: same, now: counted(1), want: lost{
			Lost: 1, Detail: "2 tests ran at the base, 1 now.",
		}},
		{
			name: "names that change", base: func(o *canary.Outcome) { o.Unstable, o.Total = 1, 3 },
			now: func(o *canary.Outcome) { o.Tests, o.Total = map[string]canary.State{"x": "", "y": "", "z": ""}, 3 },
		},
		{name: "stopped early", base: same, now: func(o *canary.Outcome) { o.Tests, o.Total, o.Cut = nil, 0, true }},
		{name: "out of time", base: same, now: func(o *canary.Outcome) { o.Tests, o.Total, o.Exit = nil, 0, -1 },
			want: lost{
				Detail: "The run with a deliberately failing test stopped with status -1; at the base that test made " +
					"the check fail.",
			}},
		{
			name: "names do not count", base: func(o *canary.Outcome) { o.Complete = false },
			now: func(o *canary.Outcome) { o.Tests = map[string]canary.State{"x": "", "y": ""} },
		},
		{
			name: "may stop early", base: same, now: func(o *canary.Outcome) { o.Tests, o.Total = nil, 0 },
			inv: canary.Invocation{Stops: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			proof := canary.Compare(outcome(c.base), outcome(c.now), c.inv)
			if diff := cmp.Diff(c.want, lost{proof.Missing, proof.Lost, proof.Detail}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A canary in a new folder stops `test-a && test-b` before b, whose tests are then missing in that
// run alone.
func TestRecount(t *testing.T) {
	names := func(all ...string) canary.Outcome {
		out := canary.Outcome{Complete: true, Formats: []string{"go"}, Total: len(all), Tests: map[string]canary.State{}}
		for _, name := range all {
			out.Tests[name] = canary.Passed
		}
		return out
	}
	number := func(n int) canary.Outcome { return canary.Outcome{Formats: []string{"jest"}, Total: n} }
	for _, c := range []struct {
		name            string
		base, now, bare canary.Outcome
		want            ralph.Proof
	}{
		{name: "they run", base: names("a", "b"), now: names("a"), bare: names("a", "b", "c"), want: ralph.Proof{Tests: 3}},
		{name: "they run, by number", base: number(3), now: number(1), bare: number(4), want: ralph.Proof{Tests: 4}},
		{
			name: "one is gone", base: names("a", "b", "c"), now: names("a"), bare: names("a", "b"),
			want: ralph.Proof{Tests: 2, Missing: []string{"c"}, Lost: 1},
		},
		{name: "one is gone, by number", base: number(3), now: number(1), bare: number(2), want: ralph.Proof{
			Tests: 2, Lost: 1, Detail: "3 tests ran at the base, 2 now.",
		}},
		{name: "nothing is told", base: names("a", "b"), now: names("a"), bare: number(-1), want: ralph.Proof{
			Tests: 1, Missing: []string{"b"}, Lost: 1,
		}},
		{
			name: "out of time", base: names("a", "b"), now: names("a"), bare: canary.Outcome{Exit: -1, Total: 2},
			want: ralph.Proof{Tests: 1, Missing: []string{"b"}, Lost: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.now.Planted, c.now.Failing, c.now.Red, c.now.Exit = []string{goFatal}, []string{goFatal}, true, 1
			c.want.Canary = ralph.CanaryRed
			got := canary.Recount(canary.Compare(c.base, c.now, canary.Invocation{}), c.base, c.bare, canary.Invocation{})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
		{text, canary.Outcome{Exit: 1, Red: true, Total: -1}},
		{"=== RUN   TestAdd\n" + text, canary.Outcome{Exit: 1, Red: true, Total: 1, Complete: true, Formats: []string{"go"},
			Tests: map[string]canary.State{"example.com/p.TestAdd": canary.Failed}}},
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
	plant := func(name, key string, claims bool) canary.Plant {
		return canary.Plant{Name: name, Marks: []canary.Mark{{Key: key, Claims: claims}}}
	}
	old, fresh := plant("pkg/a_test.go", goFatal, false), plant("fresh/b_test.go", newFatal, false)
	claim, freshClaim := plant("pkg/c_test.py", "python pkg/x.py claims test_a 01", true), plant(
		"fresh/c_test.py", "python fresh/x.py claims test_a 01", true,
	)
	all := []canary.Plant{old, fresh, claim, freshClaim}
	for _, c := range []struct {
		name string
		base []string
		want []canary.Plant
	}{
		{"nothing is known of the base", nil, all},
		{"all folders are new", []string{goOther}, all},
		{"one folder is new", []string{goFatal, goOther}, []canary.Plant{old, claim}},
	} {
		if diff := cmp.Diff(c.want, canary.SameFolders(all, canary.Outcome{Planted: c.base})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
