package assembly

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/worker"
)

// prices are those that the user gave, before those of the table.
func prices(s config.Settings) func(string) (model.Price, bool) {
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

// isPriced reports whether everything that a model may be asked for has a price.
func isPriced(s config.Settings, name string) bool {
	price, ok := prices(s)(name)
	if !ok {
		return false
	}
	_, ok = price.Cost(model.Usage{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1})
	return ok
}

// unpriced says that a model's cost cannot be reckoned, and how it could be.
func unpriced(s config.Settings, name string) string {
	what := "no price is known for " + name
	if _, some := prices(s)(name); some {
		what = "what it costs to read from a cache is not known for " + name
	}
	return fmt.Sprintf("--max-cost: %s: --set prices=%s=IN/OUT says it, in dollars for a million tokens", what, name)
}

// worstCase is what one task can take at most, as far as that can be said before it begins: every turn reads a full window.
func (p *Plan) worstCase() (ralph.Notice, bool) {
	first := p.agents[0]
	if first.by == nil {
		return ralph.Notice{}, false
	}
	price, priced := prices(p.Settings)(first.model)
	if first.by.provider == "scripted" && !priced { // nobody reads, and nobody pays
		return ralph.Notice{}, false
	}
	window, known := chat.WindowOf(first.model, prices(p.Settings))
	guessed := ""
	if !known {
		guessed = " (the worker's own bound, since the model's window is not known)"
	}
	turns := int64(cmp.Or(p.Settings.Worker.MaxTurnsPerTask, worker.DefaultMaxTurns))
	text := fmt.Sprintf("worst case for a task: %s turns that read %s tokens each%s, at most %s in all", grouped(turns), grouped(window), guessed, grouped(turns*window))
	if priced {
		text += fmt.Sprintf(", for about $%.2f at the price of input", price.Input*float64(turns*window)/1e6)
	}
	if p.evaluator != nil {
		calls := "one review for each case that passes the checks"
		if n := p.Settings.Evaluator.MaxCallsPerTask; n > 0 {
			calls = fmt.Sprintf("%d reviews", n)
		}
		text += ", and " + calls
	}
	return ralph.Notice{Code: "worst_case", Text: text}, true
}

// grouped writes a number that is not negative with a comma behind each three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
