package ralph

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph/promise"
)

// Submitter is an optional interface of an Agent that is judged while it works. Such an agent reports
// its turns with AgentInput.Turn. It claims with AgentInput.Submit, not with words.
type Submitter interface {
	SubmitsCases()
}

// Turn is one model call inside an agent that reports its calls.
type Turn struct {
	Number    int      `json:"turn"` // from 1, within the iteration
	Model     string   `json:"model,omitempty"`
	Calls     []string `json:"calls,omitempty"` // names of the tools that the model called
	End       string   `json:"end,omitempty"`   // why the model's answer ended
	Free      bool     `json:"free,omitempty"`  // the turn had no effect and does not count
	Tokens    *Tokens  `json:"tokens,omitempty"`
	Cost      *float64 `json:"cost,omitempty"`
	Estimated bool     `json:"cost_estimated,omitempty"`
	Duration  Span     `json:"duration"`
	// Spent is what the iteration has used so far, including this turn.
	Spent Spending `json:"spent"`
	// Hooks lists the hooks on single calls that warned since the previous turn. They are recorded as
	// separate events.
	Hooks []HookRun `json:"-"`
}

// TurnOrder is the loop's answer to a turn.
type TurnOrder struct {
	Stop bool   // no other turn may follow; this turn's tool calls are paid for and still run
	Late bool   // with Stop: no time for the tool calls either, unless the only call submits a case
	Cut  string // with Stop: the limit on this iteration that was reached
}

// Case is a claim with its reasons: what was done, where each criterion is met, and what is uncertain.
type Case struct {
	Summary       string     `json:"summary"`
	Coverage      []Coverage `json:"ac_coverage"`
	WorkArounds   []string   `json:"work_arounds,omitempty"`
	Uncertainties []string   `json:"uncertainties,omitempty"`
	Untestable    string     `json:"untestable,omitempty"` // why no test can show the work; a person must accept it
	// Evidence is what the agent's own verifiers showed; the harness fills it in.
	Evidence []ToolEvidence `json:"evidence,omitempty"`
}

// Coverage says where a criterion is met.
type Coverage struct {
	Criterion   string `json:"criterion"`
	AddressedBy string `json:"addressed_by"` // a pointer such as file:symbol
	Evidence    string `json:"evidence,omitempty"`
}

// String returns the case as text for an evaluator.
func (c Case) String() string {
	var b strings.Builder
	b.WriteString(c.Summary + "\n")
	for _, a := range c.Coverage {
		fmt.Fprintf(&b, "- %s: %s", a.Criterion, a.AddressedBy)
		if a.Evidence != "" {
			b.WriteString(" (" + a.Evidence + ")")
		}
		b.WriteString("\n")
	}
	list := func(title string, items []string) {
		if len(items) > 0 {
			b.WriteString(title + "\n- " + strings.Join(items, "\n- ") + "\n")
		}
	}
	list("Work-arounds:", c.WorkArounds)
	list("Not certain:", c.Uncertainties)
	if c.Untestable != "" {
		b.WriteString("No test can show it: " + c.Untestable + "\n")
	}
	return b.String()
}

// CaseSubmitted opens a round: the loop judges the case while the iteration is running.
type CaseSubmitted struct {
	Round int    `json:"round"`
	Task  string `json:"task,omitempty"`
	Case
}

// caseClaimTag is the completion tag of a claim that was made by submitting a case.
const caseClaimTag = string(ToolSubmitCase)

// AsReport returns the case as a claim that the current task is done or, without one, that everything is.
func (c CaseSubmitted) AsReport() promise.Report {
	said := promise.Report{Complete: true, CompleteTag: caseClaimTag, CompleteText: c.Summary}
	if c.Task != "" {
		said = promise.Report{TasksDone: []string{c.Task}}
	}
	if c.Untestable != "" {
		said.Untestable = &c.Untestable
	}
	return said
}

// CaseAnswered closes a round.
type CaseAnswered struct {
	Round    int           `json:"round"`
	Accepted bool          `json:"accepted"`
	Over     bool          `json:"over,omitempty"` // the agent must stop, accepted or not
	Refusals []Refusal     `json:"refusals,omitempty"`
	Tasks    []TaskRefusal `json:"tasks,omitempty"`
}

// CaseRecord is a case and its answer.
type CaseRecord struct {
	CaseSubmitted
	Answer *CaseAnswered `json:"answer"` // nil while it is judged, or if the iteration was cut before the answer
}

// CaseAnswer is the answer that the agent gets to a case.
type CaseAnswer struct {
	Accepted bool
	Rejected bool // by the evaluator
	Over     bool
	Spent    bool   // a limit of the run is reached, so nothing may be asked of a model any more
	Text     string // for the agent
}
