package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

// EvidenceRules says which tool calls count as evidence.
type EvidenceRules struct {
	// Commands are the run's checks and declared verifiers. Each must have passed.
	Commands []string
	// Tools are names of trusted tools without a command. At least one must have passed, if there are no Commands,
	// and none may have failed.
	Tools []string
}

// EvidenceWord sums up the evidence for a claim.
type EvidenceWord string

// The words for evidence.
const (
	EvidencePassed  EvidenceWord = "passed"
	EvidenceMissing EvidenceWord = "missing_evidence"
	EvidenceFailed  EvidenceWord = "failed_evidence"
	EvidenceStale   EvidenceWord = "stale_evidence"
)

// Weighing is what the evidence for a claim amounts to.
type Weighing struct {
	Word   EvidenceWord
	Detail string
	// Last is the call that decided, or the newest one that counts; nil if none does.
	Last *ralph.ToolEvidence
}

// ClockStep is how coarse the times of files are: a change may be this much later than its time says.
const ClockStep = 10 * time.Millisecond

// EvidenceOf returns the evidence of an iteration. What is older than the last change of a file is stale.
func EvidenceOf(o Observation) []ralph.ToolEvidence {
	seen := slices.Clone(o.Agent.Evidence)
	for i := range seen {
		seen[i].Stale = seen[i].Stale || seen[i].Observed.Before(o.Tree.Touched.Add(ClockStep))
	}
	return seen
}

// weighTools weighs the calls of the tools that the policy names.
func weighTools(p ralph.Policy, o Observation) Weighing {
	return WeighEvidence(EvidenceRules{Tools: p.VerifierTools}, EvidenceOf(o))
}

func hasVerifierTools(p ralph.Policy) bool { return len(p.VerifierTools) > 0 }

// provenByTools reports whether the agent's own tools prove a claim, and nothing else does.
func provenByTools(p ralph.Policy, h History) bool {
	return hasVerifierTools(p) && len(h.Now.Checks) == 0 && weighTools(p, h.Now).Word == EvidencePassed
}

// askTools refuses a claim if no verifier tool passed after the last change. Ralph does not run these tools itself.
func askTools(p ralph.Policy, h History) ralph.Gate {
	codes := map[EvidenceWord]string{
		EvidenceMissing: ralph.RefusedMissing, EvidenceFailed: ralph.RefusedFailed, EvidenceStale: ralph.RefusedStale,
	}
	w := weighTools(p, h.Now)
	if code, refused := codes[w.Word]; refused {
		return shutGate(code, "%s", w.Detail)
	}
	return openGate(w.Detail + ", as the agent's stream reports")
}

// WeighEvidence decides whether tool calls prove a claim. seen is in the order of the calls. Of each verifier
// only the newest call counts. A failure outweighs a missing call, and that outweighs a stale one.
func WeighEvidence(rules EvidenceRules, seen []ralph.ToolEvidence) Weighing {
	latest := map[string]*ralph.ToolEvidence{}
	var newest *ralph.ToolEvidence
	for i := range seen {
		if e := &seen[i]; slices.Contains(rules.Commands, e.Verifier) || slices.Contains(rules.Tools, e.Verifier) {
			latest[e.Verifier], newest = e, e
		}
	}
	var missing []string
	var stale *ralph.ToolEvidence
	for _, name := range slices.Concat(rules.Commands, rules.Tools) {
		switch e := latest[name]; {
		case e == nil && slices.Contains(rules.Commands, name):
			missing = append(missing, name)
		case e == nil:
		case e.Status != ralph.EvidencePass:
			return Weighing{EvidenceFailed, name + " failed", e}
		case e.Stale && stale == nil:
			stale = e
		}
	}
	switch {
	case len(missing) > 0:
		return Weighing{EvidenceMissing, "not run yet: " + strings.Join(missing, ", "), newest}
	case stale != nil:
		return Weighing{EvidenceStale, fmt.Sprintf("files changed after %s passed", stale.Verifier), stale}
	case newest == nil && len(rules.Tools) > 0:
		return Weighing{EvidenceMissing, "none of these tools was used: " + strings.Join(rules.Tools, ", "), nil}
	case newest == nil:
		return Weighing{EvidenceMissing, "nothing is declared as a verifier", nil}
	}
	return Weighing{EvidencePassed, newest.Verifier + " passed", newest}
}
