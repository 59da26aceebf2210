package loop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestTestFilesOfTasks(t *testing.T) {
	files := map[string][]string{"A": {"tests/a.py"}, "B": {"tests/b 1.py", "tests/b'2.py"}, "O": {"tests/o.py"}}
	list := func() *memoryTasks {
		b := newMemoryTasks(entry("A"), entry("B"), entry("O"))
		b.file[2].Optional = true
		return b
	}
	bubble(t, "those of done tasks and the current one, at the end all but those left undone", func(t *testing.T) {
		w := listed(t, nil, tagging("A"), nothing(), tagging("B"))
		w.options = append(w.options, WithTasks(testedBook{list(), files}))
		w.cfg.Checks, w.checker.results = []string{"lint", "pytest {tests}"}, []ralph.CheckResult{isGreen}
		w.ends(ralph.TasksDone, 3)
		var commands []string
		for _, in := range w.checker.inputs {
			commands = append(commands, cmp.Or(in.Command, in.Name))
			if strings.Contains(in.Command, "pytest") && in.Name != "pytest {tests}" {
				t.Errorf("the check is called %q", in.Name)
			}
		}
		both := `pytest tests/a.py 'tests/b 1.py' 'tests/b'\''2.py'`
		same(t, "commands", []string{
			"lint", "pytest tests/a.py", "lint", "pytest tests/a.py", "lint", both, "lint",
			`pytest tests/a.py 'tests/b 1.py' 'tests/b'\''2.py' tests/other.py`,
		}, commands)
	})
	bubble(t, "the whole suite also when a regression is mended with the last claim", func(t *testing.T) {
		w := listed(t, nil, tagging("A"), tagging("B"))
		b := newMemoryTasks(entry("A", "own A"), entry("B"))
		w.options = append(w.options, WithTasks(testedBook{b, files}))
		w.cfg.Checks = []string{"pytest {tests}"}
		redAt := map[int]bool{1: true, 2: true, 6: true} // the baselines, and A's own at the first claim of B
		w.options = append(w.options, WithChecker(checkerOf(func(in ralph.CheckInput) ralph.CheckResult {
			w.checker.inputs = append(w.checker.inputs, in)
			return ralph.CheckResult{Name: in.Name, Passed: !redAt[len(w.checker.inputs)]}
		})))
		w.ends(ralph.TasksDone, 3)
		last := w.checker.inputs[len(w.checker.inputs)-2]
		if !strings.Contains(last.Command, "tests/other.py") {
			t.Errorf("the last claim was measured by %q, not by the whole suite", last.Command)
		}
	})
	for name, tasks := range map[string]func() ralph.Tasks{
		"nothing matches":            func() ralph.Tasks { return testedBook{list(), nil} },
		"the list knows of no tests": func() ralph.Tasks { return list() },
	} {
		bubble(t, name, func(t *testing.T) {
			w := listed(t, nil, tagging("A"))
			w.options = append(w.options, WithTasks(tasks()))
			w.cfg.Checks, w.policy.MaxIterations = []string{"pytest {tests}"}, 1
			w.ends(ralph.MaxIterations, 1)
			skipped := ralph.Notice{
				Code: "check_skipped", Text: "pytest {tests} was skipped: no done or current task has a test file",
			}
			same(t, "notices", []ralph.Notice{skipped, skipped}, payloads[ralph.Notice](w.log))
			same(
				t,
				"refused",
				refusal("A", ralph.RefusedNoEvidence, "no check of the run or of the task ran, so nothing proves it"),
				payloads[ralph.ClaimRefused](w.log)[0].Tasks,
			)
		})
	}
	bubble(t, "test files cannot be found", func(t *testing.T) {
		w := listed(t, nil, tagging("A"))
		w.options = append(w.options, WithTasks(testedBook{list(), map[string][]string{"A": {"?"}}}))
		w.cfg.Checks, w.policy.MaxIterations = []string{"pytest {tests}"}, 1
		w.cfg.Checks = append(w.cfg.Checks, "lint")
		w.ends(ralph.CheckBroken, 0)
		same(
			t,
			"result",
			ralph.CheckResult{Name: "pytest {tests}", Broken: true, ExitCode: -1, Output: "bad pattern"},
			payloads[ralph.CheckResult](w.log)[0],
		)
	})
	bubble(t, "a test file is named like a masked secret", func(t *testing.T) {
		w := listed(t, nil, tagging("A"))
		book := testedBook{newMemoryTasks(entry("A", "echo [masked:TOKEN]")), map[string][]string{"A": {"[masked:TOKEN].py"}}}
		w.options = append(w.options, WithTasks(book))
		w.cfg.Checks, w.policy.MaxIterations = []string{"pytest {tests}"}, 1
		w.ends(ralph.CheckBroken, 0)
		same(t, "results", []ralph.CheckResult{
			{Name: "pytest {tests}", Broken: true, ExitCode: -1, Output: "a test file is named like a masked secret"},
			{Name: "echo [masked:TOKEN]", Task: "A", Broken: true, ExitCode: -1,
				Output: "the check contains a masked secret; name the variable instead"},
		}, payloads[ralph.CheckResult](w.log))
	})
	bubble(t, "test files cannot be found any more", func(t *testing.T) {
		files := map[string][]string{"A": {"tests/a.py"}}
		w := listed(t, nil, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
			files["A"] = []string{"?"}
			return tagging("A")(ctx, in)
		})
		w.options = append(w.options, WithTasks(testedBook{list(), files}))
		w.cfg.Checks, w.policy.MaxIterations, w.checker.results = []string{"pytest {tests}", "lint"}, 1, []ralph.CheckResult{
			isGreen,
		}
		w.ends(ralph.MaxIterations, 1)
		same(
			t,
			"refused",
			refusal("A", ralph.RefusedCheckBroken, "pytest {tests} cannot run"),
			payloads[ralph.ClaimRefused](w.log)[0].Tasks,
		)
	})
}

// testedBook knows which test files belong to a task; tests/other.py belongs to none, and "?"
// cannot be found.
type testedBook struct {
	*memoryTasks
	files map[string][]string
}

func (b testedBook) Tests(ids []string) ([]string, error) {
	var found []string
	for _, id := range ids {
		found = append(found, b.files[id]...)
	}
	slices.Sort(found)
	if slices.Contains(found, "?") {
		return nil, errors.New("bad pattern")
	}
	return slices.Compact(found), nil
}

func (b testedBook) Suite(without []string) ([]string, error) {
	var ids []string
	for id := range b.files {
		if !slices.Contains(without, id) {
			ids = append(ids, id)
		}
	}
	found, err := b.Tests(ids)
	if len(b.files) > 0 {
		found = append(found, "tests/other.py")
	}
	return found, err
}
