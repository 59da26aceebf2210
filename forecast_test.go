package ralph

import (
	"testing"
	"time"
)

func TestForecast(t *testing.T) {
	three := []TaskState{{ID: "A", Status: TaskDone}, {ID: "B", Status: TaskPending}, {ID: "C", Status: TaskPending}, {ID: "D", Status: TaskPending, Optional: true}}
	h := History{Counted: 2, Tasks: three, Tokens: Tokens{Input: 900, Output: 100}, Cost: 0.5, Moment: Moment{Elapsed: Span(4 * time.Minute)}}
	same(t, "of two open tasks", "at this pace the 2 open tasks will take at least 4m and 1000 tokens, $0.50", Forecast(h))
	h.Cost = 0
	same(t, "without a price", "at this pace the 2 open tasks will take at least 4m and 1000 tokens", Forecast(h))
	h.Tokens = Tokens{}
	same(t, "of an agent that tells nothing", "", Forecast(h))
	h.Tokens, h.Tasks = Tokens{Input: 1}, three[:1]
	same(t, "with nothing open", "", Forecast(h))
	bubble(t, "told once", func(t *testing.T) {
		tokens := Tokens{Input: 500}
		w := listed(t, newBook(entry("A"), entry("B"), entry("C"), entry("D")), ends(AgentOutcome{End: EndOK, Tokens: &tokens}))
		w.policy.MaxIterations = 4
		w.ends(MaxIterations, 4)
		told := 0
		for _, n := range payloads[Notice](w.log) {
			if n.Code == "forecast" {
				told++
				same(t, "text", "at this pace the 4 open tasks will take at least 22s and 2000 tokens", n.Text)
			}
		}
		same(t, "told", 1, told)
	})
}
