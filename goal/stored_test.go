package goal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/judge"
)

// continueIn is the folder of the session that this process continues, if it is the second process of a test.
const continueIn = "GOAL_TEST_CONTINUE_IN"

// storedSession is what one process leaves for the next.
type storedSession struct {
	State    goal.State
	Messages []goal.Message
	Decision goal.Decision
}

// A session that was stored in the middle of a batch of tool calls continues in another process.
func TestStoredSessionContinuesInAnotherProcess(t *testing.T) {
	if dir := os.Getenv(continueIn); dir != "" {
		continueSession(t, dir)
		return
	}
	s := begin(t, nil)
	s.refused(s.answers("Done."+done), judge.GoalMissing)
	s.shells("echo right > answer.txt")
	s.shells(verifier)
	stored, err := json.Marshal(storedSession{State: s.State, Messages: s.messages})
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), continueIn+"="+s.dir)
	again.Stdin = bytes.NewReader(stored)
	out, err := again.Output()
	var end storedSession
	if err != nil || json.NewDecoder(bytes.NewReader(out)).Decode(&end) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := goal.Decision{
		Next: goal.Finish, Reason: judge.GoalVerified, Detail: verifier + " passed", Answer: "It is right.",
		Warning: "no verifier failed before in this run, so what passed may not show the work",
	}
	if diff := cmp.Diff(want, end.Decision); diff != "" {
		t.Error(diff)
	}
	if end.State.RunID != s.RunID || end.State.Iteration != 1 || end.State.Status != judge.GoalCompleted {
		t.Errorf("state: %+v", end.State)
	}
}

func continueSession(t *testing.T, dir string) {
	var stored storedSession
	if err := json.NewDecoder(os.Stdin).Decode(&stored); err != nil {
		t.Fatal(err)
	}
	middleware, err := goal.New(goal.Config{
		Verifiers: []string{verifier}, Dir: dir, Tree: &plain.Tree{Dir: dir}, Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{T: t, middleware: middleware, dir: dir, State: stored.State, messages: stored.Messages}
	s.beforeAgent()
	decision := s.answers("It is right." + done)
	if err := json.NewEncoder(os.Stdout).Encode(storedSession{State: s.State, Decision: decision}); err != nil {
		t.Fatal(err)
	}
}
