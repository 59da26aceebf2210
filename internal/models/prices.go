package models

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/model"
)

// Prices returns a lookup of prices: those that the user set, then those of the table.
func Prices(s config.Settings) func(string) (model.Price, bool) {
	own := map[string]model.Price{}
	for _, text := range s.Prices {
		if name, price, ok := config.ParsePrice(text); ok {
			own[strings.ToLower(name)] = price
		}
	}
	return func(name string) (model.Price, bool) {
		if price, ok := own[strings.ToLower(name)]; ok {
			if known, ok := model.PriceOf(name); ok && price.Context == 0 {
				price.Context = known.Context
			}
			return price, true
		}
		return model.PriceOf(name)
	}
}

// IsPriced reports whether all kinds of tokens of a model have a price.
func IsPriced(s config.Settings, name string) bool {
	price, ok := Prices(s)(name)
	if !ok {
		return false
	}
	_, ok = price.Cost(model.Usage{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1})
	return ok
}

// Unpriced says that a model's cost cannot be estimated, and how to set its price.
func Unpriced(s config.Settings, name string) string {
	what := "the price is unknown for " + name
	if _, some := Prices(s)(name); some {
		what = "the cache-read price is unknown for " + name
	}
	return fmt.Sprintf("--max-cost: %s: --set prices=%s=IN/OUT sets it, in dollars per million tokens", what, name)
}
