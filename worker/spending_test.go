package worker

import (
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

func used(u *model.Usage, name string) step {
	r := calling("noop", `{}`)
	r.Usage, r.Model = u, name
	return replies(r)
}

func TestWhatIsSpent(t *testing.T) {
	price := func(name string) (model.Price, bool) {
		return model.Price{Model: name, Input: 1, Output: 10}, name == "asked" || name == "answers"
	}
	for _, c := range []struct {
		name   string
		model  string
		steps  []step
		tokens *ralph.Tokens
		cost   *float64
		more   string // of what more was spent than is known
	}{
		{
			"by the model that answers", "asked",
			[]step{used(&model.Usage{Input: 1e6}, "answers"), used(&model.Usage{Output: 1e5}, "answers")},
			&ralph.Tokens{Input: 1e6, Output: 1e5}, ptr(2.0), "",
		},
		{
			"or else by the one that was asked", "asked", []step{used(&model.Usage{Input: 1e6}, "no-such-model")},
			&ralph.Tokens{Input: 2e6}, ptr(2.0), "",
		},
		{"no price", "no-such-model", []step{used(&model.Usage{Input: 1e6}, "")}, &ralph.Tokens{Input: 2e6}, nil, "cost"},
		{"no usage", "asked", []step{used(nil, "")}, nil, nil, "tokens and cost"},
		{"nonsense", "asked", []step{used(&model.Usage{Input: -5}, "")}, nil, nil, "tokens and cost"},
		{
			"what is not told does not hide the rest", "asked", []step{used(nil, ""), used(&model.Usage{Input: 1e6}, "")},
			&ralph.Tokens{Input: 1e6}, ptr(1.0), "tokens and cost",
		},
		{
			"a cache at no known price", "asked", []step{used(&model.Usage{CacheRead: 7}, "")}, &ralph.Tokens{CacheRead: 14},
			nil, "cost",
		},
		{
			"nor does a reply of which the price is not known", "no-such-model",
			[]step{used(&model.Usage{Input: 1e6}, "answers"), used(&model.Usage{Input: 7}, "")}, &ralph.Tokens{Input: 1e6 + 7},
			ptr(1.0), "cost",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &judge{}
			in := j.input(t)
			in.Model = c.model
			got := works(t, Options{Client: &fakeModel{steps: c.steps}, Price: price, MaxTurns: 2}, in, &fakeTool{name: "noop"})
			spent := ralph.Spending{
				Tokens: c.tokens, Cost: c.cost, Estimated: c.cost != nil, TokensPartial: contains(c.more, "tokens"),
				CostPartial: contains(c.more, "cost"),
			}
			same(t, "told last", spent, j.turns[1].Spent)
			same(t, "all of it", spent, ralph.Spending{
				Tokens: got.Tokens, Cost: got.Cost, Estimated: got.CostEstimated, TokensPartial: got.TokensPartial,
				CostPartial: got.CostPartial,
			})
			shown := j.live[len(j.live)-2] // before the last call of a tool
			same(t, "shown last", ralph.Activity{Kind: "spent", Tokens: c.tokens, Cost: c.cost, Estimated: c.cost != nil}, shown)
		})
	}
}

func TestATurnIsTold(t *testing.T) {
	j := &judge{}
	reply := calling("noop", `{}`, "fly", `{}`)
	reply.Model, reply.Usage = "claude-sonnet-4-5", &model.Usage{Input: 1000, Output: 100}
	works(t, Options{Client: &fakeModel{steps: []step{replies(reply), submits()}}}, j.input(t), &fakeTool{name: "noop"})
	turn := j.turns[0]
	turn.Duration = 0
	tokens := &ralph.Tokens{Input: 1000, Output: 100}
	same(t, "turn", ralph.Turn{
		Number: 1, Model: "claude-sonnet-4-5", Calls: []string{"noop", "fly"}, End: "tool_calls", Tokens: tokens,
		Cost: ptr(0.0045), Estimated: true,
		Spent: ralph.Spending{Tokens: tokens, Cost: ptr(0.0045), Estimated: true},
	}, turn)
}

func TestTheOutcome(t *testing.T) {
	j := &judge{}
	reply := calling("noop", `{}`)
	reply.Message.Text = "First line.\nSecond line."
	got := works(
		t,
		Options{Client: &fakeModel{steps: []step{replies(reply), submits()}}, Model: "unused"},
		j.input(t),
		&fakeTool{name: "noop"},
	)
	same(t, "shown", []string{": First line.", ": Second line."}, j.activities("text"))
	steps := 2
	want := ralph.AgentOutcome{
		Agent: "worker", End: ralph.EndOK, Steps: &steps, Model: "claude-sonnet-4-5",
		Tools:  map[string]int{"noop": 1, submitCase: 1},
		Tokens: &ralph.Tokens{Input: 200, Output: 20}, Cost: ptr(0.0009), CostEstimated: true,
		Duration: got.Duration, OutputBytes: got.OutputBytes,
	}
	want.Said.Text = true
	same(t, "outcome", want, got)
}
