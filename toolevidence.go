package ralph

import "time"

// ToolEvidence is one call of a tool by the agent, as the harness observed it.
type ToolEvidence struct {
	Tool     string         `json:"tool"`
	CallID   string         `json:"call_id,omitempty"`
	Command  string         `json:"command,omitempty"` // of a shell tool
	Status   EvidenceStatus `json:"status"`
	Output   string         `json:"output"` // the end of it
	Observed time.Time      `json:"observed"`
	// Verifier is what the call ran: a check of the run, a declared verifier, or the name of a trusted tool
	// that has no command. A call with none is no evidence.
	Verifier string `json:"verifier,omitempty"`
	Stale    bool   `json:"stale,omitempty"` // a file of the workspace changed afterwards
}

// EvidenceStatus says whether a tool call succeeded, by its exit code or its own error flag.
type EvidenceStatus string

// The states of evidence.
const (
	EvidencePass EvidenceStatus = "pass"
	EvidenceFail EvidenceStatus = "fail"
)
