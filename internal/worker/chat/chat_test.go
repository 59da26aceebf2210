package chat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

func TestWhatIsShown(t *testing.T) {
	long := strings.Repeat("x", shownSize+7)
	for name, c := range map[string]struct {
		deltas      []model.Delta
		text        string
		open, terse []ralph.Activity
	}{
		"line by line": {
			[]model.Delta{
				{Thought: "I lo"}, {Thought: "ok\x1b[2J.\nThen"}, {Thought: " I ask.\n\n"}, {Text: "Ah"}, {Tool: "glob"},
				{Text: "\nso."}, {Thought: "Well"},
			}, "Ah\nso.",
			[]ralph.Activity{
				{Kind: "thought", Detail: "I look[2J."},
				{Kind: "thought", Detail: "Then I ask."},
				{Kind: "text", Detail: "Ah"},
				{Kind: "text", Detail: "so."},
				{Kind: "thought", Detail: "Well"},
			},
			[]ralph.Activity{
				{Kind: "thought", Detail: "I look[2J."},
				{Kind: "thought", Detail: "Then I ask."},
				{Kind: "thought", Detail: "Well"},
				{Kind: "text", Detail: "Ah so."},
			},
		},
		"nothing in pieces": {
			nil,
			"Ah\nso.",
			[]ralph.Activity{{Kind: "text", Detail: "Ah so."}},
			[]ralph.Activity{{Kind: "text", Detail: "Ah so."}},
		},
		"only thoughts in pieces": {
			[]model.Delta{{Thought: "Hm."}},
			"So.",
			[]ralph.Activity{{Kind: "thought", Detail: "Hm."}, {Kind: "text", Detail: "So."}},
			[]ralph.Activity{{Kind: "thought", Detail: "Hm."}, {Kind: "text", Detail: "So."}},
		},
		"a long line": {
			[]model.Delta{{Text: long}, {Text: long}, {Text: "end"}},
			long + long + "end",
			[]ralph.Activity{{Kind: "text", Detail: long[:shownSize] + "…"}, {Kind: "text", Detail: "end"}},
			[]ralph.Activity{{Kind: "text", Detail: long[:shownSize] + "…"}},
		},
		"nothing": {[]model.Delta{{Text: " \n"}}, " \n", nil, nil},
	} {
		for terse, want := range map[bool][]ralph.Activity{false: c.open, true: c.terse} {
			s := begin(Options{Terse: terse}, func(_ model.Request, tell func(model.Delta)) (model.Reply, error) {
				for _, d := range c.deltas {
					tell(d)
				}
				return says(c.text), nil
			})
			if _, err := s.Ask(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			same(t, name, append(want, ralph.Activity{Kind: "spent"}), s.live)
		}
	}
}

func TestAReplyIsTheAssistants(t *testing.T) {
	cost := 0.003
	s := begin(Options{Model: "claude-sonnet-4-5", MaxOutput: 7}, replies(model.Reply{
		Message: model.Message{Text: "So."}, End: model.EndTurn, Usage: &model.Usage{Input: 1000},
		Model: "claude-sonnet-4-5\n20250929",
	}), replies(model.Reply{Message: model.Message{Text: "Hm."}, Usage: &model.Usage{Input: -1}}))
	got, err := s.Ask(t.Context(), "submit")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "reply", Reply{model.Reply{
		Message: model.Message{Role: model.Assistant, Text: "So."}, End: model.EndTurn, Usage: &model.Usage{Input: 1000},
		Model: "claude-sonnet-4-5\n20250929",
	}, &cost}, got)
	same(t, "answers", "claude-sonnet-4-5 20250929", s.Answers())
	same(t, "request", model.Request{
		Model: "claude-sonnet-4-5", MaxOutput: 7, MustCall: "submit", System: "Be brief.",
		Messages: []model.Message{{Role: model.User, Text: "Add two numbers."}},
		Tools:    s.tools,
	}, s.fake.asked[0])
	got, err = s.Ask(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "nonsense", Reply{Reply: model.Reply{Message: model.Message{Role: model.Assistant, Text: "Hm."}}}, got)
	same(t, "answers still", "claude-sonnet-4-5 20250929", s.Answers())
	same(
		t,
		"spent",
		ralph.Spending{
			Tokens: &ralph.Tokens{Input: 1000}, TokensPartial: true, Cost: &cost, Estimated: true, CostPartial: true,
		},
		s.Spent(),
	)
}

func TestAToolThatCannotBeDemandedIsLeftToTheModel(t *testing.T) {
	refused := &model.Fault{Kind: model.FaultRefused, Message: "tool_choice is not known"}
	var failed []error
	s := begin(
		Options{Failed: func(err error) { failed = append(failed, err) }},
		fails(refused),
		replies(says("So.")),
		fails(refused),
	)
	for _, c := range []struct {
		must  string
		err   error
		asked int
	}{{"submit", nil, 2}, {"submit", refused, 4}, {"", refused, 5}} {
		_, err := s.Ask(t.Context(), c.must)
		same(t, "error", c.err, err)
		same(t, "calls", c.asked, len(s.fake.asked))
	}
	same(t, "told", []error{refused, refused, refused, refused}, failed)
}

func TestWaitingIsShownAndPaidFor(t *testing.T) {
	cut := func(message string) step {
		return func(_ model.Request, tell func(model.Delta)) (model.Reply, error) {
			tell(model.Delta{Text: "I lo"})
			return model.Reply{}, &model.Fault{Kind: model.FaultProvider, Message: message, Usage: &model.Usage{Input: 10}}
		}
	}
	t.Run("until it is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			answer := says("I look.")
			answer.Usage = &model.Usage{Input: 5}
			s := begin(Options{}, cut("down\x1b[2J"), cut(strings.Repeat("far ", 100)+"down"), replies(answer))
			if _, err := s.Ask(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			retries := s.shown("retry")
			if len(retries) != 2 || !strings.HasPrefix(retries[0], "down[2J; again in 2s") ||
				!strings.Contains(retries[1], "far far…; again in ") {
				t.Errorf("shown: %q", retries)
			}
			same(
				t, "what was cut is shown, too, and no part of what follows", []string{"I lo", "I lo", "I look."}, s.shown("text"),
			)
			same(t, "tokens", &ralph.Tokens{Input: 25}, s.Spent().Tokens)
			same(t, "waiting", "", s.Waiting())
		})
	})
	t.Run("or the time is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			s := begin(Options{}, cut("down"))
			if _, err := s.Ask(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			same(t, "tokens", &ralph.Tokens{Input: int64(10 * len(s.fake.asked))}, s.Spent().Tokens)
			same(t, "waiting", "down", s.Waiting())
			if _, err := s.Ask(ctx, ""); !errors.Is(err, context.DeadlineExceeded) || len(s.fake.asked) != 2 {
				t.Error("it is asked though the time is over", err, len(s.fake.asked))
			}
		})
	})
	t.Run("or it is given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := begin(Options{}, cut("down"))
			if _, err := s.Ask(t.Context(), ""); err == nil {
				t.Error("there is no error")
			}
			same(t, "tokens", &ralph.Tokens{Input: int64(10 * len(s.fake.asked))}, s.Spent().Tokens)
			same(t, "told last", ralph.Activity{Kind: "spent", Tokens: s.Spent().Tokens}, s.live[len(s.live)-1])
		})
	})
}

// An answer that broke off was paid for as far as it came, but the usage is unknown.
func TestAnAnswerThatBrokeOffIsPaidFor(t *testing.T) {
	down := &model.Fault{Kind: model.FaultProvider, Message: "down"}
	refused := &model.Fault{Kind: model.FaultRefused, Message: "no"}
	after := func(err error, deltas ...model.Delta) step {
		return func(_ model.Request, tell func(model.Delta)) (model.Reply, error) {
			for _, d := range deltas {
				tell(d)
			}
			return model.Reply{}, err
		}
	}
	told := says("So.")
	told.Usage = &model.Usage{Input: 5}
	for name, c := range map[string]struct {
		steps   []step
		partial bool
	}{
		"text":                    {[]step{after(down, model.Delta{Text: "S"}), replies(told)}, true},
		"a thought":               {[]step{after(down, model.Delta{Thought: "H"}), replies(told)}, true},
		"a call":                  {[]step{after(down, model.Delta{Tool: "read"}), replies(told)}, true},
		"not the last":            {[]step{after(down, model.Delta{Text: "S"}), after(down), replies(told)}, true},
		"nothing had come":        {[]step{after(down), replies(told)}, false},
		"nor did anything follow": {[]step{after(refused, model.Delta{Text: "S"})}, true},
		"refused at once":         {[]step{after(refused)}, false},
		"cut by the time":         {[]step{after(context.Canceled, model.Delta{Text: "S"})}, true},
		"all is well":             {[]step{replies(told)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := begin(
					Options{
						Price: func(string) (model.Price, bool) { return model.Price{Model: "priced", Input: 1}, true }, Model: "priced",
					}, c.steps...,
				)
				_, _ = s.Ask(t.Context(), "") // the usage is reported with or without a reply
				same(t, "tokens", c.partial, s.Spent().TokensPartial)
				same(t, "cost", c.partial, s.Spent().CostPartial)
			})
		})
	}
}

func TestWhatIsNotKnownOfTheBill(t *testing.T) {
	tokens := func(n int64) *ralph.Tokens { return &ralph.Tokens{Input: n} }
	price := func(name string) (model.Price, bool) { return model.Price{Model: name, Input: 1}, name == "priced" }
	told := model.Reply{Message: model.Message{Text: "So."}, Usage: &model.Usage{Input: 1e6}}
	for name, c := range map[string]struct {
		model string
		steps []step
		want  ralph.Spending
	}{
		"everything is": {
			"priced", []step{replies(told), replies(told)}, ralph.Spending{Tokens: tokens(2e6), Cost: new(2.0), Estimated: true},
		},
		"the tokens of one": {
			"priced",
			[]step{replies(told), replies(says("So."))},
			ralph.Spending{Tokens: tokens(1e6), TokensPartial: true, Cost: new(1.0), Estimated: true, CostPartial: true},
		},
		"nothing came of one": {
			"priced",
			[]step{replies(told), replies(says(" \n"))},
			ralph.Spending{Tokens: tokens(1e6), Cost: new(1.0), Estimated: true},
		},
		"no price": {
			"free", []step{replies(told), replies(told)}, ralph.Spending{Tokens: tokens(2e6), CostPartial: true},
		},
		"nothing at all": {"priced", []step{replies(says("So."))}, ralph.Spending{TokensPartial: true, CostPartial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(Options{Model: c.model, Price: price}, c.steps...)
			for range 2 {
				if _, err := s.Ask(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			same(t, "spent", c.want, s.Spent())
		})
	}
}
