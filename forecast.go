package ralph

import (
	"fmt"
	"strings"
)

// forecastAfter is how many iterations it takes to say what the rest may cost.
const forecastAfter = 2

// tellForecast says once what the open tasks will take if they are like those before.
func (l *Loop) tellForecast(v Verdict) {
	h := l.state.History
	if v.Action == Stop || !v.Counted || h.Counted != forecastAfter {
		return
	}
	if text := forecast(h); text != "" {
		l.emit(EvNotice, Notice{"forecast", text})
	}
}

// forecast reckons with what an iteration took on average, and with one iteration for each open task: rather too little than too much.
func forecast(h History) string {
	open := len(openTasks(h.Tasks))
	if open == 0 || h.Counted == 0 || h.Tokens.Total() == 0 && h.Cost == 0 {
		return ""
	}
	var parts []string
	if n := h.Tokens.Total(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", n/int64(h.Counted)*int64(open)))
	}
	if h.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", h.Cost/float64(h.Counted)*float64(open)))
	}
	return fmt.Sprintf("at this pace the %s will take at least %s and %s", plural(open, "open task"), round(h.Moment.Elapsed/Span(h.Counted)*Span(open)), strings.Join(parts, ", "))
}
