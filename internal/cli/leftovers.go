package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/signals"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

// deadRun describes the processes that a run may have left when its own process died.
func deadRun(store *runlog.Store, run string) process.Dead {
	return process.Dead{Marker: run, Record: filepath.Join(store.RunDir(run), "processes")}
}

// leftovers returns the processes that a run without a process left.
func leftovers(store *runlog.Store, run string) []process.Leftover {
	left, _ := deadRun(store, run).Leftovers() // a system that does not tell has none to show
	return left
}

// recordProcesses records the main processes of agents and checks in the run's folder.
func (s *session) recordProcesses() {
	if err := process.KeepRecord(deadRun(s.store, s.run).Record); err != nil {
		fmt.Fprintf(s.errLines(), "ralph: warning: %v\n", err)
	}
}

// killLastRun kills processes that the last run left behind, if that run died. It reports whether the run died.
func (s *session) killLastRun() bool {
	runs, err := s.store.Runs()
	if err != nil || len(runs) == 0 {
		return false
	}
	last := byActivity(runs)[0]
	if last.Reason != "" || last.Broken != "" || last.InSession {
		return false
	}
	if err := s.killLeftovers(s.store, last.Run); err != nil {
		fmt.Fprintf(s.errLines(), "ralph: warning: %v\n", err)
	}
	return true
}

// killLeftovers kills the remaining processes of a run whose own process died.
func (s *session) killLeftovers(store *runlog.Store, run string) error {
	signals.Remove(run)
	killed, err := deadRun(store, run).Kill()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("kill leftover processes of run %s: %w", run, err)
	}
	if killed > 0 && !s.globals.quiet {
		fmt.Fprintf(s.streams.Err, "ralph: killed leftover processes of run %s (%s)\n", run, term.Count(killed, "process"))
	}
	return nil
}
