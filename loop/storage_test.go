package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// eventful is a run with a refused claim, a usage limit, a status block and a proven claim: every
// kind of event that matters.
func eventful(t *testing.T) *world {
	status := &promise.Status{
		State: "IN_PROGRESS", Tests: "FAILING", WorkType: "TESTING", FilesModified: 1, Recommendation: "go on",
	}
	w := newWorld(t, done(), limitTurn(time.Minute), says(promise.Report{Status: status}), done())
	w.checker.results = []ralph.CheckResult{isRed, isRed, isRed, isGreen}
	return w
}

func TestStorageThatFailsAtAnyOperation(t *testing.T) {
	operations := 0
	synctest.Test(t, func(t *testing.T) {
		w := eventful(t)
		w.ends(ralph.AllChecksPassed, 4)
		operations = w.log.ops
	})
	if operations < 40 {
		t.Fatalf("a whole run has only %d operations of its recorder", operations)
	}
	for k := 1; k <= operations; k++ {
		bubble(t, fmt.Sprintf("operation %d of %d", k, operations), func(t *testing.T) {
			w := eventful(t)
			agents := -1
			w.log.failAt, w.log.failed = k, func() { agents = w.agent.runs() }
			result := w.run(t.Context())
			if result.StopReason != ralph.IOFailed || result.ExitCode != 74 || result.Status != ralph.StatusFailed ||
				result.Success || result.Verified {
				t.Errorf("ended with %s, exit %d, status %s, success %v, verified %v", result.StopReason, result.ExitCode,
					result.Status, result.Success, result.Verified)
			}
			if len(w.agent.inputs) != agents {
				t.Errorf("%d agents were started after the log could not be written", len(w.agent.inputs)-agents)
			}
			if kept := w.log.events; len(kept) > 0 && kept[len(kept)-1].Seq != int64(len(kept)) {
				t.Errorf("the log goes on behind a gap: %d events, the last is number %d", len(kept), kept[len(kept)-1].Seq)
			}
			if kept := w.log.events; len(kept) > 0 {
				if end, ok := kept[len(kept)-1].Data.(ralph.RunStopped); ok && end.ExitCode != 74 {
					t.Errorf("the log ends with %d", end.ExitCode)
				}
			}
		})
	}
}

func TestStorageThatFailsWhileTheAgentWorksKillsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var killed bool
		w := newWorld(t, func(ctx context.Context, _ ralph.AgentInput) ralph.AgentOutcome {
			select {
			case <-ctx.Done():
				killed = true
			case <-time.After(time.Hour):
			}
			return ralph.AgentOutcome{End: ralph.EndFailed}
		})
		w.log.onAppend = func(e ralph.Event) {
			if e.Type == ralph.EvAgentStarted {
				w.log.failAt = w.log.ops + 2 // after the sync: the first summary
			}
		}
		w.ends(ralph.IOFailed, 1)
		if !killed {
			t.Error("the agent worked on for nobody")
		}
	})
}

func TestTroubleOfTheHarnessItself(t *testing.T) {
	bubble(t, "an agent's folder that cannot be written", func(t *testing.T) {
		w := newWorld(t, done())
		w.agent.err = fmt.Errorf("%w: prompt.md", ralph.ErrIO)
		if result := w.ends(ralph.IOFailed, 1); result.Summary != "state cannot be written: prompt.md" {
			t.Errorf("summary %q", result.Summary)
		}
	})
	bubble(t, "a checker that cannot write", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.err = errors.New("disk full")
		w.ends(ralph.IOFailed, 0)
	})
	for name, err := range map[string]error{"a folder": errDisk, "a folder, marked": fmt.Errorf("%w: x", ralph.ErrIO)} {
		bubble(t, name+" that cannot be made", func(t *testing.T) {
			w := newWorld(t, done())
			w.options = append(w.options, WithRecorder(&folderLog{memoryLog: w.log, fail: func(int) error { return err }}))
			w.ends(ralph.IOFailed, 0)
		})
		bubble(t, name+" that cannot be made for the agent", func(t *testing.T) {
			w := newWorld(t, done())
			w.policy.Baseline = false
			w.options = append(w.options, WithRecorder(&folderLog{memoryLog: w.log, fail: func(int) error { return err }}))
			w.ends(ralph.IOFailed, 0)
		})
	}
	bubble(t, "a folder for checks that a file stands in the way of", func(t *testing.T) {
		w := newWorld(t, done())
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "checks"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.options = append(
			w.options, WithRecorder(&folderLog{memoryLog: w.log, dir: dir, fail: func(int) error { return nil }}),
		)
		w.ends(ralph.IOFailed, 0)
	})
	bubble(t, "folders are given to agent and checks", func(t *testing.T) {
		w := newWorld(t, done())
		dir := t.TempDir()
		w.checker.results = []ralph.CheckResult{isRed, isGreen}
		w.options = append(
			w.options, WithRecorder(&folderLog{memoryLog: w.log, dir: dir, fail: func(int) error { return nil }}),
		)
		w.ends(ralph.AllChecksPassed, 1)
		if w.agent.inputs[0].Folder != dir || w.checker.inputs[0].Folder == "" || w.checker.inputs[0].File != "01.txt" {
			t.Errorf("agent %q, check %q", w.agent.inputs[0].Folder, w.checker.inputs[0].Folder)
		}
	})
}

// folderLog is a log that has folders.
type folderLog struct {
	*memoryLog
	dir  string
	fail func(iteration int) error
}

func (f *folderLog) Folder(iteration int) (string, error) { return f.dir, f.fail(iteration) }
