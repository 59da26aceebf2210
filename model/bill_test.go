package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/model"
)

func TestWhatABillSays(t *testing.T) {
	read := 0.1
	prices := map[string]model.Price{
		"asked":  {Model: "asked", Input: 1, Output: 10},
		"fresh":  {Model: "fresh", Input: 2, Output: 20, CacheRead: &read},
		"free":   {Model: "free"},
		"a-mite": {Model: "a-mite", Input: 0.4}, // one token costs less than the precision
	}
	says := func(u *model.Usage, name string) model.Reply {
		return model.Reply{Message: model.Message{Text: "So."}, Usage: u, Model: name}
	}
	in, out, cached := &model.Usage{Input: 1e6}, &model.Usage{Output: 1e5}, &model.Usage{CacheRead: 1e6}
	nonsense := &model.Usage{Input: 1e6, Output: -1}
	var mites []model.Reply
	for range 5 {
		mites = append(mites, says(&model.Usage{Input: 1}, "a-mite"))
	}
	for _, c := range []struct {
		name    string
		asked   string
		replies []model.Reply
		costs   []*float64
		want    model.Sum
	}{
		{"nothing", "asked", nil, nil, model.Sum{}},
		{"all is known", "asked", []model.Reply{says(in, ""), says(out, "")}, []*float64{new(1.0), new(1.0)},
			model.Sum{Usage: &model.Usage{Input: 1e6, Output: 1e5}, Estimated: true, Cost: new(2.0)}},
		{"by the model that answers", "asked", []model.Reply{says(in, "fresh")}, []*float64{new(2.0)},
			model.Sum{Usage: in, Estimated: true, Cost: new(2.0)}},
		{"or else by the one that was asked for", "asked", []model.Reply{says(in, "asked-0001")}, []*float64{new(1.0)},
			model.Sum{Usage: in, Estimated: true, Cost: new(1.0)}},
		{"which may know more", "fresh", []model.Reply{says(cached, "asked")}, []*float64{new(0.1)},
			model.Sum{Usage: cached, Estimated: true, Cost: new(0.1)}},
		{"nobody's price", "none", []model.Reply{says(in, ""), says(in, "other")}, []*float64{nil, nil},
			model.Sum{Usage: &model.Usage{Input: 2e6}, Unpriced: true}},
		{"a part without a price", "asked", []model.Reply{says(in, ""), says(cached, "")}, []*float64{new(1.0), nil},
			model.Sum{Usage: &model.Usage{Input: 1e6, CacheRead: 1e6}, Estimated: true, Cost: new(1.0), Unpriced: true}},
		{"the first part without a price", "asked", []model.Reply{says(cached, ""), says(in, "")}, []*float64{nil, new(1.0)},
			model.Sum{Usage: &model.Usage{Input: 1e6, CacheRead: 1e6}, Estimated: true, Cost: new(1.0), Unpriced: true}},
		{"a part that is not told", "asked", []model.Reply{says(in, ""), says(nil, "")}, []*float64{new(1.0), nil},
			model.Sum{Usage: in, Estimated: true, Cost: new(1.0), MissingUsage: true}},
		{"a part that is nonsense", "asked", []model.Reply{says(nonsense, ""), says(in, "")}, []*float64{nil, new(1.0)},
			model.Sum{Usage: in, Estimated: true, Cost: new(1.0), MissingUsage: true}},
		{"nothing is told", "asked", []model.Reply{says(nil, "")}, []*float64{nil}, model.Sum{MissingUsage: true}},
		{"neither is known of all", "asked", []model.Reply{says(nil, ""), says(cached, "")}, []*float64{nil, nil},
			model.Sum{Usage: cached, MissingUsage: true, Unpriced: true}},
		{"an empty reply took nothing", "asked", []model.Reply{{}, {Message: model.Message{Text: " \n"}}},
			[]*float64{nil, nil}, model.Sum{}},
		{"or what it says", "asked", []model.Reply{{Usage: in}}, []*float64{new(1.0)},
			model.Sum{Usage: in, Estimated: true, Cost: new(1.0)}},
		{"a thought is no empty reply", "asked",
			[]model.Reply{{Message: model.Message{Thought: []json.RawMessage{[]byte(`{}`)}}}}, []*float64{nil},
			model.Sum{MissingUsage: true}},
		{"what was lost is paid, and is no part of the reply", "asked",
			[]model.Reply{{Message: model.Message{Text: "So."}, Usage: in, Lost: out}}, []*float64{new(1.0)},
			model.Sum{Usage: &model.Usage{Input: 1e6, Output: 1e5}, Estimated: true, Cost: new(2.0)}},
		{"what was lost before one that is not told", "asked", []model.Reply{{Message: model.Message{Text: "So."}, Lost: in}},
			[]*float64{nil}, model.Sum{Usage: in, Estimated: true, Cost: new(1.0), MissingUsage: true}},
		{"nonsense that was lost", "asked", []model.Reply{{Message: model.Message{Text: "So."}, Usage: in, Lost: nonsense}},
			[]*float64{new(1.0)}, model.Sum{Usage: in, Estimated: true, Cost: new(1.0)}},
		{"free is known", "free", []model.Reply{says(in, "")}, []*float64{new(0.0)},
			model.Sum{Usage: in, Estimated: true, Cost: new(0.0)}},
		{"sums are rounded, not their parts", "asked", mites, []*float64{new(0.0), new(0.0), new(0.0), new(0.0), new(0.0)},
			model.Sum{Usage: &model.Usage{Input: 5}, Estimated: true, Cost: new(0.000002)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := model.Bill{Price: func(name string) (model.Price, bool) { p, ok := prices[name]; return p, ok }}
			var costs []*float64
			for _, r := range c.replies {
				costs = append(costs, b.Add(r, c.asked))
			}
			if diff := cmp.Diff(c.costs, costs); diff != "" {
				t.Errorf("of each reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, b.Sum()); diff != "" {
				t.Errorf("of all (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABillOfTokensAlone(t *testing.T) {
	var b model.Bill // with the built-in prices
	price, _ := model.PriceOf("claude-sonnet-4-5")
	if got := b.Count(&model.Usage{Input: 1e6}, "", "nobody-knows",
		"claude-sonnet-4-5"); got == nil || *got != price.Input {
		t.Errorf("got %v", got)
	}
	for name, u := range map[string]*model.Usage{"none": nil, "nonsense": {Input: -1}} {
		if got := b.Count(u, "claude-sonnet-4-5"); got != nil {
			t.Errorf("%s: got %v", name, *got)
		}
	}
	before := b.Sum()
	b.Count(&model.Usage{Output: 3}, "nobody-knows")
	want := model.Sum{Usage: &model.Usage{Input: 1e6}, Estimated: true, Cost: &price.Input}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("a sum that was told is changed later (-want +got):\n%s", diff)
	}
	want.Usage, want.Unpriced = &model.Usage{Input: 1e6, Output: 3}, true
	if diff := cmp.Diff(want,
		b.Sum()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestABillWithSomethingThatNobodyTold(t *testing.T) {
	var b model.Bill
	b.AddUnknown()
	if diff := cmp.Diff(model.Sum{MissingUsage: true}, b.Sum()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
