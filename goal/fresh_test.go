package goal_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/judge"
)

// flashes are ways to show work to a verifier and to take it away before the verifier ends.
func flashes(dir string) map[string]func() error {
	answer, other := filepath.Join(dir, "answer.txt"), filepath.Join(dir, "empty", "answer.txt")
	return map[string]func() error{
		"a file that is created and removed": func() error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "out"), []byte("right"), 0o600),
				os.Remove(filepath.Join(dir, "out")))
		},
		"in an empty folder": func() error {
			return errors.Join(os.WriteFile(other, []byte("right"), 0o600), os.Remove(other))
		},
		"a file that is restored with its time": func() error {
			info, err := os.Stat(answer)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(answer, []byte("right"), 0o600), os.WriteFile(answer, []byte("wrong"), 0o600),
				os.Chtimes(answer, info.ModTime(), info.ModTime()))
		},
		"a folder in place of the workspace": func() error {
			return errors.Join(os.Rename(dir, dir+".aside"), os.Mkdir(dir, 0o700), os.Remove(dir),
				os.Rename(dir+".aside", dir))
		},
	}
}

// A process that the agent left in the background shows the work while the verifier runs, and only then.
func TestFilesThatChangeAndChangeBackWhileAVerifierRuns(t *testing.T) {
	zero := 0
	run := func(name string, with func(s *session, flash func() error)) {
		for what := range flashes("") {
			t.Run(name+", "+what, func(t *testing.T) {
				s := begin(t, nil)
				s.writes("answer.txt", "wrong")
				if err := os.Mkdir(filepath.Join(s.dir, "empty"), 0o700); err != nil {
					t.Fatal(err)
				}
				with(s, flashes(s.dir)[what])
				d := s.answers("Done." + done)
				s.refused(d, judge.GoalStale)
				if !strings.Contains(d.Detail, " changed while "+verifier+" ran") {
					t.Error(d.Detail)
				}
			})
		}
	}
	call := goal.ToolCall{ID: "1", Name: "Bash", Arguments: json.RawMessage(`{"command": "` + verifier + `"}`)}
	run("the agent's call", func(s *session, flash func() error) {
		s.uses(func(goal.ToolCall) goal.ToolResult {
			if err := flash(); err != nil {
				t.Error(err)
			}
			return goal.ToolResult{CallID: "1", ExitCode: &zero}
		}, call)
	})
	run("the checker", func(s *session, flash func() error) {
		s.middleware.Checker = ralph.CheckFuncs{verifier: func(context.Context) error { return flash() }}
	})
}

// What moved during the first run may be gone in the second one.
func TestCheckerRunsAgainIfFilesMoved(t *testing.T) {
	runs := 0
	s := begin(t, nil)
	s.middleware.Checker = ralph.CheckFuncs{verifier: func(context.Context) error {
		runs++
		if runs > 1 {
			return errors.New("there is no answer")
		}
		return flashes(s.dir)["a file that is created and removed"]()
	}}
	s.refused(s.answers("Done."+done), judge.GoalFailed)
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
}

// turning is a Tree that changes after a number of looks.
type turning struct{ looks int }

func (t *turning) Fingerprint(context.Context, ralph.TreeInput) (ralph.TreeState, error) {
	t.looks--
	hash := "before"
	if t.looks < 0 {
		hash = "after"
	}
	return ralph.TreeState{Known: true, Hash: hash}, nil
}

func TestFilesThatChangeAfterTheVerdictAreStale(t *testing.T) {
	for looks, want := range map[int]judge.GoalReason{1: judge.GoalStale, 2: judge.GoalStale, 3: judge.GoalVerified} {
		s := begin(t, func(c *goal.Config) {
			c.Tree, c.Checker = &turning{looks}, ralph.CheckFuncs{verifier: func(context.Context) error { return nil }}
		})
		if d := s.answers("Done." + done); d.Reason != want {
			t.Errorf("after %d looks: %s, want %s", looks, d.Reason, want)
		}
	}
}
