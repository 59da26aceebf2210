package goal

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// State is everything that the middleware knows about a session. Its zero value is a session without a
// goal. Store it as JSON to continue the session in another process. The first eight fields have the names
// of other implementations of the Ralph Loop middleware.
type State struct {
	Iteration            int              `json:"ralphLoopIteration"` // continuations so far
	OriginalHumanContent Content          `json:"ralphLoopOriginalHumanContent,omitempty"`
	OriginalTaskText     string           `json:"ralphLoopOriginalTaskText,omitempty"`
	Status               judge.GoalStatus `json:"ralphLoopStatus,omitempty"`
	RunID                string           `json:"ralphLoopRunId,omitempty"`
	RuntimeSummary       string           `json:"ralphLoopRuntimeSummary,omitempty"`
	LastVerifier         *Evidence        `json:"ralphLoopLastVerifier,omitempty"`
	StopReason           judge.GoalReason `json:"ralphLoopStopReason,omitempty"` // why it stopped or continued

	Evidence     []Evidence        `json:"ralphLoopEvidence,omitempty"` // the newest call of each verifier, oldest first
	Pending      *PendingCalls     `json:"ralphLoopPendingCalls,omitempty"`
	Blocker      judge.GoalBlocker `json:"ralphLoopBlocker,omitzero"`
	Continuation string            `json:"ralphLoopContinuation,omitempty"` // the prompt of the current iteration
}

// Evidence is one call of a verifier.
type Evidence struct {
	ToolName   string               `json:"toolName"`
	ToolCallID string               `json:"toolCallId,omitempty"`
	Command    string               `json:"command,omitempty"`
	Status     ralph.EvidenceStatus `json:"status"`
	Content    string               `json:"content"`
	ObservedAt time.Time            `json:"observedAt"`

	Verifier     string `json:"verifier"` // the declared command, or the name of the tool
	Iteration    int    `json:"iteration"`
	FailedBefore bool   `json:"failedBefore,omitempty"` // an earlier call of the same verifier in this run failed
	Tree         string `json:"tree,omitempty"`         // the workspace after the call; "" without Config.Tree
	// Stale reports that the same call, or another one of the same batch, may have changed the workspace after the
	// verifier.
	Stale bool `json:"stale,omitempty"`
	// Moved is a file or folder that changed while the verifier ran, also if it changed back; "" if none did.
	Moved string `json:"moved,omitempty"`
}

func (e Evidence) failed() bool { return e.Status == ralph.EvidenceFail }

// PendingCalls are tool calls whose results the middleware has not seen.
type PendingCalls struct {
	Calls []ToolCall `json:"calls"`
	Tree  string     `json:"tree,omitempty"` // the workspace before the calls
	// Stamp is the workspace with the times of its changes, if one of the calls is a verifier.
	Stamp string `json:"stamp,omitempty"`
}

// note adds evidence in place of older evidence of the same verifier.
func (s *State) note(e Evidence) {
	kept := make([]Evidence, 0, len(s.Evidence)+1)
	for _, old := range s.Evidence {
		if old.Verifier != e.Verifier {
			kept = append(kept, old)
			continue
		}
		e.FailedBefore = old.FailedBefore || old.Status == ralph.EvidenceFail
	}
	s.Evidence = append(kept, e)
	s.LastVerifier = &e
}

// seen returns the verifiers that ran in the current iteration.
func (s *State) seen() (names []string) {
	for _, e := range s.Evidence {
		if e.Iteration == s.Iteration {
			names = append(names, e.Verifier)
		}
	}
	return names
}

// isShown reports whether the evidence shows the work: a verifier failed before.
func (s *State) isShown() bool {
	return slices.ContainsFunc(s.Evidence, func(e Evidence) bool { return e.FailedBefore })
}

// weigh returns what the evidence amounts to while the workspace is tree.
func (s *State) weigh(rules judge.EvidenceRules, tree string) judge.Weighing {
	var calls []ralph.ToolEvidence
	for _, e := range s.Evidence {
		calls = append(calls, ralph.ToolEvidence{
			Tool: e.ToolName, CallID: e.ToolCallID, Command: e.Command, Status: e.Status, Output: e.Content,
			Observed: e.ObservedAt, Verifier: e.Verifier, Stale: e.Stale || e.Moved != "" || e.Tree != tree,
		})
	}
	w := judge.WeighEvidence(rules, calls)
	for _, e := range s.Evidence {
		switch {
		case w.Word != judge.EvidenceStale || e.Verifier != w.Last.Verifier:
		case e.Stale:
			w.Detail = e.Verifier + " passed beside something else that may have changed files; run it alone"
		case e.Moved != "":
			w.Detail = fmt.Sprintf("%s changed while %s ran; end what else writes there, such as a process in the background "+
				"(if the verifier itself does, list it in VerifierOutput)", e.Moved, e.Verifier)
		}
	}
	return w
}
