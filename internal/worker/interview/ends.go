package interview

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// interrupt ends the interview if ctx is done, and reports whether it is.
func (s *session) interrupt(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	end, what := ralph.EndInterrupted, "the interview was interrupted"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		end, what = ralph.EndTimeout, "the interview took too long"
	}
	s.end(Failed, end, "%s", what)
	return true
}

// fail ends the interview with what an error means.
func (c *conversation) fail(ctx context.Context, err error) {
	if c.interrupt(ctx) {
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
func (s *session) overspent(so ralph.Spending) string {
	o := s.options
	switch {
	case o.MaxTokens > 0 && so.Tokens != nil && so.Tokens.Total() >= o.MaxTokens:
		return fmt.Sprintf("no plan after %d tokens; the limit is %d", so.Tokens.Total(), o.MaxTokens)
	case o.MaxCost > 0 && so.Cost != nil && *so.Cost >= o.MaxCost:
		return fmt.Sprintf("no plan after spending $%.4f; the limit is $%.2f", *so.Cost, o.MaxCost)
	case !o.Unmetered && (o.MaxTokens > 0 && so.TokensPartial || o.MaxCost > 0 && so.CostPartial):
		return s.words.meter + " does not report what a call uses, so the limit cannot be enforced"
	}
	return ""
}
