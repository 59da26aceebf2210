package model

//go:generate go run ./internal/gen -api $MODELS_DEV_JSON -out prices.go

// Price is what one model costs, in US dollars for a million tokens of each kind.
type Price struct {
	Provider   string // the maker, as models.dev calls it
	Model      string
	Input      float64
	Output     float64  // thinking included
	CacheRead  *float64 // nil if none is known
	CacheWrite *float64 // nil if the maker has none: writing is then input like any other
	Context    int64    // tokens that fit into its window
}

// Usage counts tokens. Each token is counted once: input is what was neither read from a cache nor written to one. Output includes thinking.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
}

// Plausible reports whether these can be counts: a provider may tell anything.
func (u Usage) Plausible() bool { return min(u.Input, u.Output, u.CacheRead, u.CacheWrite) >= 0 }

const million = 1e6

// Cost reckons what the tokens cost at the base price. It is unknown if tokens were read from a cache at a price that is not known: agents read most of
// what they read from there, for something between a fiftieth and the whole of the price of input.
func (p Price) Cost(u Usage) (usd float64, known bool) {
	if p.Model == "" || !u.Plausible() {
		return 0, false
	}
	read, write := 0.0, p.Input
	switch {
	case p.CacheRead != nil:
		read = *p.CacheRead
	case u.CacheRead > 0:
		return 0, false
	}
	if p.CacheWrite != nil {
		write = *p.CacheWrite
	}
	sum := float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*read + float64(u.CacheWrite)*write
	return sum / million, true
}
