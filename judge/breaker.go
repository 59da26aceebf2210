package judge

import (
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// phraseWindow is how many iterations the status gate looks at, including the current one.
const phraseWindow = 5

// declineWindow is how many iterations the breaker compares for declining output.
const declineWindow = 3

const maxCooldown = ralph.Span(8 * time.Hour)

// moveBreaker returns the state of the breaker after the judged iteration.
func moveBreaker(b ralph.Breaker, p ralph.Policy, h History) ralph.Breaker {
	if b.State == "" {
		b.State = ralph.BreakerClosed
	}
	if !ralph.CountsAsIteration(h.Now.Agent.End) {
		return b
	}
	if b.State != ralph.BreakerClosed {
		if p.Rules > 0 && h.Better || p.Rules == 0 && h.Progress {
			return ralph.Breaker{State: ralph.BreakerClosed}
		}
		return ralph.Breaker{State: ralph.BreakerOpen, Reason: b.Reason, Waits: b.Waits}
	}
	reason := tripReason(p.Breaker, h)
	switch {
	case reason == "":
		return b
	case p.Breaker.Diagnose:
		return ralph.Breaker{State: ralph.BreakerDiagnose, Reason: reason}
	}
	return ralph.Breaker{State: ralph.BreakerOpen, Reason: reason}
}

// tripReason returns which threshold was reached, or "".
func tripReason(p ralph.BreakerPolicy, h History) string {
	switch {
	case p.NoProgress > 0 && h.NoProgress >= p.NoProgress:
		return text.Count(h.NoProgress, "iteration") + " in a row without progress"
	case p.SameError > 0 && h.SameError >= p.SameError:
		return "the same error in " + text.Count(h.SameError, "iteration") + " in a row"
	case p.PermissionDenials > 0 && h.Denials >= p.PermissionDenials:
		return "work stopped by permission denials in " + text.Count(h.Denials, "iteration") + " in a row"
	case p.OutputDecline > 0 && !h.Progress && outputDeclined(h.Outputs, p.OutputDecline):
		return fmt.Sprintf("output fell by %d%% or more over %d iterations, and nothing changed",
			p.OutputDecline, declineWindow)
	}
	return ""
}

func outputDeclined(outputs []int64, percent int) bool {
	if len(outputs) < declineWindow {
		return false
	}
	first, last := outputs[0], outputs[len(outputs)-1]
	return first > 0 && last*100 <= first*int64(100-percent)
}
