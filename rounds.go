package ralph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/promise"
)

// CaseMaker is an optional power of an Agent: it is judged while it works. It tells of its turns with AgentInput.Turn, and claims with AgentInput.Submit
// and not with words.
type CaseMaker interface {
	MakesCases()
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

// claimByCase is how a case is called among the claims.
const claimByCase = "submit_case"

// saidBy is a case as a claim: for the task at hand, or for everything.
func (c CaseSubmitted) saidBy() promise.Report {
	if c.Task != "" {
		return promise.Report{TasksDone: []string{c.Task}}
	}
	return promise.Report{Complete: true, CompleteTag: claimByCase, CompleteText: c.Summary}
}

// submitted takes a case into the state: everything is judged as if the agent had ended here and claimed.
func (s *State) submitted(c CaseSubmitted) {
	now := &s.History.Now
	now.Cases = append(slices.Clip(now.Cases), CaseRecord{CaseSubmitted: c})
	now.Agent.End, now.Agent.Said = EndOK, c.saidBy()
	now.forget()
	now.Tree = TreeState{} // it is looked at now, or not known
}

// answered ends a round. What was proven in it is proven of that tree alone.
func (s *State) answered(a CaseAnswered) {
	now := &s.History.Now
	if last := len(now.Cases) - 1; last >= 0 {
		now.Cases = slices.Clone(now.Cases) // those that a history was copied with are not changed
		now.Cases[last].Answer = &a
	}
	if now.Accepted = a.Accepted; a.Accepted {
		now.Proven = now.Tree.ID()
		return
	}
	now.Agent.End, now.Agent.Said = "", promise.Report{}
}

// forget drops the evidence of an earlier tree. What evaluators said is kept: it was paid for, and the newest word counts.
func (o *Observation) forget() {
	o.Checks, o.Weighed, o.Stale, o.Proven, o.Accepted = nil, nil, false, "", false
}

// listen lets an agent be heard while it works. It calls from its own goroutine, and what it calls for is done on the loop's.
func (l *Loop) listen(in *AgentInput, calls chan<- func()) {
	onLoop := func(ctx context.Context, do func()) bool {
		done := make(chan struct{})
		select {
		case calls <- func() { defer close(done); do() }:
			<-done
			return true
		case <-ctx.Done():
			return false
		}
	}
	in.Task = l.state.History.Now.Task
	in.Turn = func(ctx context.Context, t Turn) TurnOrder {
		order := TurnOrder{Stop: true, Late: true}
		onLoop(ctx, func() { order = l.hearTurn(ctx, t) })
		return order
	}
	in.Submit = func(ctx context.Context, c Case) CaseAnswer {
		answer := CaseAnswer{Over: true, Text: runEnds}
		onLoop(ctx, func() { answer = l.hearCase(ctx, c) })
		return answer
	}
}

const runEnds = "the run ends"

// claimedBy takes the claim of a CaseMaker from the case that was accepted, and from nothing that it says.
func (l *Loop) claimedBy(agent Agent, o AgentOutcome) AgentOutcome {
	if _, ok := agent.(CaseMaker); !ok {
		return o
	}
	o.Said.Complete, o.Said.CompleteTag, o.Said.CompleteText, o.Said.TasksDone = false, "", "", nil
	if now := l.state.History.Now; now.Accepted {
		o.Said.Status, o.Said.StatusProblem = nil, "" // what was proven needs no block
		said := now.Cases[len(now.Cases)-1].saidBy()
		o.Said.Complete, o.Said.CompleteTag, o.Said.CompleteText, o.Said.TasksDone = said.Complete, said.CompleteTag, said.CompleteText, said.TasksDone
	}
	return o
}

// lastCase is the newest case as an evaluator reads it, "" if there is none.
func (o Observation) lastCase() string {
	if len(o.Cases) == 0 {
		return ""
	}
	return o.Cases[len(o.Cases)-1].String()
}

// hearTurn records a turn and says whether another may follow.
func (l *Loop) hearTurn(ctx context.Context, t Turn) TurnOrder {
	warned := t.Hooks
	t.Hooks = nil // they are events of their own
	l.emit(EvTurn, t)
	l.tellCallHooks(warned)
	if l.storage != nil || ctx.Err() != nil {
		return TurnOrder{Stop: true, Late: true}
	}
	return MayTakeTurn(l.policy, l.state.History.Judge(l.moment(ctx)))
}

// hearCase judges a case while the agent waits: with the evidence, and by the rules, of the end of an iteration.
func (l *Loop) hearCase(ctx context.Context, c Case) CaseAnswer {
	round, reviews := len(l.state.History.Now.Cases)+1, len(l.state.History.Now.Evaluations)
	l.emit(EvCase, CaseSubmitted{Round: round, Task: l.state.History.Now.Task, Case: c})
	l.inspectTasks()
	l.snapshot(ctx, TreeInput{BaseHead: l.state.History.Base.Head, Claimed: true})
	l.compare(ctx, l.state.History.Now.Tree)
	l.gather(ctx, true)
	if ctx.Err() != nil || l.storage != nil {
		return CaseAnswer{Over: true, Text: runEnds}
	}
	decision := DecideCase(l.policy, l.state.History.Judge(l.moment(ctx)))
	v := decision.Verdict
	answer := CaseAnswered{
		Round: round, Refusals: v.Refusals(), Tasks: v.Tasks.Refused, Accepted: decision.Accepted, Over: decision.Over,
	}
	text, rejected := "accepted", rejectedIn(l.state.History.Now.Evaluations[reviews:])
	if !answer.Accepted {
		text = l.whyRefused(v, rejected, answer.Over)
	}
	l.emit(EvCaseAnswered, answer)
	return CaseAnswer{Accepted: answer.Accepted, Rejected: len(rejected) > 0, Over: answer.Over, Text: text}
}

// whyRefused tells the agent what to mend, in the words of the next iteration's prompt.
func (l *Loop) whyRefused(v Verdict, rejected []Evaluation, over bool) string {
	in := PromptInput{Policy: l.policy, Ledger: l.state.Ledger, Tasks: l.state.History.Tasks, Last: l.state.feedback(v)}
	in.Last.Number, in.Last.Rejections = max(in.Last.Number, 1), rejected
	if l.state.History.Now.Task != "" {
		in.Task = &Task{ID: l.state.History.Now.Task}
	}
	facts := promptFacts(in)
	facts.CaseOver = over
	return prompt.CaseRefused(facts)
}
