package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// ParsePrice reads MODEL=INPUT/OUTPUT[/CACHE_READ[/CACHE_WRITE]], in dollars per million tokens. A
// missing cache price is the input price, so that an estimate is too high rather than too low. A
// model's name may contain slashes and colons, but no equals sign.
func ParsePrice(text string) (name string, price model.Price, ok bool) {
	name, figures, found := strings.Cut(text, "=")
	parts := strings.Split(figures, "/")
	if name = strings.TrimSpace(name); !found || name == "" || len(parts) < 2 || len(parts) > 4 {
		return "", model.Price{}, false
	}
	values := make([]float64, len(parts))
	for i, part := range parts {
		value, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
			return "", model.Price{}, false
		}
		values[i] = value
	}
	price = model.Price{
		Provider:   "yours",
		Model:      name,
		Input:      values[0],
		Output:     values[1],
		CacheRead:  &values[0],
		CacheWrite: &values[0],
	}
	if len(values) > 2 {
		price.CacheRead = &values[2]
	}
	if len(values) > 3 {
		price.CacheWrite = &values[3]
	}
	return name, price, true
}

func checkPrice(text string) *problem {
	if _, _, ok := ParsePrice(text); !ok {
		return &problem{
			msg:  quote(text) + " is not a price",
			hint: "write one such as my-model=0.5/2, or add the prices of cache reads and writes: my-model=0.5/2/0.05/0.6",
		}
	}
	return nil
}
