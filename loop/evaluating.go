package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// evaluationDiff is how much of what changed an evaluator gets to see at most.
const evaluationDiff = 200 << 10

// evaluationTime bounds one evaluation.
const evaluationTime = 30 * time.Minute

// evaluate asks for a second opinion on everything that would otherwise be proven.
func (l *Loop) evaluate(ctx context.Context) {
	if l.evaluator == nil {
		return
	}
	for _, task := range judge.ToEvaluate(l.policy, l.state.History) {
		if !l.evaluateOne(ctx, task) {
			return
		}
	}
}

// evaluateOne asks about one task until there is an answer, or no sense in asking. It reports whether the next may be asked about.
func (l *Loop) evaluateOne(ctx context.Context, task string) bool {
	terms := termsOf(l.criteria(task))
	if e, ok := l.state.CachedReview(task, terms); ok {
		l.emit(ralph.EvEvaluation, e)
		return true
	}
	in, err := l.evaluationInput(ctx, task)
	if err != nil {
		l.storageFailed(err)
		return false
	}
	var so judge.Patience
	for {
		e, ok := l.ask(ctx, in)
		if !ok {
			return false
		}
		e.Task, e.Tree, e.Terms = task, in.Now.ID(), terms
		l.emit(ralph.EvEvaluation, e)
		if e.Tries > 0 {
			l.warnUnmetered("this evaluation", e.Spending(), e.End)
		}
		if e.End == ralph.EndOK {
			return true
		}
		h := l.state.History
		h.Moment.Elapsed = l.elapsed()
		wait, again := judge.AskAgain(l.policy, h, e, &so)
		if !again {
			return false
		}
		l.wait(ctx, wait)
		if l.mustWake(ctx) {
			return false
		}
		if l.lookAgain(ctx); l.state.History.Now.Stale {
			return false
		}
	}
}

// ask asks an evaluator, if the run's budget allows it. It reports whether there is something to be recorded.
func (l *Loop) ask(ctx context.Context, in ralph.EvaluationInput) (e ralph.Evaluation, ok bool) {
	in.Over = l.budget()
	if why := in.Over(e); why != "" {
		return ralph.Evaluation{Agent: l.policy.Evaluator, End: ralph.EndOverBudget, Error: why}, true
	}
	in.Timeout = evaluationTime
	if left := l.timeLeft(); left > 0 {
		in.Timeout = min(in.Timeout, left)
	}
	l.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: l.elapsed(), Review: true}) // should the process be killed meanwhile, the log says what was paid for
	var err error
	l.attendCheck(ctx, func(ctx context.Context) { e, err = l.evaluator.Evaluate(ctx, in) })
	if err != nil {
		l.storageFailed(err)
	}
	switch {
	case l.storage != nil:
		return e, false
	case ctx.Err() != nil:
		return e.AsInterrupted(), true
	case e.End == ralph.EndTimeout && l.policy.MaxTime > 0 && l.elapsed() >= l.policy.MaxTime:
		e.End = ralph.EndOutOfTime // it is the run's time that was too short
	}
	return e, true
}

// budget is a function that says which limit is reached with what an evaluation took so far, "" if none is. It may be called while the loop works.
func (l *Loop) budget() func(so ralph.Evaluation) string {
	policy, before := l.policy, l.state.History.Judge(ralph.Moment{})
	return func(so ralph.Evaluation) string {
		h := before
		h.Moment.Elapsed = l.elapsed()
		h.Spend(so.Spending())
		return judge.OverBudget(policy, h)
	}
}

// termsOf is a digest of what is asked for.
func termsOf(title, goal string, criteria []string) string {
	sum := sha256.New()
	for _, text := range append([]string{title, goal}, criteria...) {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (l *Loop) evaluationInput(ctx context.Context, task string) (ralph.EvaluationInput, error) {
	title, text, criteria := l.criteria(task)
	h := l.state.History
	ledger := l.state.LedgerOf(task)
	in := ralph.EvaluationInput{
		Iteration: l.iteration, Task: task, Title: title, Goal: text, Criteria: criteria, Checks: h.ChecksFor(task), TestChanges: h.Now.Weighed,
		Ledger: ledger.Last, Recurring: ledger.Counts, Dir: l.cfg.Dir, Base: h.Base, Now: h.Now.Tree, Marker: l.about.Marker, Case: h.Now.LastCase(),
		Live: func(a ralph.Activity) { told(func() { l.live(a) }) },
	}
	folder, err := l.folder()
	if err != nil {
		return in, err
	}
	if folder != "" {
		in.Folder = filepath.Join(folder, fmt.Sprintf("evaluation-%02d", len(h.Now.Evaluations)+len(h.Now.Cut)+1))
		if err := os.MkdirAll(in.Folder, 0o700); err != nil {
			return in, fmt.Errorf("%w: %w", ralph.ErrIO, err)
		}
	}
	since := h.Base.Snapshot
	if task != "" && h.Settled != "" { // what earlier tasks changed was looked at then
		since = h.Settled
	}
	if tree, ok := l.tree.(ralph.Differ); ok && since != "" && h.Now.Tree.Snapshot != "" {
		if in.Diff, in.DiffCut, err = tree.Diff(ctx, since, h.Now.Tree.Snapshot, evaluationDiff); err != nil {
			l.emit(ralph.EvWarning, ralph.Notice{Code: "diff_unknown", Text: fmt.Sprintf("the evaluator is not told what changed: %v", err)})
		}
	}
	return in, nil
}
