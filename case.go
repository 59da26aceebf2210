package ralph

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph/promise"
)

// Submitter is an optional power of an Agent: it is judged while it works. It tells of its turns with AgentInput.Turn, and claims with AgentInput.Submit
// and not with words.
type Submitter interface {
	SubmitsCases()
}

// Turn is one model call inside of an agent that tells of them.
type Turn struct {
	Number    int      `json:"turn"` // from 1, within the iteration
	Model     string   `json:"model,omitempty"`
	Calls     []string `json:"calls,omitempty"` // names of the tools that it asks for
	End       string   `json:"end,omitempty"`   // why the model's answer ended
	Free      bool     `json:"free,omitempty"`  // nothing came of it, so that it does not count
	Tokens    *Tokens  `json:"tokens,omitempty"`
	Cost      *float64 `json:"cost,omitempty"`
	Estimated bool     `json:"cost_estimated,omitempty"`
	Duration  Span     `json:"duration"`
	// Spent is what the iteration took so far, this turn included.
	Spent Spending `json:"spent"`
	// Hooks are those about single calls that warned since the turn before. They are recorded as events of their own.
	Hooks []HookRun `json:"-"`
}

// TurnOrder is what a turn is answered with.
type TurnOrder struct {
	Stop bool // no other turn may follow; what this one asks for is paid, and is done
	Late bool // with Stop: there is no time for what it asks for either, except for a case that stands alone
}

// Case is a claim with its reasons: what was done, where each criterion is met, and what is doubtful.
type Case struct {
	Summary       string     `json:"summary"`
	Coverage      []Coverage `json:"ac_coverage"`
	WorkArounds   []string   `json:"work_arounds,omitempty"`
	Uncertainties []string   `json:"uncertainties,omitempty"`
}

// Coverage says where a criterion is met.
type Coverage struct {
	Criterion   string `json:"criterion"`
	AddressedBy string `json:"addressed_by"` // a pointer such as file:symbol
	Evidence    string `json:"evidence,omitempty"`
}

// String is the case as an evaluator reads it.
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
	return b.String()
}

// CaseSubmitted opens a round: a judgement inside of an iteration.
type CaseSubmitted struct {
	Round int    `json:"round"`
	Task  string `json:"task,omitempty"`
	Case
}

// caseClaimTag is how a case is called among the claims.
const caseClaimTag = "submit_case"

// AsReport is a case as a claim: for the task at hand, or for everything.
func (c CaseSubmitted) AsReport() promise.Report {
	if c.Task != "" {
		return promise.Report{TasksDone: []string{c.Task}}
	}
	return promise.Report{Complete: true, CompleteTag: caseClaimTag, CompleteText: c.Summary}
}

// CaseAnswered closes a round.
type CaseAnswered struct {
	Round    int           `json:"round"`
	Accepted bool          `json:"accepted"`
	Over     bool          `json:"over,omitempty"` // the agent is not to go on, whether it was accepted or not
	Refusals []Refusal     `json:"refusals,omitempty"`
	Tasks    []TaskRefusal `json:"tasks,omitempty"`
}

// CaseRecord is a case and what became of it.
type CaseRecord struct {
	CaseSubmitted
	Answer *CaseAnswered `json:"answer"` // nil while it is judged, and if its iteration was cut meanwhile
}

// CaseAnswer is what a case is answered with.
type CaseAnswer struct {
	Accepted bool
	Rejected bool // by the evaluator
	Over     bool
	Text     string // for the agent
}
