package ralph

// forecastAfter is how many iterations it takes to say what the rest may cost.
const forecastAfter = 2

// tellForecast says once what the open tasks will take if they are like those before.
func (l *Loop) tellForecast(v Verdict) {
	h := l.state.History
	if v.Action == Stop || !v.Counted || h.Counted != forecastAfter {
		return
	}
	if text := Forecast(h); text != "" {
		l.emit(EvNotice, Notice{"forecast", text})
	}
}
