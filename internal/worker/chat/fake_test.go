package chat

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// step is one answer of a fake model, or why there is none.
type step func(r model.Request, tell func(model.Delta)) (model.Reply, error)

// fakeModel follows steps; the last one repeats. It keeps a snapshot of every request.
type fakeModel struct {
	steps []step
	asked []model.Request
}

func (f *fakeModel) Send(_ context.Context, r model.Request, tell func(model.Delta)) (model.Reply, error) {
	kept := r
	kept.Messages = slices.Clone(r.Messages)
	for i := range kept.Messages {
		kept.Messages[i].Results = slices.Clone(r.Messages[i].Results)
	}
	f.asked = append(f.asked, kept)
	return f.steps[min(len(f.asked), len(f.steps))-1](r, tell)
}

func replies(r model.Reply) step {
	return func(model.Request, func(model.Delta)) (model.Reply, error) { return r, nil }
}

func fails(err error) step {
	return func(model.Request, func(model.Delta)) (model.Reply, error) { return model.Reply{}, err }
}

func says(text string) model.Reply { return model.Reply{Message: model.Message{Text: text}} }

// reads is a reply that calls a tool.
func reads() model.Reply {
	return model.Reply{
		Message: model.Message{Calls: []model.Call{{ID: "c", Name: "read", Input: []byte(`{}`)}}}, End: model.EndCalls,
	}
}

// talk is a conversation with a fake model, and what was seen of it.
type talk struct {
	*Conversation
	fake *fakeModel
	live []ralph.Activity
}

func begin(o Options, steps ...step) *talk {
	t := &talk{fake: &fakeModel{steps: steps}}
	if o.Client == nil {
		o.Client = t.fake
	}
	o.Live = func(a ralph.Activity) { t.live = append(t.live, a) }
	t.Conversation = New(o)
	t.Begin("Be brief.", []model.Tool{{Name: "read", Description: "Reads.", Schema: []byte(`{"type":"object"}`)}})
	t.Add(model.Message{Role: model.User, Text: "Add two numbers."})
	return t
}

// turn asks, and answers the call with a result of some size.
func (s *talk) turn(t *testing.T, result string, kept ...int) {
	t.Helper()
	reply, err := s.Ask(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s.Add(reply.Message)
	s.Add(model.Message{Role: model.ToolRole, Results: []model.Result{{ID: "c", Text: result}}}, kept...)
}

// shown are the details of one kind of news.
func (s *talk) shown(kind string) []string {
	var details []string
	for _, a := range s.live {
		if a.Kind == kind {
			details = append(details, a.Detail)
		}
	}
	return details
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
