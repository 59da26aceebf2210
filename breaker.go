package ralph

import (
	"fmt"
	"time"

	"github.com/ralphloop/ralph/internal/text"
)

// BreakerState is where the breaker stands.
type BreakerState string

// The breaker is closed while work goes well, asks for a diagnosis at a threshold, opens when that brought nothing, and lets one probe
// through (half-open) after a cool-down or a resume.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerDiagnose BreakerState = "diagnose"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half_open"
)

// Breaker is the state of the breaker of one run.
type Breaker struct {
	State  BreakerState `json:"state"`
	Reason string       `json:"reason,omitempty"`
	Waits  int          `json:"waits,omitempty"` // cool-downs since it last was closed
}

const maxCooldown = Span(8 * time.Hour)

// moveBreaker is the breaker after the iteration under judgement.
func moveBreaker(b Breaker, p BreakerPolicy, h History) Breaker {
	if b.State == "" {
		b.State = BreakerClosed
	}
	if !counts(h.Now.Agent.End) {
		return b
	}
	if b.State != BreakerClosed {
		if h.Progress {
			return Breaker{State: BreakerClosed}
		}
		return Breaker{State: BreakerOpen, Reason: b.Reason, Waits: b.Waits}
	}
	reason := tripped(p, h)
	switch {
	case reason == "":
		return b
	case p.Diagnose:
		return Breaker{State: BreakerDiagnose, Reason: reason}
	}
	return Breaker{State: BreakerOpen, Reason: reason}
}

func tripped(p BreakerPolicy, h History) string {
	switch {
	case p.NoProgress > 0 && h.NoProgress >= p.NoProgress:
		return text.Count(h.NoProgress, "iteration") + " in a row without progress"
	case p.SameError > 0 && h.SameError >= p.SameError:
		return "the same error in " + text.Count(h.SameError, "iteration") + " in a row"
	case p.PermissionDenials > 0 && h.Denials >= p.PermissionDenials:
		return "work stopped by permission denials in " + text.Count(h.Denials, "iteration") + " in a row"
	case p.OutputDecline > 0 && !h.Progress && declined(h.Outputs, p.OutputDecline):
		return fmt.Sprintf("output fell by %d%% or more over %d iterations, and nothing changed", p.OutputDecline, declineWindow)
	}
	return ""
}

func declined(outputs []int64, percent int) bool {
	if len(outputs) < declineWindow {
		return false
	}
	first, last := outputs[0], outputs[len(outputs)-1]
	return first > 0 && last*100 <= first*int64(100-percent)
}
