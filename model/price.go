package model

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:generate go run ./internal/gen -api $MODELS_DEV_JSON -out prices.json

// Price is what one model costs, in US dollars for a million tokens of each kind.
type Price struct {
	Provider   string   `json:"provider"` // the maker, as models.dev calls it
	Model      string   `json:"model"`
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`                // thinking included
	CacheRead  *float64 `json:"cache_read,omitempty"`  // nil if none is known
	CacheWrite *float64 `json:"cache_write,omitempty"` // nil if the maker has none: writing is then input like any other
	Context    int64    `json:"context"`               // tokens that fit into its window
}

//go:embed prices.json
var pricesFile []byte

// table is what is in prices.json, which model/internal/gen writes. It is read when somebody asks for a price.
var table = sync.OnceValue(func() (t struct {
	AsOf   string            `json:"as_of"`
	Prices []Price           `json:"prices"` // sorted by provider and model
	Newest map[string]string `json:"newest"` // what the short names of Claude Code stand for
}) {
	if err := json.Unmarshal(pricesFile, &t); err != nil {
		panic("read prices.json: " + err.Error()) // a test reads it
	}
	return t
})

// PricesAsOf is the day of the snapshot that the prices are from. Single rows may be younger.
func PricesAsOf() string { return table().AsOf }

// Usage counts tokens. Each token is counted once: input is what was neither read from a cache nor written to one. Output includes thinking.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
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
