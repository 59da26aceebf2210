package goal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/judge"
)

const (
	done     = "\n\n<promise>DONE</promise>"
	verifier = "grep -q right answer.txt"
	task     = "Write the right answer."
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// session is an agent loop that a test drives: it is the model, and tools are real shells in a real folder.
type session struct {
	*testing.T
	goal.State
	middleware *goal.Middleware
	dir        string
	messages   []goal.Message
	calls      int
}

// begin starts a session about task. change adapts the configuration.
func begin(t *testing.T, change func(*goal.Config)) *session {
	t.Helper()
	dir := t.TempDir()
	config := goal.Config{
		Verifiers: []string{verifier}, Dir: dir, Tree: &plain.Tree{Dir: dir}, Now: func() time.Time { return noon },
	}
	if change != nil {
		change(&config)
	}
	middleware, err := goal.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{T: t, middleware: middleware, dir: dir}
	s.human(task)
	return s
}

// human is a turn of the user.
func (s *session) human(text string) {
	s.Helper()
	s.messages = append(s.messages, goal.Message{Role: goal.User, Parts: goal.Text(text)})
	s.beforeAgent()
}

func (s *session) beforeAgent() {
	s.Helper()
	if err := s.middleware.BeforeAgent(&s.State, s.messages); err != nil {
		s.Fatal(err)
	}
}

// sends returns the next request as the model gets it.
func (s *session) sends(system string) goal.Request {
	s.Helper()
	r, err := s.middleware.WrapModelCall(s.Context(), &s.State, goal.Request{System: system, Messages: s.messages})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// answers is an answer of the model without tool calls.
func (s *session) answers(text string) goal.Decision {
	s.Helper()
	s.sends("")
	answer := goal.Message{Role: goal.Assistant, Parts: goal.Text(text)}
	d, err := s.middleware.AfterModel(s.Context(), &s.State, answer)
	if err != nil {
		s.Fatal(err)
	}
	if d.Next == goal.CallModel {
		s.messages = d.Messages
	} else {
		s.messages = append(s.messages, answer)
	}
	return d
}

// shells is one answer of the model with calls of the shell, which run one after the other.
func (s *session) shells(lines ...string) {
	s.Helper()
	var calls []goal.ToolCall
	for _, line := range lines {
		arguments, _ := json.Marshal(map[string]string{"command": line})
		s.calls++
		calls = append(calls, goal.ToolCall{ID: fmt.Sprint("call-", s.calls), Name: "Bash", Arguments: arguments})
	}
	s.uses(func(call goal.ToolCall) goal.ToolResult {
		var arguments struct{ Command string }
		_ = json.Unmarshal(call.Arguments, &arguments)
		shell := exec.Command("sh", "-c", arguments.Command)
		shell.Dir = s.dir
		out, _ := shell.CombinedOutput()
		code := shell.ProcessState.ExitCode()
		return goal.ToolResult{CallID: call.ID, Content: string(out), ExitCode: &code}
	}, calls...)
}

// uses is one answer of the model with tool calls.
func (s *session) uses(run func(goal.ToolCall) goal.ToolResult, calls ...goal.ToolCall) {
	s.Helper()
	s.sends("")
	answer := goal.Message{Role: goal.Assistant, Calls: calls}
	before := s.Iteration
	d, err := s.middleware.AfterModel(s.Context(), &s.State, answer)
	if err != nil || d.Next != goal.RunTools || s.Iteration != before {
		s.Fatalf("tool calls: %+v in iteration %d, %v", d, s.Iteration, err)
	}
	results := goal.Message{Role: goal.Tool}
	for _, call := range calls {
		results.Results = append(results.Results, run(call))
	}
	s.messages = append(s.messages, answer, results)
}

// writes is work that no tool call shows.
func (s *session) writes(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// expect compares a decision and the state with what they must be.
func (s *session) expect(d goal.Decision, next goal.Next, status judge.GoalStatus, reason judge.GoalReason) {
	s.Helper()
	if d.Next != next || d.Reason != reason || s.Status != status || s.StopReason != reason {
		s.Errorf("got %s, %s, %s (%s); want %s, %s, %s", d.Next, s.Status, d.Reason, d.Detail, next, status, reason)
	}
}

func (s *session) refused(d goal.Decision, reason judge.GoalReason) {
	s.Helper()
	s.expect(d, goal.CallModel, judge.GoalActive, reason)
}

func (s *session) completed(d goal.Decision) {
	s.Helper()
	s.expect(d, goal.Finish, judge.GoalCompleted, judge.GoalVerified)
	if strings.Contains(strings.ToLower(d.Answer), "promise>") {
		s.Errorf("the accepted answer has the marker: %q", d.Answer)
	}
}
