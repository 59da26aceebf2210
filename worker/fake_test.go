package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

// step is one answer of a fake model.
type step func(ctx context.Context, r model.Request) (model.Reply, error)

// fakeModel follows steps; the last one repeats. It keeps a snapshot of every request.
type fakeModel struct {
	mu    sync.Mutex
	steps []step
	asked []model.Request
}

func (f *fakeModel) Send(ctx context.Context, r model.Request, tell func(model.Delta)) (model.Reply, error) {
	f.mu.Lock()
	at := min(len(f.asked), len(f.steps)-1)
	f.asked = append(f.asked, copied(r))
	f.mu.Unlock()
	reply, err := f.steps[at](ctx, r)
	if tell != nil && err == nil {
		tell(model.Delta{Text: reply.Message.Text})
	}
	return reply, err
}

func copied(r model.Request) model.Request {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].Results = slices.Clone(r.Messages[i].Results)
	}
	return r
}

func replies(r model.Reply) step {
	return func(context.Context, model.Request) (model.Reply, error) { return r, nil }
}

func fails(err error) step {
	return func(context.Context, model.Request) (model.Reply, error) { return model.Reply{}, err }
}

// says is a reply of words alone.
func says(text string) step {
	return replies(model.Reply{
		Message: model.Message{Text: text}, End: model.EndTurn, Usage: &model.Usage{Input: 100, Output: 10},
	})
}

func empty() step { return replies(model.Reply{End: model.EndTurn, Usage: &model.Usage{Input: 100}}) }

// calls is a reply with calls, each given as name and input.
func calls(nameAndInput ...string) step { return replies(calling(nameAndInput...)) }

func calling(nameAndInput ...string) model.Reply {
	var m model.Message
	for i := 0; i < len(nameAndInput); i += 2 {
		m.Calls = append(m.Calls, model.Call{
			ID: fmt.Sprintf("c%d", i/2), Name: nameAndInput[i], Input: json.RawMessage(nameAndInput[i+1]),
		})
	}
	return model.Reply{Message: m, End: model.EndCalls, Usage: &model.Usage{Input: 100, Output: 10}}
}

func withText(r model.Reply, text string) model.Reply {
	r.Message.Text = text
	return r
}

const goodCase = `{"summary":"it adds","ac_coverage":[{"criterion":"2 and 3 are 5","addressed_by":"calc.go:Add"}]}`

func submits() step { return calls(submitCase, goodCase) }

// judge stands for the loop that a worker talks to.
type judge struct {
	mu      sync.Mutex
	answers []ralph.CaseAnswer // the last one is for all cases that come later
	cases   []ralph.Case
	turns   []ralph.Turn
	stopAt  int  // the turn, free ones counted, from which on no other may follow; 0 is none
	late    bool // then, because the time is over
	live    []ralph.Activity
}

func (j *judge) input(t testing.TB) ralph.AgentInput {
	return ralph.AgentInput{
		Iteration: 1, Prompt: "Add two numbers.", Dir: t.TempDir(), Folder: t.TempDir(), Model: "claude-sonnet-4-5",
		Marker: "m",
		Live: func(a ralph.Activity) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.live = append(j.live, a)
		},
		Turn: func(_ context.Context, turn ralph.Turn) ralph.TurnOrder {
			j.turns = append(j.turns, turn)
			stop := j.stopAt > 0 && len(j.turns) >= j.stopAt // what is spent stays spent
			return ralph.TurnOrder{Stop: stop, Late: stop && j.late}
		},
		Submit: func(_ context.Context, c ralph.Case) ralph.CaseAnswer {
			j.cases = append(j.cases, c)
			if len(j.answers) == 0 {
				return accepted
			}
			return j.answers[min(len(j.cases), len(j.answers))-1]
		},
	}
}

func (j *judge) activities(kind string) []string {
	var details []string
	for _, a := range j.live {
		if a.Kind == kind {
			details = append(details, a.Name+": "+a.Detail)
		}
	}
	return details
}

var (
	accepted = ralph.CaseAnswer{Accepted: true, Over: true, Text: "accepted"}
	red      = ralph.CaseAnswer{Text: "The case is refused. go test failed."}
	rejected = ralph.CaseAnswer{Rejected: true, Text: "The case is refused.\n\n- acceptance_gap: half of it"}
	hadIt    = ralph.CaseAnswer{Over: true, Text: "The case is refused, and the task is over."}
)

// fakeTool does what it is told and says which calls it got.
type fakeTool struct {
	name string
	run  func(ctx context.Context, input json.RawMessage) tools.Output
	ran  []string
}

func (f *fakeTool) Spec() model.Tool {
	return model.Tool{Name: f.name, Description: "a fake", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (f *fakeTool) Run(ctx context.Context, input json.RawMessage) tools.Output {
	f.ran = append(f.ran, string(input))
	if f.run == nil {
		return tools.Output{Text: fmt.Sprintf("%s %d", f.name, len(f.ran))}
	}
	return f.run(ctx, input)
}

// fitted is a worker with other tools.
type fitted struct {
	*caseRole
	set []tools.Tool
}

func (f *fitted) tools(tools.Options) []tools.Tool { return f.set }

// works runs a worker that has only the given tools.
func works(t testing.TB, o Options, in ralph.AgentInput, set ...tools.Tool) ralph.AgentOutcome {
	t.Helper()
	outcome, err := runFitted(t.Context(), o, in, set...)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func runFitted(ctx context.Context, o Options, in ralph.AgentInput, set ...tools.Tool) (ralph.AgentOutcome, error) {
	return run(ctx, New(o).o, in, func(t *conversation) role { return &fitted{&caseRole{conversation: t}, set} })
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// lastResults are the results in the last message of a request.
func lastResults(r model.Request) []model.Result {
	return r.Messages[len(r.Messages)-1].Results
}

type jsonText = json.RawMessage

// clientFunc is a client without a script.
type clientFunc func(ctx context.Context, r model.Request) (model.Reply, error)

func (f clientFunc) Send(ctx context.Context, r model.Request, _ func(model.Delta)) (model.Reply, error) {
	return f(ctx, r)
}

func contains(text, part string) bool { return strings.Contains(text, part) }
func trimmed(text string) string      { return strings.TrimSpace(text) }
func ptr[T any](v T) *T               { return &v }

type ctxType = context.Context
