package loop

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// forecastAfter is how many iterations it takes to say what the rest may cost.
const forecastAfter = 2

// tellForecast says once what the open tasks will take if they are like those before.
func (l *Loop) tellForecast(v ralph.Verdict) {
	h := l.run.state.History
	if v.Action == ralph.Stop || !v.Counted || h.Counted != forecastAfter {
		return
	}
	if text := judge.Forecast(h); text != "" {
		l.run.notice("forecast", "%s", text)
	}
}
