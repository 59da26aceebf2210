package canary_test

import (
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// TestJudgeCounts judges runners that count the tests that fail, and name none.
func TestJudgeCounts(t *testing.T) {
	planted := []string{"rust . fatal"}
	run := func(exit, counted int, failing ...string) canary.Outcome {
		return canary.Outcome{
			Exit: exit, Red: exit != 0, Total: -1, Planted: planted, Failing: failing, Counted: counted,
		}
	}
	then, green := canary.Outcome{Exit: 1, Red: true, Total: -1, Counted: 2}, canary.Outcome{Total: -1}
	literals := func(exit, counted int) canary.Outcome {
		return canary.Outcome{
			Exit: exit, Red: exit != 0, Total: -1, Literals: []string{"a", "b"}, Failing: []string{"a", "b"},
			ByStatus: true, Wanted: 2, Counted: counted,
		}
	}
	for name, test := range map[string]struct {
		row    canary.Row
		want   ralph.CanaryState
		detail string
	}{
		"only the canary fails": {
			row:  canary.Row{Then: &then, Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 1, planted...)},
			want: ralph.CanaryRed,
		},
		"others fail beside the canary": {
			row:    canary.Row{Then: &then, Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 2, planted...)},
			want:   ralph.CanaryGreen,
			detail: "2 tests fail although only 1 should; on the claimed tree none does.",
		},
		"others fail before the canary": {
			row:    canary.Row{Then: &then, Today: run(1, 2), Claimed: green, Canary: run(1, 2)},
			want:   ralph.CanaryGreen,
			detail: "2 tests fail although only 1 should; on the claimed tree none does.",
		},
		"the canary disturbs another test at the base, too": {
			row:  canary.Row{Then: &then, Today: run(1, 4, planted...), Claimed: green, Canary: run(1, 2, planted...)},
			want: ralph.CanaryRed,
		},
		"the base before the agent is unknown": {
			row:  canary.Row{Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 2, planted...)},
			want: ralph.CanaryRed,
		},
		"the base was not counted": {
			row: canary.Row{
				Then: &canary.Outcome{Exit: 1, Red: true, Unbuilt: true}, Today: run(1, 3, planted...), Claimed: green,
				Canary: run(1, 2, planted...),
			},
			want: ralph.CanaryRed,
		},
		"the base failed for another reason": {
			row: canary.Row{
				Then: &canary.Outcome{Exit: 1, Red: true}, Today: run(1, 3), Claimed: green, Canary: run(0, 3),
			},
			want:   ralph.CanaryMute,
			detail: "It does not run the failing test that Ralph planted, and did not before the run.",
		},
		"changed tests that are not counted": {
			row: canary.Row{
				Then: &then, Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 1, planted...), Literals: literals(1, 0),
			},
			want: ralph.CanaryRed,
		},
		"changed tests that are stopped": {
			row: canary.Row{
				Then: &then, Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 1, planted...), Literals: literals(-1, 1),
			},
			want: ralph.CanaryRed,
		},
		"failures are swallowed": {
			row:    canary.Row{Then: &then, Today: run(1, 2), Claimed: green, Canary: run(0, 2)},
			want:   ralph.CanaryGreen,
			detail: "2 tests fail inside the check, but it exits with 0; at the base it failed with them.",
		},
		"every changed test fails": {
			row: canary.Row{
				Then: &then, Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 1, planted...), Literals: literals(1, 2),
			},
			want: ralph.CanaryRed,
		},
		"a changed test passes": {
			row: canary.Row{
				Then: &then, Today: run(1, 3, planted...), Claimed: green, Canary: run(1, 1, planted...), Literals: literals(1, 1),
			},
			want:   ralph.CanaryGreen,
			detail: "Ralph changed an expected value in each of 2 tests, and 1 of them failed.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			proof := test.row.Judge()
			if proof.Canary != test.want || proof.Detail != test.detail {
				t.Errorf("it is %s: %q, want %s: %q", proof.Canary, proof.Detail, test.want, test.detail)
			}
		})
	}
}

// A base that passed and was counted is compared without another run; one that failed is not.
func TestDifferencesByCounts(t *testing.T) {
	planted := []string{"rust . fatal"}
	today := canary.Outcome{Exit: 1, Red: true, Total: 3, Planted: planted, Failing: planted, Counted: 1}
	green, red := canary.Outcome{Total: 3}, canary.Outcome{Exit: 1, Red: true, Total: 3, Counted: 2}
	more := today
	more.Counted = 2
	for name, c := range map[string]struct {
		then, today canary.Outcome
		want        bool
	}{
		"passed":               {green, today, true},
		"passed, and one more": {green, more, false},
		"failed":               {red, today, false},
		"failed as many":       {canary.Outcome{Exit: 1, Red: true, Total: 3, Counted: 1}, more, false},
		"other tests":          {canary.Outcome{Total: 4}, today, false},
	} {
		different, comparable := canary.Differences(c.then, c.today, false, nil)
		if comparable != c.want || len(different) > 0 {
			t.Errorf("%s: comparable %v, different %q", name, comparable, different)
		}
	}
}
