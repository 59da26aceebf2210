package worker

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/scripted"
)

const benchTurns = 200

// BenchmarkTurn has a conversation of 200 turns with a model that answers at once and a tool that
// does nothing. The difference to the bare loop is the worker's overhead.
func BenchmarkTurn(b *testing.B) {
	turns := make([]scripted.Turn, benchTurns)
	for i := range turns {
		turns[i] = scripted.Turn{
			Text:  "I look at the next file.",
			Calls: []scripted.Call{{Name: "noop", Input: json.RawMessage(`{"path":"a.go"}`)}},
			Usage: &scripted.Usage{Input: 1000, Output: 50},
		}
	}
	client, err := scripted.New([][]scripted.Turn{turns}, scripted.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("worker", func(b *testing.B) {
		j := &judge{}
		in := j.input(b)
		in.Live = func(ralph.Activity) {}
		in.Turn = func(context.Context, ralph.Turn) ralph.TurnOrder { return ralph.TurnOrder{} }
		b.ReportAllocs()
		for b.Loop() {
			if got := works(b, Options{Client: client, MaxTurns: benchTurns}, in, noop{}); *got.Steps != benchTurns {
				b.Fatalf("took %d turns: %+v", *got.Steps, got)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchTurns, "ns/turn")
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n := bare(b, client); n != benchTurns {
				b.Fatalf("took %d turns", n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchTurns, "ns/turn")
	})
}

// bare is the least that a loop can do.
func bare(b *testing.B, client model.Client) int {
	messages := []model.Message{{Role: model.User, Text: "go"}}
	for n := range benchTurns {
		reply, err := client.Send(b.Context(), model.Request{Messages: messages, Tools: []model.Tool{noop{}.Spec()}}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if len(reply.Message.Calls) == 0 {
			return n
		}
		c := reply.Message.Calls[0]
		messages = append(messages, reply.Message, model.Message{
			Role: model.ToolRole, Results: []model.Result{{ID: c.ID, Text: noop{}.Run(b.Context(), c.Input).Text}},
		})
	}
	return benchTurns
}

type noop struct{}

func (noop) Spec() model.Tool {
	return model.Tool{Name: "noop", Description: "does nothing", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (noop) Run(context.Context, json.RawMessage) tools.Output { return tools.Output{Text: "done"} }
