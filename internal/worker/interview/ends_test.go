package interview

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

// bulky is a reading tool that finds a lot.
type bulky struct{ size int }

func (bulky) Spec() model.Tool {
	return model.Tool{Name: "bulky", Description: "Reads.", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (b bulky) Run(context.Context, json.RawMessage) tools.Output {
	return tools.Output{Text: strings.Repeat("x", b.size)}
}

// TestWhatAPersonSaidIsNeverDropped: what was read can be read again.
func TestWhatAPersonSaidIsNeverDropped(t *testing.T) {
	answer := strings.TrimSpace(strings.Repeat("this ", 2000))
	tooLong := faulty(model.Fault{Kind: model.FaultOverflow, Message: "too long", Usage: &model.Usage{Input: 7}})
	looks := calls(t, "bulky", `{}`)
	s := &script{
		turns: []turn{
			asks(t, "Which one?"), calls(t, writePlan, `{"overview":"x"}`), looks, looks, looks, tooLong,
			calls(t, writePlan, somePlan()),
		},
	}
	o := Options{Client: s, Brief: "b", Lint: anything, Tools: []tools.Tool{bulky{9000}}, Ask: replies(answer)}
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	messages := s.asked[6].Messages
	diff(t, "The person answers: "+answer, messages[2].Results[0].Text)
	diff(t, "not accepted: field tasks is missing", messages[4].Results[0].Text)
	diff(t, "[output dropped: 9000 bytes; make the call again if you need it]", messages[6].Results[0].Text)
	diff(t, 9000, len(s.asked[5].Messages[6].Results[0].Text)) // as it was sent before
	if got.Tokens.Input%1000 != 7 {
		t.Error("what was cut short is paid for, too")
	}
}

func TestNothingToDrop(t *testing.T) {
	s := &script{turns: []turn{faulty(model.Fault{Kind: model.FaultOverflow, Message: "too long"})}}
	got, err := Run(t.Context(), Options{Client: s, Brief: "b", Lint: anything})
	must(t, err)
	diff(t, ralph.EndFailed, got.End)
	diff(t, 1, len(s.asked))
}

func TestWhatIsSpent(t *testing.T) {
	used := func(u *model.Usage, name string) turn {
		return func(context.Context, func(model.Delta)) (model.Reply, error) {
			return model.Reply{Message: model.Message{Role: model.Assistant, Text: "Well."}, Usage: u, Model: name}, nil
		}
	}
	cost := func(usd float64) *float64 { return &usd }
	a, b := &model.Usage{Input: 1e6, CacheWrite: 1e6}, &model.Usage{Output: 1e6}
	type figures struct {
		Tokens *ralph.Tokens
		Cost   *float64
		Rough  bool
		Model  string
		More   string // of what more was spent than is known
	}
	lost := func(context.Context, func(model.Delta)) (model.Reply, error) {
		return model.Reply{Message: model.Message{Text: "Well."}, Usage: b, Lost: &model.Usage{Output: 1e6}}, nil
	}
	nonsense := &model.Usage{Input: -5, Output: 1e6}
	for name, c := range map[string]struct {
		turns []turn
		price func(string) (model.Price, bool)
		want  figures
	}{
		"all known": {
			[]turn{used(a, "m-1"), used(b, ""), used(b, "m-2")},
			costs,
			figures{&ralph.Tokens{Input: 1e6, CacheWrite: 1e6, Output: 2e6}, cost(22), true, "m-2", ""},
		},
		"one reply untold": {
			[]turn{used(a, ""), used(nil, ""), used(b, "")},
			costs,
			figures{&ralph.Tokens{Input: 1e6, CacheWrite: 1e6, Output: 1e6}, cost(12), true, "m", "tokens, cost"},
		},
		"lost before": {[]turn{lost}, costs, figures{&ralph.Tokens{Output: 6e6}, cost(60), true, "m", ""}},
		"nonsense": {
			[]turn{used(b, ""), used(nonsense, ""), used(b, "")},
			costs,
			figures{&ralph.Tokens{Output: 2e6}, cost(20), true, "m", "tokens, cost"},
		},
		"nothing told": {[]turn{used(nil, "")}, costs, figures{nil, nil, false, "m", "tokens, cost"}},
		"no price": {
			[]turn{used(b, "")},
			func(string) (model.Price, bool) { return model.Price{}, false },
			figures{&ralph.Tokens{Output: 3e6}, nil, false, "m", "cost"},
		},
		"price by the asked": {
			[]turn{used(b, "m-0001")},
			func(n string) (model.Price, bool) { return cheap, n == "m" },
			figures{&ralph.Tokens{Output: 3e6}, cost(30), true, "m-0001", ""},
		},
		"cached at no price": {
			[]turn{used(b, ""), used(&model.Usage{CacheRead: 5}, ""), used(b, "")},
			costs,
			figures{&ralph.Tokens{Output: 2e6, CacheRead: 5}, cost(20), true, "m", "cost"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Client: &script{turns: c.turns}, Model: "m", Brief: "b", Lint: anything, Price: c.price}
			got, err := Run(t.Context(), o)
			must(t, err)
			more := strings.TrimPrefix(
				map[bool]string{true: "tokens"}[got.TokensPartial]+map[bool]string{true: ", cost"}[got.CostPartial], ", ",
			)
			if d := cmp.Diff(c.want, figures{got.Tokens, got.Cost, got.CostEstimated, got.Model, more}, closeCost); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestFaultsThatPassAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told int
		for name, patience := range map[string]func(*script) model.Client{
			"plain":   func(s *script) model.Client { return s },
			"patient": func(s *script) model.Client { return &model.Retrier{Client: s, OnPause: func(model.Pause) { told++ }} },
		} {
			cut := faulty(model.Fault{Kind: model.FaultProvider, Message: "cut\x1b[2J", Usage: &model.Usage{Input: 5}})
			s := &script{turns: []turn{cut, cut, calls(t, writePlan, somePlan())}}
			var seen []string
			o := Options{Client: patience(s), Brief: "b", Lint: anything, Live: func(a ralph.Activity) {
				if a.Kind == "retry" {
					seen = append(seen, a.Detail)
				}
			}}
			got, err := Run(t.Context(), o)
			must(t, err)
			diff(t, Written, got.Status)
			diff(t, 1, got.Turns)
			diff(t, int64(1010), got.Tokens.Input)
			if len(seen) != 2 || !strings.HasPrefix(seen[0], "cut[2J; again in 2s") {
				t.Errorf("%s: %q", name, seen)
			}
		}
		diff(t, 2, told)
	})
}

func TestCaps(t *testing.T) {
	untold := func(context.Context, func(model.Delta)) (model.Reply, error) {
		return model.Reply{Message: model.Message{Role: model.Assistant, Text: "hm"}, End: model.EndTurn}, nil
	}
	looks := calls(t, "glob", map[string]string{"pattern": "*"})
	for name, c := range map[string]struct {
		turns []turn
		set   func(*Options)
		want  Status
		asked int
		why   string
	}{
		"tokens": {
			[]turn{looks}, func(o *Options) { o.MaxTokens = 2000 }, OverBudget, 2,
			"no plan after 2200 tokens; the limit is 2000",
		},
		"money": {
			[]turn{looks}, func(o *Options) { o.MaxCost = 0.01 }, OverBudget, 4,
			"no plan after spending $0.0120; the limit is $0.01",
		},
		"a plan that crosses it": {
			[]turn{calls(t, writePlan, somePlan())}, func(o *Options) { o.MaxTokens = 1 }, Written, 1, "",
		},
		"nobody counts tokens": {
			[]turn{untold}, func(o *Options) { o.MaxTokens = 2000 }, OverBudget, 1,
			"the provider does not report what a call uses, so the limit cannot be enforced",
		},
		"nobody knows the price": {
			[]turn{looks}, func(o *Options) { o.MaxCost = 1; o.Price = noPrice }, OverBudget, 1,
			"the provider does not report what a call uses, so the limit cannot be enforced",
		},
		"nobody counts, and may": {
			[]turn{untold}, func(o *Options) { o.MaxTokens, o.Unmetered = 2000, true }, NoPlan, 3,
			"the model replied 3 times in a row without calling a tool",
		},
		"nobody counts, uncapped": {
			[]turn{untold}, func(*Options) {}, NoPlan, 3, "the model replied 3 times in a row without calling a tool",
		},
		"a part reaches the cap": {
			[]turn{untold, looks}, func(o *Options) { o.MaxCost, o.Unmetered = 0.01, true }, OverBudget, 5,
			"no plan after spending $0.0120; the limit is $0.01",
		},
		"far away from either cap": {[]turn{looks, calls(t, writePlan, somePlan())}, func(o *Options) {
			o.MaxTokens, o.MaxCost = 9000, 9
		}, Written, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, s := newRoom(t).with(c.turns...)
			c.set(&o)
			out, err := Run(t.Context(), o)
			must(t, err)
			diff(t, []any{c.want, c.asked, c.why}, []any{out.Status, len(s.asked), out.Error})
		})
	}
}

func noPrice(string) (model.Price, bool) { return model.Price{}, false }
