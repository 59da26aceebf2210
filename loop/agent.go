package loop

import (
	"fmt"

	"github.com/ralphloop/ralph"
)

// warnUnmetered says that a cap was not counted against, or not with everything: somebody was cut short, or does not tell.
func (l *Loop) warnUnmetered(what string, s ralph.Spending, end ralph.EndClass) {
	cost := l.policy.MaxCost > 0 && (s.Cost == nil || s.CostPartial)
	tokens := l.policy.MaxTokens > 0 && (s.Tokens == nil || s.TokensPartial)
	if !cost && !tokens || !end.Failed() && l.unmetered { // one that never tells is told of once
		return
	}
	l.unmetered = true
	known := map[bool]string{false: "not known", true: "known only in part"}
	if cost {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "cost_unknown", Text: fmt.Sprintf("what %s cost is %s, so more than --max-cost may be spent", what, known[s.Cost != nil])})
	}
	if tokens {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "tokens_unknown", Text: fmt.Sprintf("how many tokens %s took is %s, so more than --max-tokens may be spent", what, known[s.Tokens != nil])})
	}
}
