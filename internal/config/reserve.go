package config

import (
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
)

// escalation returns the rule of --escalate, or nil. The loop knows the agent's index.
func (a AgentSettings) escalation() *ralph.Escalation {
	if a.Escalate == "" {
		return nil
	}
	return &ralph.Escalation{After: a.EscalateAfter}
}

// reserves returns the parts of subscriptions that the run leaves to their owner.
func (a AgentSettings) reserves() []ralph.Reserve {
	reserves, _ := parseReserves(a.Reserve) // it was checked when it was read
	return reserves
}

// checkReserve accepts a list such as 5h=20%,week=30%.
func checkReserve(text string) *problem {
	_, p := parseReserves(text)
	return p
}

func parseReserves(list string) ([]ralph.Reserve, *problem) {
	const hint = "use WINDOW=PERCENT, such as 5h=20%,week=30%"
	if list == "" {
		return nil, nil
	}
	var reserves []ralph.Reserve
	for item := range strings.SplitSeq(list, ",") {
		window, percent, ok := strings.Cut(strings.TrimSpace(item), "=")
		part, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
		switch {
		case !ok || err != nil || window == "":
			return nil, &problem{msg: quote(item) + " is not a reserve", hint: hint}
		case !(part > 0 && part < 100):
			return nil, &problem{msg: quote(item) + ": the reserve must be more than 0% and less than 100%", hint: hint}
		}
		if window == "7d" {
			window = "week"
		}
		reserves = append(reserves, ralph.Reserve{Window: window, Part: part / 100})
	}
	return reserves, nil
}
