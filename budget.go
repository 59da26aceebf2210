package ralph

import "fmt"

// Budget is what one iteration, or another call of an agent, may use. Zero means no limit.
type Budget struct {
	Cost   float64 // in US dollars
	Tokens int64
	Turns  int
	// Reserves are the parts of the agent's subscription that it must leave.
	Reserves []Reserve
}

// leastCost is a budget that anything exceeds: 0 would mean that there is no limit.
const leastCost = 0.000001

// Left returns what is left of a budget. It leaves the least possible of a limit that is used up. Figures that are not
// known use nothing.
func (b Budget) Left(used Spending) Budget {
	if b.Cost > 0 && used.Cost != nil {
		b.Cost = max(b.Cost-*used.Cost, leastCost)
	}
	if b.Tokens > 0 && used.Tokens != nil {
		b.Tokens = max(b.Tokens-used.Tokens.Total(), 1)
	}
	return b
}

// None reports whether there is no limit.
func (b Budget) None() bool {
	return b.Cost == 0 && b.Tokens == 0 && b.Turns == 0 && len(b.Reserves) == 0
}

// Exceeded says which limit the figures of an iteration are beyond, in words that complete "stopped at";
// "" if they are within all of them. Figures that are not known exceed nothing.
func (b Budget) Exceeded(cost *float64, tokens *Tokens, turns *int) string {
	switch {
	case b.Cost > 0 && cost != nil && *cost >= b.Cost:
		return fmt.Sprintf("its cost limit: $%.2f of $%.2f", *cost, b.Cost)
	case b.Tokens > 0 && tokens != nil && tokens.Total() >= b.Tokens:
		return fmt.Sprintf("its token limit: %d of %d", tokens.Total(), b.Tokens)
	case b.Turns > 0 && turns != nil && *turns > b.Turns: // the last one may end
		return fmt.Sprintf("its turn limit (%d)", b.Turns)
	}
	return ""
}
