package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// The newest commit of a file decides, and only if the file is as in it.
func TestFilesCommittedSince(t *testing.T) {
	log := "\x01200\x00\nnew\x00changed\x00\x01150\x00\x01100\x00\nold\x00new\x00"
	got := newestSince(log, map[string]bool{"": true, "changed": true}, 150)
	if diff := cmp.Diff([]string{"new"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOriginOfARun(t *testing.T) {
	passed := ralph.CheckResult{Name: "go test", Passed: true, Tree: "+h", Output: "ok"}
	hidden := ralph.CheckResult{Name: "hidden check 1", Passed: true, Hidden: true, Tree: "+h"}
	later := ralph.CheckResult{Name: "sh t1", Task: "T1", Tree: "+other"}
	base := ralph.TreeState{Known: true, Hash: "h", Snapshot: "base"}
	worked := func() *fold.State {
		s := &fold.State{Stopped: &ralph.RunStopped{Status: ralph.StatusExhausted}}
		s.Run = "R1"
		s.History.Started, s.History.TreeOf = 1, 1
		s.History.Base, s.History.First = base, base
		s.History.Tree = ralph.TreeState{Known: true, Head: "c", Snapshot: "left"}
		s.History.Baseline = []ralph.CheckResult{passed, hidden, later}
		return s
	}
	known := []ralph.CheckResult{{Name: "go test", Passed: true, Tree: "+h"}}
	for _, tt := range []struct {
		name  string
		given func(s *fold.State)
		want  *ralph.Origin
	}{
		{"its own base", func(*fold.State) {},
			&ralph.Origin{Run: "R1", Base: "base", Left: "left", Head: "c", Checks: known}},
		{"it completed", func(s *fold.State) { s.Stopped.Status = ralph.StatusCompleted }, nil},
		{"no agent worked", func(s *fold.State) { s.History.Started, s.History.TreeOf = 0, 0 }, nil},
		{"no agent worked after another run", func(s *fold.State) {
			s.History.Started, s.Started.Origin = 0, &ralph.Origin{Run: "R0", Base: "older"}
		}, &ralph.Origin{Run: "R0", Base: "older"}},
		{"the user changed files meanwhile", func(s *fold.State) { s.History.Base.Snapshot = "edited" },
			&ralph.Origin{Run: "R1", Base: "edited", Left: "left", Head: "c"}},
		{"a task was proven", func(s *fold.State) { s.History.LastProvenTree = "proven" },
			&ralph.Origin{Run: "R1", Base: "proven", Left: "left", Head: "c"}},
		{"after another run", func(s *fold.State) {
			s.History.Origin = &judge.Origin{Run: "R0", Snapshot: "older", Checked: "older", Checks: known}
		}, &ralph.Origin{Run: "R1", Base: "older", Left: "left", Head: "c", Checks: known}},
		{"it died", func(s *fold.State) { s.Stopped = nil }, &ralph.Origin{Run: "R1", Base: "base", Checks: known}},
		{"its agent may work on", func(s *fold.State) { s.Started.InSession = true },
			&ralph.Origin{Run: "R1", Base: "base", Checks: known}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := worked()
			tt.given(s)
			if diff := cmp.Diff(tt.want, originOf(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
