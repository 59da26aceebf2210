package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// reviewer asks an evaluator about claims that nothing else refuses.
type reviewer struct {
	*journal
	tree      *workspace
	wait      *waiter
	list      *taskList
	goals     *goal
	evaluator ralph.Evaluator
	name      string // name in the log
}

// maxEvaluationDiff limits how much of the diff an evaluator sees.
const maxEvaluationDiff = 200 << 10

// evaluationTimeout limits one evaluation.
const evaluationTimeout = 30 * time.Minute

// evaluate gets a second opinion on every claim that would otherwise be proven.
func (r *reviewer) evaluate(ctx context.Context) {
	if r.evaluator == nil {
		return
	}
	for _, task := range judge.ToEvaluate(r.policy, r.state.History) {
		if !r.evaluateOne(ctx, task) {
			return
		}
	}
}

// evaluateOne asks about one task until there is an answer or asking again makes no sense. It
// reports whether the next task may be reviewed.
func (r *reviewer) evaluateOne(ctx context.Context, task string) bool {
	terms := criteriaDigest(r.criteria(task))
	if e, ok := r.state.CachedReview(task, terms); ok {
		r.emit(ralph.EvEvaluation, e)
		return true
	}
	in, err := r.evaluationInput(ctx, task)
	if err != nil {
		r.storageFailed(err)
		return false
	}
	var tried judge.Patience
	for {
		e, ok := r.ask(ctx, in)
		if !ok {
			return false
		}
		e.Task, e.Tree, e.Terms = task, in.Now.ID(), terms
		r.emit(ralph.EvEvaluation, e)
		if e.Tries > 0 {
			r.warnUnmetered("this evaluation", e.Spending(), e.End)
		}
		if e.End == ralph.EndOK {
			return true
		}
		h := r.state.History
		h.Moment.Elapsed = r.elapsed()
		wait, counted, again := judge.AskAgain(r.policy, h, e, tried)
		if !again {
			return false
		}
		tried = counted
		r.wait.wait(ctx, wait)
		if r.wait.mustStopWaiting(ctx) {
			return false
		}
		if r.tree.checkFreshness(ctx); r.state.History.Now.Stale {
			return false
		}
	}
}

// ask asks the evaluator, if the run's budget allows it. It reports whether there is a result to
// record.
func (r *reviewer) ask(ctx context.Context, in ralph.EvaluationInput) (e ralph.Evaluation, ok bool) {
	in.Budget, in.Over = r.budget()
	if why := in.Over(e); why != "" {
		return ralph.Evaluation{Agent: r.policy.Evaluator, End: ralph.EndOverBudget, Error: why}, true
	}
	in.Timeout = evaluationTimeout
	if left := r.timeLeft(); left > 0 {
		in.Timeout = min(in.Timeout, left)
	}
	// If the process is killed meanwhile, the log shows what was paid for.
	r.emit(ralph.EvAgentOutput, ralph.AgentOutput{Elapsed: r.elapsed(), Review: true})
	var err error
	r.withHeartbeat(ctx, func(ctx context.Context) { e, err = r.evaluator.Evaluate(ctx, in) })
	if err != nil {
		r.storageFailed(err)
	}
	switch {
	case r.storage != nil:
		return e, false
	case ctx.Err() != nil:
		return e.AsInterrupted(), true
	case e.End == ralph.EndTimeout && r.policy.MaxTime > 0 && r.elapsed() >= r.policy.MaxTime:
		e.End = ralph.EndOutOfTime // the run's time was too short, not the evaluation's
	}
	return e, true
}

// budget returns what an evaluation may use, and a function that names the limit reached by what it has used so far, or
// "" if none is. The function may be called while the loop works.
func (r *reviewer) budget() (ralph.Budget, func(so ralph.Evaluation) string) {
	policy, before := r.policy, r.state.History.Judge(ralph.Moment{})
	return judge.RunBudget(policy, before), func(so ralph.Evaluation) string {
		h := before
		h.Moment.Elapsed = r.elapsed()
		h.Spend(so.Spending())
		return judge.OverBudget(policy, h)
	}
}

// criteriaDigest returns a digest of what a review is about.
func criteriaDigest(title, goal string, criteria []string) string {
	sum := sha256.New()
	for _, text := range append([]string{title, goal}, criteria...) {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// goalFile returns the file that has all of the goal, or of the task.
func (r *reviewer) goalFile(task string) string {
	switch goal := r.goals.goal; {
	case task != "":
		return r.list.tasks.File()
	case goal.text != "":
		return goal.file
	default:
		return goal.templateFile
	}
}

func (r *reviewer) evaluationInput(ctx context.Context, task string) (ralph.EvaluationInput, error) {
	title, text, criteria := r.criteria(task)
	h := r.state.History
	ledger := r.state.LedgerOf(task)
	in := ralph.EvaluationInput{
		Iteration:   r.iteration,
		Task:        task,
		Title:       title,
		Goal:        text,
		GoalFile:    r.goalFile(task),
		Criteria:    criteria,
		Checks:      h.ChecksFor(task),
		TestChanges: h.Now.BaseTests,
		Undone:      h.Now.Undone,
		Ledger:      ledger.Last,
		Recurring:   ledger.Counts,
		Dir:         r.cfg.Dir,
		Base:        h.Base,
		Now:         h.Now.Tree,
		Marker:      r.about.Marker,
		Case:        h.Now.LastCase(),
		Live:        r.show,
	}
	folder, err := r.folder()
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
	if task != "" && h.LastProvenTree != "" { // changes of earlier tasks were reviewed then
		since = h.LastProvenTree
	}
	if tree, ok := r.tree.store.(ralph.Snapshots); ok && since != "" && h.Now.Tree.Snapshot != "" {
		if in.Diff, in.DiffCut, err = tree.Diff(ctx, since, h.Now.Tree.Snapshot, maxEvaluationDiff); err != nil {
			r.warn("diff_unknown", "the evaluator does not see the diff: %v", err)
		}
	}
	return in, nil
}

// criteria returns a task's text and what it must meet.
func (r *reviewer) criteria(id string) (title, text string, acceptance []string) {
	if r.list.tasks != nil {
		for _, t := range r.list.tasks.List() {
			if t.ID == id {
				return t.Title, strings.TrimSpace(t.Title + "\n\n" + t.Description), t.Acceptance
			}
		}
	}
	goal := r.goals.goal.text
	if goal == "" {
		goal = r.goals.goal.template
	}
	return "", goal, nil
}
