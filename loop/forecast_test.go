package loop

import (
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

func TestForecast(t *testing.T) {
	three := []ralph.TaskState{
		{ID: "A", Status: ralph.TaskDone},
		{ID: "B", Status: ralph.TaskPending},
		{ID: "C", Status: ralph.TaskPending},
		{ID: "D", Status: ralph.TaskPending, Optional: true},
	}
	h := judge.History{
		Counted: 2, Tasks: three, Tokens: ralph.Tokens{Input: 900, Output: 100}, Cost: 0.5,
		Moment: ralph.Moment{Elapsed: ralph.Span(4 * time.Minute)},
	}
	same(
		t,
		"of two open tasks",
		"at this pace the 2 open tasks will take at least 4m and 1000 tokens, $0.50",
		judge.Forecast(h),
	)
	h.Cost = 0
	same(t, "without a price", "at this pace the 2 open tasks will take at least 4m and 1000 tokens", judge.Forecast(h))
	h.Tokens = ralph.Tokens{}
	same(t, "of an agent that tells nothing", "", judge.Forecast(h))
	h.Tokens, h.Tasks = ralph.Tokens{Input: 1}, three[:1]
	same(t, "with nothing open", "", judge.Forecast(h))
	bubble(t, "told once", func(t *testing.T) {
		tokens := ralph.Tokens{Input: 500}
		w := listed(
			t,
			newMemoryTasks(entry("A"), entry("B"), entry("C"), entry("D")),
			ends(ralph.AgentOutcome{End: ralph.EndOK, Tokens: &tokens}),
		)
		w.policy.MaxIterations = 4
		w.ends(ralph.MaxIterations, 4)
		told := 0
		for _, n := range payloads[ralph.Notice](w.log) {
			if n.Code == "forecast" {
				told++
				same(t, "text", "at this pace the 4 open tasks will take at least 22s and 2000 tokens", n.Text)
			}
		}
		same(t, "told", 1, told)
	})
}
