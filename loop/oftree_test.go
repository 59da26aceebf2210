package loop

import (
	"context"
	"testing"

	"github.com/ralphloop/ralph"
)

// A failed check of a claim runs once more with the ignored files. If it passes then, the result names them.
func TestFailedClaimsAreExplainedByIgnoredFiles(t *testing.T) {
	for _, c := range []struct {
		name    string
		leftOut []string
		agent   turn
		passes  bool // with the ignored files
		ran     []string
		missing []string
	}{
		{
			"the work is ignored", []string{"dist/x"}, done(), true,
			[]string{"claimed: go test", "as_left: go test"}, []string{"dist/x"},
		},
		{"the work is wrong", []string{"dist/x"}, done(), false, []string{"claimed: go test", "as_left: go test"}, nil},
		{"nothing was left out", nil, done(), true, []string{"claimed: go test"}, nil},
		{"nothing is claimed", []string{"dist/x"}, nothing(), true, []string{"claimed: go test"}, nil},
	} {
		bubble(t, c.name, func(t *testing.T) {
			w, e, k := examined(t, nothing())
			w.agent.turns = []turn{c.agent.then(k.becomes("1"))}
			w.cfg.Checks = []string{"go test"}
			e.compare = func(_, _ ralph.TreeState) (ralph.Tampering, error) {
				return ralph.Tampering{Known: true, LeftOut: c.leftOut}, nil
			}
			e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
				return greenIf(in.Kind == ralph.ViewAsLeft && c.passes)
			}
			w.policy.MaxIterations, w.policy.Baseline = 1, false
			w.ends(ralph.MaxIterations, 1)
			same(t, "ran", c.ran, e.ran)
			got := w.loop.State().History.Now.Checks[0]
			same(t, "missing", c.missing, got.NotInTree)
			same(t, "passed", false, got.Passed)
		})
	}
}

// What changed outside of the tree is recorded, and refuses until it is put back.
func TestChangedEnvironmentIsRecorded(t *testing.T) {
	bubble(t, "environment", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1")), done().then(k.becomes("2")), done().then(k.becomes("3"))}
		e.compare = func(_, now ralph.TreeState) (ralph.Tampering, error) {
			found := ralph.Tampering{Known: true}
			switch now.Snapshot {
			case "1":
				found.Environment = []string{"node_modules/a (changed)"}
			case "2":
				found.Dependencies = []string{"node_modules"}
			}
			return found, nil
		}
		w.policy.TestChange = ralph.TestsRefuse
		result := w.ends(ralph.AllChecksPassed, 3)
		same(t, "refusals", [][]string{{ralph.RefusedEnvironment}, {ralph.RefusedDependencies}, {}}, refusedIn(result))
		same(t, "events", []ralph.FilesTampered{
			{What: ralph.TamperedFiles, Details: []string{}, Environment: []string{"node_modules/a (changed)"}},
			{What: ralph.TamperedFiles, Details: []string{}, Dependencies: []string{"node_modules"}},
		}, payloads[ralph.FilesTampered](w.log))
	})
}

// settlingExaminer records when ignored files are settled and adopted.
type settlingExaminer struct {
	*fakeExaminer
	calls []string
}

func (*settlingExaminer) IgnoredFiles(context.Context, ralph.TreeState, ralph.TreeState) (_, _ []string, _ error) {
	return nil, nil, nil
}

func (e *settlingExaminer) SettleIgnored() error {
	e.calls = append(e.calls, "settle")
	return nil
}

func (e *settlingExaminer) AdoptIgnored() error {
	e.calls = append(e.calls, "adopt")
	return nil
}

// Ignored files are settled when the run stops or waits, and not between two iterations.
func TestIgnoredFilesAreSettledBeforeTheUserCanChangeThem(t *testing.T) {
	bubble(t, "stop", func(t *testing.T) {
		w, e, k := examined(t)
		settling := &settlingExaminer{fakeExaminer: e}
		w.options = append(w.options, WithExaminer(settling))
		w.agent.turns = []turn{nothing().then(k.becomes("1")), done().then(k.becomes("2"))}
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "calls", []string{"settle"}, settling.calls)
	})
}
