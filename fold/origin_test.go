package fold

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

func TestOriginOfEarlierRuns(t *testing.T) {
	from := &ralph.Origin{Run: "R0", Base: "a", Checks: []ralph.CheckResult{{Name: "go test", Passed: true}}}
	tree := func(snapshot, origin string) ralph.TreeState {
		return ralph.TreeState{Known: true, Snapshot: snapshot, Origin: origin}
	}
	at := func(snapshot string) *judge.Origin {
		return &judge.Origin{Run: "R0", Snapshot: snapshot, Checked: "a", Checks: from.Checks}
	}
	for _, tt := range []struct {
		name   string
		events []any
		want   *judge.Origin
	}{
		{"without snapshots", []any{ralph.RunStarted{Origin: from}}, at("a")},
		{"no earlier run", []any{ralph.RunStarted{}, tree("x", "")}, nil},
		{"the user changed files", []any{ralph.RunStarted{Origin: from}, tree("x", ""), tree("x", "b")}, at("b")},
		{"the user committed everything", []any{ralph.RunStarted{Origin: from}, tree("x", "x")}, nil},
		{"another run worked before the first agent", []any{ralph.RunStarted{}, ralph.RunResumed{Origin: from}}, at("a")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s State
			for i, data := range tt.events {
				if err := s.Apply(ralph.Event{Seq: int64(i + 1), Version: ralph.EventVersion, Data: data}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, s.History.Origin); diff != "" {
				t.Error(diff)
			}
		})
	}
}
