package progress

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/ownfiles"
)

// told is a run that is reported event by event.
type told struct {
	t     *testing.T
	state *fold.State
	view  *View
	warns []string
}

func newRun(t *testing.T) *told {
	r := &told{t: t, state: &fold.State{}}
	r.view = &View{Dir: t.TempDir(), State: r.state, Warn: func(err error) { r.warns = append(r.warns, err.Error()) }}
	return r
}

func (r *told) tell(iteration int, kind ralph.EventType, data any) {
	r.t.Helper()
	e := ralph.Event{
		Version: 1, Seq: r.state.Seq + 1, Time: time.Unix(0, 0), Run: "R1", Iteration: iteration, Type: kind, Data: data,
	}
	if err := r.state.Apply(e); err != nil {
		r.t.Fatal(err)
	}
	r.view.See(e)
}

func (r *told) iteration(n int, passed bool) {
	r.tell(n, ralph.EvIterationStarted, ralph.IterationStarted{Ordinal: n})
	r.tell(n, ralph.EvAgentExited, ralph.AgentOutcome{
		Agent: "fake", End: ralph.EndOK, Steps: new(8), Cost: new(0.0234), Duration: ralph.Span(15200 * time.Millisecond),
	})
	r.tell(n, ralph.EvCheckFinished, ralph.CheckResult{Name: "pytest tests/", Passed: true})
	r.tell(n, ralph.EvCheckFinished, ralph.CheckResult{
		Name: "ruff check", Passed: passed, Output: "a.py:42: F841 error unused", ExitCode: 1,
	})
	r.tell(n, ralph.EvVerdict, ralph.VerdictReached{Verdict: ralph.Verdict{Action: ralph.GoOn, Row: 10, Counted: true}})
}

func (r *told) file() string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.view.Dir, ".ralph", "progress.md"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

const two = `# Progress of run R1

## Iteration 1: FAIL
- Steps: 8
- Cost: $0.0234
- Duration: 15.2s
- Checks:
  - pytest tests/: PASS
  - ruff check: FAIL: a.py:42: F841 error unused

## Iteration 2: PASS
- Steps: 8
- Cost: $0.0234
- Duration: 15.2s
- Checks:
  - pytest tests/: PASS
  - ruff check: PASS
`

func TestAnEntryAnIteration(t *testing.T) {
	r := newRun(t)
	r.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
	r.iteration(1, false)
	// between iterations
	r.tell(1, ralph.EvVerdict, ralph.VerdictReached{Verdict: ralph.Verdict{Action: ralph.GoOn, Row: 10}})
	r.iteration(2, true)
	if diff := cmp.Diff(two, r.file()); diff != "" || r.warns != nil {
		t.Errorf("file (-want +got, warned %q):\n%s", r.warns, diff)
	}
	ignores, err := os.ReadFile(filepath.Join(r.view.Dir, ".ralph", ".gitignore"))
	if err != nil || !ownfiles.IsIgnoreFile(string(ignores)) || !ownfiles.Alone(r.view.Dir) {
		t.Errorf(".gitignore holds %q, %v", ignores, err)
	}
	configFile := filepath.Join(r.view.Dir, ".ralph", "config.yaml")
	if err := os.WriteFile(configFile, nil, 0o600); err != nil || ownfiles.Alone(r.view.Dir) {
		t.Errorf("with a config beside it, %v, it is a project", err)
	}
}

func TestAFolderThatWasThereIsAProjects(t *testing.T) {
	r := newRun(t)
	if err := os.Mkdir(filepath.Join(r.view.Dir, ".ralph"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
	ignores, err := os.ReadFile(filepath.Join(r.view.Dir, ".ralph", ".gitignore"))
	if err != nil || !ownfiles.IsIgnoreFile(string(ignores)) || ownfiles.Alone(r.view.Dir) {
		t.Errorf(".gitignore holds %q, %v", ignores, err)
	}
}

func TestAFreshRunForgetsAnOlderOne(t *testing.T) {
	r := newRun(t)
	r.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
	r.iteration(1, false)
	next := newRun(t)
	next.view.Dir = r.view.Dir
	next.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
	if diff := cmp.Diff("# Progress of run R1\n", next.file()); diff != "" {
		t.Error(diff)
	}
}

func TestWhateverAnAgentDidToIt(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string) error{
		"gone":    func(_ *testing.T, path string) error { return os.Remove(path) },
		"changed": func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("all done"), 0o600) },
		"a link": func(t *testing.T, path string) error {
			victim := filepath.Join(t.TempDir(), "victim")
			t.Cleanup(func() {
				if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
					t.Errorf("what the link leads to holds %q, %v", text, err)
				}
			})
			return errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Remove(path), os.Symlink(victim, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t)
			r.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
			r.iteration(1, false)
			if err := harm(t, filepath.Join(r.view.Dir, ".ralph", "progress.md")); err != nil {
				t.Fatal(err)
			}
			r.iteration(2, true)
			if diff := cmp.Diff(two, r.file()); diff != "" || r.warns != nil {
				t.Errorf("file (-want +got, warned %q):\n%s", r.warns, diff)
			}
		})
	}
}

func TestAViewThatCannotBeKeptIsSaidOnce(t *testing.T) {
	r := newRun(t)
	if err := os.WriteFile(filepath.Join(r.view.Dir, ".ralph"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
	r.iteration(1, true)
	if len(r.warns) != 1 {
		t.Errorf("warned %q, want it once", r.warns)
	}
}

func TestAResumedRunGoesOnWithItsFile(t *testing.T) {
	for name, change := range map[string]func(path string, text []byte) error{
		"as it was left":  func(string, []byte) error { return nil },
		"without its end": func(path string, text []byte) error { return os.WriteFile(path, text[:len(text)/2], 0o600) },
		"of another run": func(path string, _ []byte) error {
			return os.WriteFile(path, []byte("# Progress of run R0\n"), 0o600)
		},
		"gone": func(path string, _ []byte) error { return os.Remove(path) },
		"longer than it was": func(path string, text []byte) error {
			return os.WriteFile(path, append(text, "\n## Iteration 9: PASS\n"...), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t)
			r.tell(0, ralph.EvRunStarted, ralph.RunStarted{})
			r.iteration(1, false)
			path := filepath.Join(r.view.Dir, ".ralph", "progress.md")
			if err := change(path, []byte(r.file())); err != nil {
				t.Fatal(err)
			}
			r.view = &View{Dir: r.view.Dir, State: r.state, Warn: r.view.Warn}
			r.tell(1, ralph.EvRunResumed, ralph.RunResumed{})
			r.iteration(2, true)
			if diff := cmp.Diff(two, r.file()); diff != "" || r.warns != nil {
				t.Errorf("file (-want +got, warned %q):\n%s", r.warns, diff)
			}
		})
	}
}
