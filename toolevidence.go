package ralph

import (
	"slices"
	"time"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// Verifiers names the tool calls that are evidence: commands that run a check, and trusted tools that have no command.
type Verifiers struct {
	Commands []string
	Tools    []string
}

// Of returns the check that the command of a call runs in dir, or the name of a trusted tool that has no command. It
// returns "" for every other call.
func (v Verifiers) Of(tool, command, dir string) string {
	if command == "" && slices.Contains(v.Tools, tool) {
		return tool
	}
	i := slices.IndexFunc(v.Commands, func(check string) bool { return shell.Runs(command, check, dir) })
	if command == "" || i < 0 {
		return ""
	}
	return v.Commands[i]
}

// evidenceOutput is how many characters of a call's output are kept, from its end.
const evidenceOutput = 2000

// WithEvidence adds a call to a list that has the newest call of each verifier, with the end of its output.
func WithEvidence(list []ToolEvidence, call ToolEvidence) []ToolEvidence {
	call.Output, _ = text.KeepTail(promise.Answer(call.Output), evidenceOutput)
	older := func(e ToolEvidence) bool { return e.Verifier == call.Verifier }
	return append(slices.DeleteFunc(slices.Clone(list), older), call)
}

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
