package report

import (
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
)

// Builder makes a report from events. The zero value is ready to use.
type Builder struct {
	state  fold.State
	report Report
	now    openIteration
	before string // the tree that the next agent starts with
	tasks  map[string]*Task
}

// openIteration is what is known about the current iteration.
type openIteration struct {
	began   Iteration
	checks  []int  // indexes in Report.Checks
	checked string // the tree after the checks
	files   *ralph.FileCount
}

// See adds one event. Events must come in order and without a gap.
func (b *Builder) See(e ralph.Event) error {
	judging, iterations := b.state.History.Judging, len(b.state.Iterations)
	if err := b.state.Apply(e); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	switch data := e.Data.(type) {
	case ralph.RunStarted:
		b.session(e, Session{Ralph: data.Ralph, PID: data.PID})
	case ralph.RunResumed:
		b.session(e, Session{Ralph: data.Ralph, PID: data.PID, Resumed: true, Torn: data.TornBytes})
	case ralph.IterationStarted:
		b.now = openIteration{began: Iteration{
			Number:     e.Iteration,
			Session:    len(b.report.Sessions),
			StartedAt:  e.Time,
			TreeBefore: b.before,
		}}
	case ralph.TreeState:
		b.tree(data, judging)
	case ralph.CheckResult:
		b.check(e, data, judging)
	case ralph.Evaluation:
		b.evaluation(e, data)
	case ralph.VerdictReached:
		b.verdict(e, data.Verdict)
	default:
		b.addRemark(e)
	}
	if len(b.state.Iterations) > iterations {
		b.close(b.state.Iterations[iterations])
	}
	return nil
}

// addRemark adds an event that changes no other part of the report.
func (b *Builder) addRemark(e ralph.Event) {
	switch data := e.Data.(type) {
	case ralph.BaseTestsRun:
		baseTests := BaseTests{
			Iteration: e.Iteration,
			Files:     cleanAll(data.Files),
			Aware:     cleanAll(data.Aware),
			OldPassed: data.OldPassed,
		}
		for _, c := range data.Old {
			if c.Failed() {
				baseTests.Failed = append(baseTests.Failed, clean(c.Name))
			}
		}
		b.report.Tests = append(b.report.Tests, baseTests)
	case ralph.FilesTampered:
		if len(data.Details)+len(data.Unseen) == 0 { // the files are as they were before
			break
		}
		b.report.Tampering = append(b.report.Tampering, Tampering{
			Iteration: e.Iteration,
			What:      clean(data.What),
			File:      clean(data.File),
			Details:   cleanAll(data.Details),
			Unseen:    cleanAll(data.Unseen),
			Restored:  data.Restored,
		})
	case ralph.Notice:
		if e.Type == ralph.EvWarning {
			b.report.Warnings = append(b.report.Warnings, Warning{e.Iteration, clean(data.Code), clean(data.Text)})
		}
	case ralph.CommitResult:
		b.commit(e.Iteration, data.Commit)
	case ralph.StatusBlockSeen:
		b.now.files = data.Files
	case ralph.TaskMoved:
		task := b.task(data.Task)
		switch e.Type {
		case ralph.EvTaskDone:
			task.ProvenIn = e.Iteration
		case ralph.EvTaskReopened:
			task.ProvenIn = 0
		}
	}
}

func (b *Builder) session(e ralph.Event, s Session) {
	s.Number, s.At, s.Ralph = len(b.report.Sessions)+1, e.Time, clean(s.Ralph)
	b.report.Sessions = append(b.report.Sessions, s)
}

// commit records the commit of an iteration. Its event may come before or after the verdict.
func (b *Builder) commit(iteration int, id string) {
	if n := len(b.report.Iterations); n > 0 && b.report.Iterations[n-1].Number == iteration {
		b.report.Iterations[n-1].Commit = clean(id)
		return
	}
	b.now.began.Commit = clean(id)
}

func (b *Builder) tree(t ralph.TreeState, judging bool) {
	switch {
	case !judging:
		b.before = t.ID()
	case t.AfterChecks:
		b.now.checked = t.ID()
	}
}

func (b *Builder) check(e ralph.Event, c ralph.CheckResult, judging bool) {
	check := Check{
		Name:        clean(c.Name),
		Command:     clean(c.Command),
		Task:        clean(c.Task),
		Hidden:      c.Hidden,
		Baseline:    !judging,
		Iteration:   e.Iteration,
		Session:     len(b.report.Sessions),
		At:          e.Time,
		Duration:    c.Duration,
		Passed:      c.Passed,
		Broken:      c.Broken,
		TimedOut:    c.TimedOut,
		ExitCode:    c.ExitCode,
		Tree:        clean(c.Tree),
		OutputHash:  clean(c.OutputHash),
		Isolation:   clean(c.Isolation),
		NeedsAccess: c.NeedsAccess,
		Attempts:    c.Attempts,
		Flaked:      c.Flaked,
	}
	if c.Hidden {
		check.Command, check.OutputHash = "", ""
	}
	if judging {
		b.now.checks = append(b.now.checks, len(b.report.Checks))
	}
	b.report.Checks = append(b.report.Checks, check)
}

func (b *Builder) evaluation(e ralph.Event, data ralph.Evaluation) {
	evaluation := Evaluation{
		Iteration: e.Iteration,
		At:        e.Time,
		Task:      clean(data.Task),
		Agent:     clean(data.Agent),
		Model:     clean(data.Model),
		Asked:     data.End == ralph.EndOK,
		Cached:    data.Cached,
		Tree:      clean(data.Tree),
		Accepted:  data.Accepted,
		Category:  ralph.Rejection(clean(string(data.Category))),
		Concern:   clean(data.Concern),
		Evidence:  cleanAll(data.Evidence),
		NextStep:  clean(data.NextStep),
		Malformed: data.Malformed,
		Problem:   clean(data.Problem),
		Spent:     Spent{data.Duration, data.Tokens, data.Cost, data.CostEstimated, data.CostPartial, data.TokensPartial},
	}
	if !evaluation.Asked {
		evaluation.Concern = clean(data.Error)
	}
	b.report.Evaluations = append(b.report.Evaluations, evaluation)
	if data.Task != "" && data.Tries > 0 { // otherwise the evaluator was not called
		b.task(data.Task).Spent.add(evaluation.Spent)
	}
}

func (b *Builder) verdict(e ralph.Event, v ralph.Verdict) {
	if len(v.Gates) > 0 {
		b.report.GatesOf = e.Iteration
		b.report.Gates = text.Mapped(v.Gates, func(g ralph.Gate) ralph.Gate {
			return ralph.Gate{Name: clean(g.Name), State: g.State, Refusal: clean(g.Refusal), Detail: clean(g.Detail)}
		})
	}
	for _, refused := range v.Tasks.Refused {
		task := b.task(refused.Task)
		if code := clean(refused.Code); !slices.Contains(task.Refusals, code) {
			task.Refusals = append(task.Refusals, code)
		}
	}
}

// close adds an iteration that was judged or interrupted.
func (b *Builder) close(result ralph.IterationResult) {
	seen := b.state.History.Now // still what was judged: Apply does not clear it
	it := b.now.began
	it.Number, it.Task = result.Iteration, clean(result.Task)
	it.Agent, it.Model = clean(result.Agent), clean(seen.Agent.Model)
	it.End, it.Error = seen.Agent.End, clean(seen.Agent.Error)
	it.Counted, it.Claimed, it.Action = result.Counted, b.state.Verdict.Claimed, b.state.Verdict.Action
	it.Refusals, it.TasksDone = cleanAll(result.Refusals), cleanAll(result.TasksDone)
	it.TreeAfter, it.TreeChecked = seen.Tree.ID(), b.now.checked
	agent := seen.Agent
	it.Spent = Spent{agent.Duration, agent.Tokens, agent.Cost, agent.CostEstimated, agent.CostPartial, agent.TokensPartial}
	b.report.Iterations = append(b.report.Iterations, it)
	b.report.Claims = append(b.report.Claims, cases(it.Number, seen.Cases)...)
	hasTasks := len(b.state.History.Tasks) > 0
	b.report.Claims = append(b.report.Claims, claims(claimContext{it, seen, b.state.Verdict, hasTasks, b.now.files})...)
	if result.Task != "" {
		task := b.task(result.Task)
		task.Spent.add(it.Spent)
		if it.Counted {
			task.Tries++
		}
	}
	b.finish(result.CheckResults)
	if seen.Tree.Known {
		b.before = seen.Tree.ID()
	}
	b.now = openIteration{}
}

// finish completes the last run of each check with what is known only at the verdict: the
// comparison with the baseline, the proof, and the tree after all checks.
func (b *Builder) finish(results []ralph.CheckResult) {
	for _, i := range b.now.checks {
		b.report.Checks[i].TreeAfter = b.now.checked
	}
	b.report.Evidence = nil
	for _, r := range results {
		for _, i := range slices.Backward(b.now.checks) {
			c := &b.report.Checks[i]
			if c.Name == clean(r.Name) && c.Task == clean(r.Task) {
				c.Attribution, c.Flaked, c.Attempts, c.Proof = r.Attribution, r.Flaked, r.Attempts, proofOf(r)
				b.report.Evidence = append(b.report.Evidence, *c)
				break
			}
		}
	}
}

func proofOf(r ralph.CheckResult) *Proof {
	if r.Proof == nil {
		return nil
	}
	proof := &Proof{
		Canary: r.Proof.Canary, Tests: r.Proof.Tests, Lost: r.Proof.Lost, Quick: r.Proof.Quick, Table: r.Proof.Table,
		BasePassed: r.Proof.BasePassed,
	}
	if !r.Hidden { // the names of hidden tests stay secret
		proof.Detail, proof.Missing, proof.Flaky = clean(r.Proof.Detail), cleanAll(r.Proof.Missing), cleanAll(r.Proof.Flaky)
		proof.Environment, proof.Needs = cleanAll(r.Proof.Environment), cleanAll(r.Proof.Needs)
	}
	return proof
}

func (b *Builder) task(id string) *Task {
	if b.tasks == nil {
		b.tasks = map[string]*Task{}
	}
	if b.tasks[id] == nil {
		b.tasks[id] = &Task{ID: clean(id)}
	}
	return b.tasks[id]
}

// add adds t to s. The sum is estimated if a part of it is, and partial if a part of it is
// unknown.
func (s *Spent) add(t Spent) {
	again := *s != Spent{}
	s.Duration += t.Duration
	s.CostEstimated = s.CostEstimated || t.CostEstimated
	s.CostPartial = s.CostPartial || t.CostPartial || again && (s.Cost == nil) != (t.Cost == nil)
	s.TokensPartial = s.TokensPartial || t.TokensPartial || again && (s.Tokens == nil) != (t.Tokens == nil)
	if t.Cost != nil {
		sum := *t.Cost
		if s.Cost != nil {
			sum += *s.Cost
		}
		s.Cost = &sum
	}
	if t.Tokens != nil {
		sum := *t.Tokens
		if s.Tokens != nil {
			sum = sum.Plus(*s.Tokens)
		}
		s.Tokens = &sum
	}
}

// Report returns the report of the events so far. receipt is the result of verifying the log's
// chain.
func (b *Builder) Report(receipt Receipt) Report {
	s, r := &b.state, b.report
	result := s.Result()
	r.Format, r.Run, r.Demo, r.Receipt = FormatVersion, s.Run, s.Started.Demo, receipt
	r.Workspace, r.Goal = clean(s.Started.Workspace), clean(s.Started.Goal)
	r.SpecFile, r.TaskFile = clean(s.Started.SpecFile), clean(s.Started.TaskFile)
	r.InSession = s.Started.InSession
	r.Profile, r.Agent, r.Model = clean(s.Started.Profile), clean(s.Agent), clean(s.Model)
	r.Sandbox = clean(s.Sandbox)
	r.Evaluator, r.Protects = clean(s.Policy.Evaluator), cleanAll(s.Policy.Protects)
	if s.Tests != nil {
		r.TestsBy = clean(s.Tests.String())
	}
	r.StartedAt, r.UpdatedAt = s.StartedAt, s.UpdatedAt
	r.Outcome = Outcome{
		Ended:      s.Stopped != nil,
		Status:     result.Status,
		Reason:     result.StopReason,
		ExitCode:   result.ExitCode,
		Detail:     clean(result.Summary),
		Verified:   result.Verified,
		VerifiedBy: append([]string{}, cleanAll(result.VerifiedBy)...),
	}
	if s.Stopped != nil {
		r.Outcome.Name, r.Outcome.Changed = nameOf(s.Stopped.Reason), clean(s.Stopped.Changed)
	}
	r.Spent = Spent{
		Duration:      result.TotalDuration,
		Tokens:        result.TotalTokens,
		Cost:          result.TotalCost,
		CostEstimated: result.CostEstimated,
		CostPartial:   result.CostPartial,
		TokensPartial: result.TokensPartial,
	}
	r.Tasks = b.listed()
	return r.withoutNulls()
}

// listed returns every task of the list with its current status and what the run did for it.
func (b *Builder) listed() []Task {
	tasks := []Task{}
	for _, t := range b.state.History.Tasks {
		task := *b.task(t.ID)
		task.Title, task.Status = clean(t.Title), t.Status
		task.Proven = task.ProvenIn > 0 && t.Status == ralph.TaskDone && !t.Regressed
		for _, c := range b.report.Checks {
			if c.Task != task.ID || c.Baseline {
				continue
			}
			if i := slices.IndexFunc(task.Checks, func(d Check) bool { return d.Name == c.Name }); i >= 0 {
				task.Checks[i] = c
			} else {
				task.Checks = append(task.Checks, c)
			}
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// withoutNulls replaces nil lists with empty ones, so that programs that read the JSON need not
// handle null.
func (r Report) withoutNulls() Report {
	r.Sessions, r.Evidence, r.Gates = notNil(r.Sessions), notNil(r.Evidence), notNil(r.Gates)
	r.Claims, r.Evaluations, r.Tests = notNil(r.Claims), notNil(r.Evaluations), notNil(r.Tests)
	r.Tampering, r.Warnings = notNil(r.Tampering), notNil(r.Warnings)
	r.Iterations, r.Checks = notNil(r.Iterations), notNil(r.Checks)
	return r
}

func notNil[T any](list []T) []T { return append([]T{}, list...) }

// nameOf returns the name of the exit code for a stop reason, or "" for a reason of a later
// version.
func nameOf(reason ralph.StopReason) string {
	for _, kind := range ralph.Outcomes() {
		if slices.Contains(kind.Reasons, reason) {
			return kind.Name
		}
	}
	return ""
}
