package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// figures are the costs in an outcome and in the last live activity.
type figures struct {
	Cost      *float64
	Estimated bool
	Live      *float64
}

// spentBy reads the output of a CLI that was given a model.
func spentBy(cli, model, stdout string) figures {
	d, _ := Find(cli)
	c := New(Options{Dialect: d})
	var f figures
	in := ralph.AgentInput{Model: model, Live: func(a ralph.Activity) {
		if a.Kind == "spent" {
			f.Live = a.Cost
		}
	}}
	r := c.newReading(in)
	reader := d.newReader(r)
	r.Hear(in)
	_, _ = reader.Write([]byte(stdout))
	reader.Close()
	o := c.outcome(r, exited(0))
	f.Cost, f.Estimated = o.Cost, o.CostEstimated
	return f
}

func TestCostIsReckonedWhereItIsNotTold(t *testing.T) {
	const (
		// Of the input 600 were read from a cache and 400 written to one; of the output 20 are
		// thinking.
		codexTurn = `{"type":"turn.completed","usage":{"input_tokens":3000,"cached_input_tokens":600,` +
			`"cache_write_input_tokens":400,"output_tokens":100,"reasoning_output_tokens":20}}` + "\n"
		told = `{"type":"result","subtype":"success","is_error":false,"result":"x","total_cost_usd":0.25,` +
			`"usage":{"input_tokens":1000000,"output_tokens":5}}` + "\n"
		cut = `{"type":"assistant","message":{"id":"m1","content":[],` +
			`"usage":{"input_tokens":1000,"output_tokens":10,"cache_read_input_tokens":2000,` +
			`"cache_creation_input_tokens":3000}}}` + "\n"
	)
	tests := []struct {
		name, cli, model, stdout string
		want                     figures
	}{
		// 2000 × $2 + 100 × $10 + 600 × $0.10 + 400 × $2.50, per million each
		{"tokens and model", "codex", "gpt-6.1-sol", codexTurn, figures{new(0.00606), true, new(0.00606)}},
		// no price for writing: 2400 × $1.25 + 100 × $10 + 600 × $0.125
		{"an older model", "codex", "openai/gpt-5-2025-08-07", codexTurn, figures{new(0.004075), true, new(0.004075)}},
		{"a model without a price", "codex", "scripted-1", codexTurn, figures{}},
		{"no price for what was read from a cache", "codex", "gpt-5-pro", codexTurn, figures{}},
		{"no model", "codex", "", codexTurn, figures{}},
		{"no tokens", "codex", "gpt-5", `{"type":"turn.failed","error":{"message":"no"}}` + "\n", figures{}},
		{
			"tokens of nothing", "codex", "gpt-5", `{"type":"turn.completed","usage":{"input_tokens":0}}` + "\n",
			figures{new(0.0), true, new(0.0)},
		},
		{"a usage that tells nothing", "codex", "gpt-5", `{"type":"turn.completed","usage":{}}` + "\n", figures{}},
		{"told", "claude", "claude-opus-4-5", told, figures{new(0.25), false, new(0.25)}},
		// 1000 × $5 + 10 × $25 + 2000 × $0.50 + 3000 × $6.25
		{"cut short, at least", "claude", "claude-opus-4-5", cut, figures{new(0.025), true, new(0.025)}},
		{"a plain command", "command", "gpt-5", "hello\n", figures{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, spentBy(tt.cli, tt.model, tt.stdout)); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}
