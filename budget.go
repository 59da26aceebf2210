package ralph

import "fmt"

// Budget is what one iteration may use. Zero means no limit.
type Budget struct {
	Cost   float64 // in US dollars
	Tokens int64
	Turns  int
	// Reserves are the parts of the agent's subscription that it must leave.
	Reserves []Reserve
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
