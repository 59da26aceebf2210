package interview

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/plan"
)

// script is a client that replies as the test says, and keeps the requests. At its end it repeats
// the last turn.
type script struct {
	turns []turn
	asked []model.Request
}

// turn is one answer of the model, or an error.
type turn func(ctx context.Context, tell func(model.Delta)) (model.Reply, error)

func (s *script) Send(ctx context.Context, r model.Request, tell func(model.Delta)) (model.Reply, error) {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].Results = slices.Clone(r.Messages[i].Results) // which may be dropped later
	}
	s.asked = append(s.asked, r)
	return s.turns[min(len(s.asked), len(s.turns))-1](ctx, tell)
}

// results are what the n-th request told the model last.
func (s *script) results(n int) []model.Result {
	messages := s.asked[n].Messages
	return messages[len(messages)-1].Results
}

func reply(m model.Message, end model.End) turn {
	return func(context.Context, func(model.Delta)) (model.Reply, error) {
		m.Role = model.Assistant
		return model.Reply{Message: m, End: end, Usage: &model.Usage{Input: 1000, Output: 100}, Model: "claude-sonnet-5"}, nil
	}
}

func says(text string) turn { return reply(model.Message{Text: text}, model.EndTurn) }

// calls is a turn that makes calls: names and inputs by turns.
func calls(t *testing.T, namesAndInputs ...any) turn {
	t.Helper()
	var m model.Message
	for i := 0; i < len(namesAndInputs); i += 2 {
		input, raw := namesAndInputs[i+1].(string)
		if !raw {
			data, err := json.Marshal(namesAndInputs[i+1])
			if err != nil {
				t.Fatal(err)
			}
			input = string(data)
		}
		m.Calls = append(m.Calls, model.Call{
			ID: fmt.Sprintf("call-%d", i/2), Name: namesAndInputs[i].(string), Input: json.RawMessage(input),
		})
	}
	return reply(m, model.EndCalls)
}

func asks(t *testing.T, question string, options ...string) turn {
	return calls(t, askUser, askInput{Question: question, Options: options})
}

func faulty(f model.Fault) turn {
	return func(context.Context, func(model.Delta)) (model.Reply, error) { return model.Reply{}, &f }
}

func silent(context.Context, func(model.Delta)) (model.Reply, error) { return model.Reply{}, nil }

// somePlan is one that lints.
func somePlan() planInput {
	return planInput{
		Overview: "The greeter greets by name.",
		Tasks: []taskInput{
			{
				ID: "T-001", Title: "Tests for names", Description: "In greet_test.sh.",
				Acceptance: []string{"greet_test.sh asks for a name"}, Checks: []string{"grep -q name greet_test.sh"},
			},
			{
				ID: "T-002", Title: "Greet by name", Description: "In greet.sh.",
				Acceptance: []string{"greet.sh Ada prints Hello, Ada"}, DependsOn: []string{"T-001"},
				Checks: []string{"sh greet_test.sh"},
			},
		},
		OpenQuestions: []string{"Which languages follow?"},
		Blockers:      []string{"No account for the name server."},
		ScopeNotes:    []string{"Titles are left out."},
	}
}

// room is a small repository with a draft of a list for it.
type room struct {
	dir   string
	tools []tools.Tool
	draft *plan.Draft
}

func newRoom(t *testing.T) room {
	t.Helper()
	r := room{dir: t.TempDir()}
	for name, text := range map[string]string{
		"greet.sh": "echo Hello\n", "greet_test.sh": "test \"$(sh greet.sh)\" = Hello\n", "docs/use.md": "# Use\n",
	} {
		path := filepath.Join(r.dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	root, err := os.OpenRoot(r.dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	r.tools = tools.Reading(tools.Options{Root: root, Env: os.Environ()})
	r.draft, err = plan.NewDraft(r.dir, plan.DraftOptions{})
	must(t, err)
	return r
}

// with are options for an interview in the room.
func (r room) with(turns ...turn) (Options, *script) {
	s := &script{turns: turns}
	return Options{
		Client: hasty(s), Model: "claude-sonnet-5", Tools: r.tools, Brief: "Greet people by name.", Lint: r.draft.Preview,
	}, s
}

// hasty is a patient client that does not wait.
func hasty(s *script) model.Client {
	return &model.Retrier{Client: s, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// replies answers questions in order, and then no more.
func replies(answers ...string) func(context.Context, Question) (string, bool, error) {
	return func(_ context.Context, q Question) (string, bool, error) {
		if q.Number > len(answers) {
			return "", false, nil
		}
		return answers[q.Number-1], true, nil
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
