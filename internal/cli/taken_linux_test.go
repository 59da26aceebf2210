package cli

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/runlog"
)

// The agent of a conversation can write the file of a goal. Only a process of Ralph outlives the conversation for it.
func TestOnlyRalphJudgesAfterAConversation(t *testing.T) {
	store, err := runlog.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	for pid, want := range map[int][]int{os.Getpid(): {os.Getpid()}, other.Process.Pid: nil} {
		identity, _ := process.Identity(pid)
		err := runlog.EditGoal(store, func(g *runlog.Goal) error {
			g.Run, g.Judging = "01K9", &runlog.Judging{Owner: runlog.Owner{PID: pid, Identity: identity}}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := judges(store)(); !slices.Equal(got, want) {
			t.Errorf("kept %v for %s, want %v", got, process.Name(pid), want)
		}
	}
}
