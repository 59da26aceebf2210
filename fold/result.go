package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// reasonFor returns a stop reason under the name that the profile's users know.
func reasonFor(profile string, reason ralph.StopReason) ralph.StopReason {
	switch {
	case profile == "checks" && (reason == ralph.MaxCost || reason == ralph.MaxTokens):
		return ralph.BudgetExhausted
	case profile == "goal" && reason == ralph.AllChecksPassed:
		return ralph.VerifierPassed
	}
	return reason
}

// Result returns the result of the run so far. It includes an iteration whose agent is gone even if the
// iteration has no verdict yet.
func (s *State) Result() ralph.Result {
	history, iterations := s.History, s.Iterations
	if s.Phase == PhaseExited {
		history = history.Judge(ralph.Moment{Elapsed: s.Elapsed})
		unjudged := ralph.Verdict{Counted: ralph.CountsAsIteration(history.Now.Agent.End)}
		iterations = append(slices.Clip(iterations), iterationResult(history.Now, unjudged))
	}
	r := ralph.Result{
		RunID: s.Run, Status: s.LiveStatus(), TotalIterations: len(iterations), TotalDuration: s.Elapsed,
		VerifiedBy: []string{}, Iterations: iterations, Demo: s.Started.Demo, GoalFiles: s.GoalFiles,
		CostEstimated: s.CostEstimated, CostPartial: s.CostPartial, TokensPartial: s.TokensPartial,
		Answer: s.History.Now.Agent.Answer, Sandbox: s.Sandbox,
	}
	if r.Iterations == nil {
		r.Iterations = []ralph.IterationResult{}
	}
	if s.Phase == PhaseBegun && s.Stopped == nil { // the agent is still spending
		history.Spend(s.History.Now.Agent.Spending())
	}
	sumUp(&r, history)
	r.Tasks = countTasks(history.Tasks)
	if worktree := s.Started.Worktree; worktree != nil {
		r.WorktreePath, r.Branch = worktree.Path, worktree.Branch
	}
	if stopped := s.Stopped; stopped != nil {
		r.StopReason, r.ExitCode, r.Summary = reasonFor(s.Started.Profile, stopped.Reason), stopped.ExitCode, stopped.Detail
		r.Success, r.Hint = stopped.ExitCode == 0, stopped.Hint
		r.Proof = stopped.Proof
		r.Verified = isVerified(*stopped)
		r.VerifiedBy = append(r.VerifiedBy, stopped.VerifiedBy...)
		switch stopped.Reason {
		case ralph.Blocked:
			r.Reason = stopped.Detail
		case ralph.NeedsDecision:
			r.Question = stopped.Detail
		}
	}
	return r
}

// isVerified reports whether a check that Ralph ran, or a person, vouches for the work. Runs of versions
// that did not ask whether work is shown have no word for their proof.
func isVerified(stopped ralph.RunStopped) bool {
	switch stopped.Proof {
	case ralph.ProvenAccepted:
		return true
	case "", ralph.ProvenShown, ralph.ProvenWorkspace:
		return slices.ContainsFunc(stopped.VerifiedBy, func(by string) bool { return by != ralph.VerifiedEvaluator })
	}
	return false
}

// sumUp sets the total cost and tokens. If nothing is known, a total is nil, not zero.
func sumUp(r *ralph.Result, h judge.History) {
	for _, it := range r.Iterations {
		if it.Cost != nil {
			r.TotalCost = &h.Cost
		}
	}
	if h.Cost > 0 { // an evaluator may report its cost even if no agent does
		r.TotalCost = &h.Cost
	}
	if r.CostPartial && h.Cost == 0 {
		r.TotalCost = nil // a known cost of zero says nothing about the agents whose cost is unknown
	}
	r.CostEstimated, r.CostPartial = r.CostEstimated && r.TotalCost != nil, r.CostPartial && r.TotalCost != nil
	if h.Tokens != (ralph.Tokens{}) {
		r.TotalTokens = &h.Tokens
	}
	r.TokensPartial = r.TokensPartial && r.TotalTokens != nil
}

// LiveStatus returns the current status of the run.
func (s *State) LiveStatus() ralph.Status {
	switch {
	case s.Stopped != nil:
		return s.Stopped.Status
	case s.Waiting != nil && s.Waiting.For == ralph.WaitPause:
		return ralph.StatusPaused
	case s.Waiting != nil:
		return ralph.StatusWaiting
	}
	return ralph.StatusActive
}

func iterationResult(o judge.Observation, v ralph.Verdict) ralph.IterationResult {
	said := o.Agent.Said
	r := ralph.IterationResult{
		Iteration:          o.Number,
		Task:               o.Task,
		Agent:              o.Agent.Agent,
		StepsTaken:         o.Agent.Steps,
		Cost:               o.Agent.Cost,
		CostPartial:        o.Agent.CostPartial,
		Duration:           o.Agent.Duration,
		CompletionTagFound: said.CompleteTag != "",
		Claims:             judge.ClaimsOf(o),
		TasksDone:          append([]string{}, v.Tasks.Done...),
		CheckResults:       o.Checks,
		AllChecksPassed:    judge.AllPassed(o.Checks),
		StatusBlock:        said.Status,
		Refusals:           []string{},
		Denials:            o.Agent.Denials,
		Allow:              o.Agent.Allow,
		Evidence:           judge.EvidenceOf(o),
		Counted:            v.Counted,
	}
	if r.CheckResults == nil {
		r.CheckResults = []ralph.CheckResult{}
	}
	for _, refusal := range v.Refusals() {
		r.Refusals = append(r.Refusals, refusal.Code)
	}
	for _, refused := range slices.Concat(v.Tasks.Refused, v.Tasks.Unconfirmed) {
		if !slices.Contains(r.Refusals, refused.Code) {
			r.Refusals = append(r.Refusals, refused.Code)
		}
	}
	if o.Agent.End != ralph.EndOK {
		text := o.Agent.Error
		if text == "" {
			text = string(o.Agent.End)
		}
		r.Error, r.ErrorClass = &text, o.Agent.Class()
	}
	return r
}

// TaskCount counts the open and the done tasks of the list.
func (s *State) TaskCount() ralph.TaskCount { return countTasks(s.History.Tasks) }

func countTasks(tasks []ralph.TaskState) ralph.TaskCount {
	count := ralph.TaskCount{Open: len(judge.OpenTasks(tasks))}
	for _, t := range tasks {
		if t.Status == ralph.TaskDone && !t.Open() {
			count.Done++
		}
	}
	return count
}
