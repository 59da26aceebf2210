package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/ralphloop/ralph/gitrepo/plain"
	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
	"github.com/ralphloop/ralph/judge"
)

const script = `{"early": {"conversations": [
  [{"text": "It is written.\n<promise>DONE</promise>"}],
  [{"tools": [{"shell": "grep -q right answer.txt"}]},
   {"thinking": "It is missing.", "tools": [{"shell": "echo right > answer.txt"}]},
   {"tools": [{"shell": "grep -q right answer.txt"}]},
   {"text": "Now it is.\n<promise>DONE</promise>"}]
]}}`

// The SDK's client speaks to a server on loopback: an early claim is refused, and proven work is accepted.
func TestEarlyClaimIsRefusedAndProvenWorkAccepted(t *testing.T) {
	parsed, err := scriptedmodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	server, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(parsed,
		scriptedmodel.Observe(func(r scriptedmodel.Request) { bodies = append(bodies, string(r.Body)) })))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	middleware, err := goal.New(goal.Config{
		Verifiers: []string{"grep -q right answer.txt"}, Dir: dir, Tree: &plain.Tree{Dir: dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := agent{anthropic.NewClient(option.WithBaseURL(server.URL()+"/early"), option.WithAPIKey("none")), middleware}
	picture := anthropic.NewImageBlockBase64("image/png", "aGVsbG8=")
	task := anthropic.NewUserMessage(anthropic.NewTextBlock("Write the right answer."), picture)

	var state goal.State
	answer, err := a.run(t.Context(), &state, task)
	if err != nil {
		t.Fatal(err)
	}
	if answer != "Now it is." || state.Status != judge.GoalCompleted || state.Iteration != 1 || len(bodies) != 5 {
		t.Errorf("answer %q, %s (%s), iteration %d, %d calls", answer, state.Status, state.StopReason, state.Iteration,
			len(bodies))
	}
	if !strings.Contains(bodies[0], "Ralph Loop completion rule") || !strings.Contains(bodies[1], "missing_evidence") {
		t.Errorf("no rule, or no reason:\n%s\n%s", bodies[0], bodies[1])
	}
	var retry struct {
		Messages []struct{ Content []struct{ Type string } }
	}
	if err := json.Unmarshal([]byte(bodies[1]), &retry); err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, message := range retry.Messages {
		for _, block := range message.Content {
			types = append(types, block.Type)
		}
	}
	if !slices.Equal(types, []string{"text", "image"}) {
		t.Errorf("a retry sends %v, not only the continuation and the picture", types)
	}
}
