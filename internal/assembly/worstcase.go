package assembly

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/worker"
)

// worstCase is what one task can take at most, as far as that can be said before it begins: every turn reads a full window.
func (p *Plan) worstCase() (ralph.Notice, bool) {
	first := p.agents[0]
	if first.by == nil {
		return ralph.Notice{}, false
	}
	price, priced := models.Prices(p.Settings)(first.model)
	if first.by.Provider == "scripted" && !priced { // nobody reads, and nobody pays
		return ralph.Notice{}, false
	}
	window, known := chat.WindowOf(first.model, models.Prices(p.Settings))
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
