package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/model/openai"
	"github.com/ralphloop/ralph/model/scripted"
)

// The suite describes the behavior of every client, whatever format it uses. It is a script, which
// each client gets in its own way: two of them from a server over HTTP, one directly from the file.
type maker func(t *testing.T, conversations [][]scripted.Turn) model.Client

var makers = map[string]maker{
	"anthropic": func(t *testing.T, conversations [][]scripted.Turn) model.Client {
		return anthropic.New(anthropic.Options{BaseURL: startModel(t, conversations) + "/s", Key: key})
	},
	"openai": func(t *testing.T, conversations [][]scripted.Turn) model.Client {
		return openai.New(openai.Options{BaseURL: startModel(t, conversations) + "/s/v1"})
	},
	"scripted": func(t *testing.T, conversations [][]scripted.Turn) model.Client {
		client, err := scripted.New(conversations, scripted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return client
	},
}

// startModel serves the same turns over HTTP.
func startModel(t *testing.T, conversations [][]scripted.Turn) string {
	t.Helper()
	var scenario scriptedmodel.Scenario
	for _, turns := range conversations {
		var served []scriptedmodel.Turn
		for _, turn := range turns {
			served = append(served, servedTurn(t, turn))
		}
		scenario.Conversations = append(scenario.Conversations, served)
	}
	running, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Script{"s": scenario}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	return running.URL()
}

var statusOf = map[model.FaultKind]int{
	model.FaultAuth: 401, model.FaultLimit: 429, model.FaultProvider: 529, model.FaultOverflow: 413,
	model.FaultRefused: 404,
}

func servedTurn(t *testing.T, turn scripted.Turn) scriptedmodel.Turn {
	t.Helper()
	s := scriptedmodel.Turn{Text: turn.Text, Thinking: turn.Thought, Empty: turn.Empty, Fill: turn.Fill}
	for _, call := range turn.Calls {
		input := map[string]any{}
		if call.Input != nil {
			if err := json.Unmarshal(call.Input, &input); err != nil {
				t.Fatal(err)
			}
		}
		s.Tools = append(s.Tools, scriptedmodel.ToolCall{Name: call.Name, Input: input})
	}
	if u := turn.Usage; u != nil {
		s.Usage = &scriptedmodel.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead}
	}
	switch turn.End {
	case model.EndLength:
		s.Stop = scriptedmodel.StopLength
	case model.EndRefuse:
		s.Stop = scriptedmodel.StopRefusal
	}
	if f := turn.Fault; f != nil {
		s.Faults = []scriptedmodel.Fault{
			{
				Do: scriptedmodel.FaultStatus, Status: statusOf[f.Kind], Times: f.Times,
				RetryAfter: scriptedmodel.Pause(f.RetryAfter), Message: f.Message,
			},
		}
	}
	return s
}

func eachClient(t *testing.T, conversations [][]scripted.Turn, test func(t *testing.T, client model.Client)) {
	for name, make := range makers {
		t.Run(name, func(t *testing.T) { test(t, make(t, conversations)) })
	}
}

// summary holds what must be the same for every client.
type summary struct {
	Text     string
	Thoughts int
	Calls    []string
	End      model.End
	Usage    *model.Usage
	Told     string // text, thought and tools, as reported
}

func send(t *testing.T, c model.Client, r model.Request) (model.Reply, summary) {
	t.Helper()
	var s summary
	reply, err := c.Send(t.Context(), r, func(d model.Delta) {
		s.Told += d.Thought + d.Text
		if d.Tool != "" {
			s.Told += "|" + d.Tool
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	m := reply.Message
	if m.Role != model.Assistant || reply.Model == "" || reply.ID == "" {
		t.Errorf("%+v", reply)
	}
	s.Text, s.Thoughts, s.End, s.Usage = m.Text, len(m.Thought), reply.End, reply.Usage
	for _, call := range m.Calls {
		s.Calls = append(s.Calls, call.Name+string(call.Input))
	}
	return reply, s
}

func TestReplies(t *testing.T) {
	usage := &scripted.Usage{Input: 100, Output: 20, CacheRead: 30}
	used := &model.Usage{Input: 100, Output: 20, CacheRead: 30}
	for _, tc := range []struct {
		name string
		turn scripted.Turn
		want summary
	}{
		{"text", scripted.Turn{Text: "Schöne Grüße.", Usage: usage},
			summary{Text: "Schöne Grüße.", End: model.EndTurn, Usage: used, Told: "Schöne Grüße."}},
		{"thought", scripted.Turn{Thought: "Hm.", Text: "Yes.", Usage: usage},
			summary{Text: "Yes.", Thoughts: 1, End: model.EndTurn, Usage: used, Told: "Hm.Yes."}},
		{"calls", scripted.Turn{
			Text: "Both.", Usage: usage, Calls: []scripted.Call{{Name: "a", Input: json.RawMessage(`{"x":1}`)}, {Name: "b"}},
		},
			summary{Text: "Both.", Calls: []string{`a{"x":1}`, `b{}`}, End: model.EndCalls, Usage: used, Told: "Both.|a|b"}},
		{"cut at its length", scripted.Turn{Text: "And then", End: model.EndLength, Usage: usage},
			summary{Text: "And then", End: model.EndLength, Usage: used, Told: "And then"}},
		{"refused", scripted.Turn{Text: "No.", End: model.EndRefuse, Usage: usage},
			summary{Text: "No.", End: model.EndRefuse, Usage: used, Told: "No."}},
		{"empty", scripted.Turn{Empty: true, Usage: usage}, summary{End: model.EndTurn, Usage: used}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachClient(t, [][]scripted.Turn{{tc.turn}}, func(t *testing.T, client model.Client) {
				reply, got := send(t, client, ask)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
				if reply.Empty() != tc.turn.Empty {
					t.Errorf("empty: %v", reply.Empty())
				}
				if _, err := client.Send(t.Context(), ask, nil); err != nil {
					t.Errorf("with nobody to tell: %v", err)
				}
			})
		})
	}
}

// A conversation continues where it is, whatever was sent before, and calls get their results. The
// request is not modified.
func TestConversation(t *testing.T) {
	conversations := [][]scripted.Turn{
		{
			{
				Thought: "First a look.", Text: "I look.",
				Calls: []scripted.Call{{Name: "read", Input: json.RawMessage(`{"path":"a"}`)}, {Name: "nonsense"}},
			},
			{Text: "It says {{word}}.", Fill: map[string]string{"word": `the word is (\w+)`}},
		},
		{{Text: "Another one."}},
	}
	eachClient(t, conversations, func(t *testing.T, client model.Client) {
		r := ask
		first, _ := send(t, client, r)
		r.Messages = append(r.Messages[:1:1], first.Message, model.Message{Role: model.ToolRole, Results: []model.Result{
			{ID: first.Message.Calls[0].ID, Text: "the word is tulip"},
			{ID: first.Message.Calls[1].ID, Text: "no such tool\x00\xff", Failed: true},
		}}, model.Message{Role: model.User, Text: "Well?"})
		before, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if second, _ := send(t, client, r); second.Message.Text != "It says tulip." {
				t.Errorf("%q", second.Message.Text)
			}
		}
		if fresh, _ := send(t, client, ask); fresh.Message.Text != "Another one." {
			t.Errorf("a fresh one gets %q", fresh.Message.Text)
		}
		if again, _ := send(t, client, r); again.Message.Text != "It says tulip." {
			t.Errorf("and the first one then %q", again.Message.Text)
		}
		if after, _ := json.Marshal(r); string(after) != string(before) {
			t.Errorf("the request has become %s", after)
		}
	})
}

func TestFaults(t *testing.T) {
	for kind := range statusOf {
		t.Run(string(kind), func(t *testing.T) {
			turn := scripted.Turn{
				Text:  "At last.",
				Fault: &scripted.Fault{Kind: kind, Message: "alas", Times: 2, RetryAfter: scripted.Span(3 * time.Second)},
			}
			eachClient(t, [][]scripted.Turn{{turn}, {{Text: "Too late."}}}, func(t *testing.T, client model.Client) {
				want := model.Fault{Kind: kind, Message: "alas"}
				if kind == model.FaultLimit || kind == model.FaultProvider {
					want.RetryAfter = 3 * time.Second
				}
				for range 2 {
					_, err := client.Send(t.Context(), ask, nil)
					fault, ok := errors.AsType[*model.Fault](err)
					if !ok {
						t.Fatal(err)
					}
					got := model.Fault{Kind: fault.Kind, Message: fault.Message, RetryAfter: fault.RetryAfter}
					if kind != model.FaultLimit && kind != model.FaultProvider {
						got.RetryAfter = 0 // it has no meaning there
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				}
				if reply, _ := send(t, client, ask); reply.Message.Text != "At last." {
					t.Errorf("%q", reply.Message.Text)
				}
			})
		})
	}
}

func TestEndedContext(t *testing.T) {
	eachClient(t, [][]scripted.Turn{{{Text: "Hello."}}}, func(t *testing.T, client model.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := client.Send(ctx, ask, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	eachClient(t, [][]scripted.Turn{{{Text: "Hello."}}}, func(t *testing.T, client model.Client) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if reply, err := client.Send(t.Context(), ask, nil); err != nil || reply.Message.Text != "Hello." {
					t.Errorf("%+v %v", reply, err)
				}
			})
		}
		all.Wait()
	})
}

// A thousand calls in one reply keep their order, have distinct IDs, and can be answered.
func TestThousandCalls(t *testing.T) {
	var turn scripted.Turn
	for i := range 1000 {
		turn.Calls = append(turn.Calls, scripted.Call{Name: "tool", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
	}
	eachClient(t, [][]scripted.Turn{{turn, {Text: "Thanks."}}}, func(t *testing.T, client model.Client) {
		reply, got := send(t, client, ask)
		results := model.Message{Role: model.ToolRole}
		ids := map[string]bool{}
		for i, call := range reply.Message.Calls {
			if want := fmt.Sprintf(`tool{"n":%d}`, i); got.Calls[i] != want {
				t.Fatalf("call %d is %s", i, got.Calls[i])
			}
			ids[call.ID] = true
			results.Results = append(results.Results, model.Result{ID: call.ID})
		}
		if len(ids) != 1000 {
			t.Errorf("%d identifiers", len(ids))
		}
		r := ask
		r.Messages = append(r.Messages[:1:1], reply.Message, results)
		if second, _ := send(t, client, r); second.Message.Text != "Thanks." {
			t.Errorf("%q", second.Message.Text)
		}
	})
}
