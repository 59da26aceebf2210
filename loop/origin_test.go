package loop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func TestNewTestsThatFailWithBothProducts(t *testing.T) {
	run := func(names ...string) ralph.NewTestsRun {
		return ralph.NewTestsRun{Name: "go test", Failing: names, Count: len(names)}
	}
	earlier := func(r ralph.NewTestsRun) ralph.NewTestsRun {
		r.PassedEarlier = true
		return r
	}
	passed := ralph.NewTestsRun{Name: "go test", Passed: true}
	for _, tt := range []struct {
		name                string
		seen, earlier, want ralph.NewTestsRun
	}{
		{"both fail", run("A", "B"), run("A", "B", "C"), run("A", "B")},
		{"one passes earlier", run("A", "B"), run("B"), run("B")},
		{"others fail earlier", run("A"), run("B"), earlier(run("A"))},
		{"all pass earlier", run("A"), passed, earlier(run("A"))},
		{"no names", run(), run("A"), run("A")},
		{"no names earlier", run("A"), run(), run("A")},
		{"no names at all", run(), run(), run()},
	} {
		if diff := cmp.Diff(tt.want, alsoEarlier(tt.seen, tt.earlier)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
