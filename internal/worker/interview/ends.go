package interview

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// fail ends the interview with what an error means.
func (c *conversation) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		end, what := ralph.EndInterrupted, "the interview was interrupted"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			end, what = ralph.EndTimeout, "the interview took too long"
		}
		c.end(Failed, end, "%s", what)
		return
	}
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok {
		c.end(Failed, ralph.EndFailed, "the model cannot be asked: %s", err)
		return
	}
	ends := map[model.FaultKind]ralph.EndClass{
		model.FaultAuth: ralph.EndAuth, model.FaultLimit: ralph.EndLimit, model.FaultProvider: ralph.EndProvider,
	}
	end := cmp.Or(ends[fault.Kind], ralph.EndFailed)
	c.end(Failed, end, "%s", fault)
	switch end {
	case ralph.EndLimit:
		c.out.RetryAfter = ralph.Span(fault.RetryAfter)
	case ralph.EndAuth:
		if c.options.KeyEnv != "" {
			c.out.Hint = fmt.Sprintf("set %s to a valid key", c.options.KeyEnv)
		}
	}
}

// overspent returns why no further call is allowed, or "". The cost of a finished plan does not
// matter.
func (c *conversation) overspent() string {
	o, s := c.options, c.chat.Spent()
	switch {
	case o.MaxTokens > 0 && s.Tokens != nil && s.Tokens.Total() >= o.MaxTokens:
		return fmt.Sprintf("no plan after %d tokens; the limit is %d", s.Tokens.Total(), o.MaxTokens)
	case o.MaxCost > 0 && s.Cost != nil && *s.Cost >= o.MaxCost:
		return fmt.Sprintf("no plan after spending $%.4f; the limit is $%.2f", *s.Cost, o.MaxCost)
	case !o.Unmetered && (o.MaxTokens > 0 && s.TokensPartial || o.MaxCost > 0 && s.CostPartial):
		return "the provider does not report what a call uses, so the limit cannot be enforced"
	}
	return ""
}
