package model

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:generate go run ./internal/gen -api $MODELS_DEV_JSON -out prices.json

// Price is the price of one model, in US dollars per million tokens of each kind.
type Price struct {
	Provider   string   `json:"provider"` // the maker, as models.dev calls it
	Model      string   `json:"model"`
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`                // includes thinking
	CacheRead  *float64 `json:"cache_read,omitempty"`  // nil if unknown
	CacheWrite *float64 `json:"cache_write,omitempty"` // nil: writes cost the same as input
	Context    int64    `json:"context"`               // tokens that fit into its context
}

//go:embed prices.json
var pricesFile []byte

// table is the content of prices.json, which internal/gen writes. It is parsed when first needed.
var table = sync.OnceValue(func() (t struct {
	AsOf   string            `json:"as_of"`
	Prices []Price           `json:"prices"` // sorted by provider and model
	Newest map[string]string `json:"newest"` // the models behind the short names of Claude Code
}) {
	if err := json.Unmarshal(pricesFile, &t); err != nil {
		panic("read prices.json: " + err.Error()) // a test reads it
	}
	return t
})

// PricesAsOf returns the day of the snapshot that the prices are from. Single rows may be newer.
func PricesAsOf() string { return table().AsOf }

// Usage counts tokens, each one once: Input excludes tokens read from a cache or written to one.
// Output includes thinking.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// Plausible reports whether the counts can be right: a provider may send anything.
func (u Usage) Plausible() bool { return min(u.Input, u.Output, u.CacheRead, u.CacheWrite) >= 0 }

const million = 1e6

// Cost estimates the cost of the tokens at the base price. It is unknown if tokens were read from a
// cache and the price for that is unknown: agents read most of their input from a cache, at a price
// between a fiftieth and all of the input price.
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
