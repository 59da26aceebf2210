package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// askedChecks are checks that the agent wants to have run while it works. They know the state of the run
// from the moment of the call, because it may change while they run.
type askedChecks struct {
	runner   *checkRunner
	examiner ralph.Examiner // nil without views; one that keeps no results for the judgement
	history  judge.History
	checks   []check
	view     ralph.ViewInput
	folder   string
}

// runAsked runs the checks as they would run after the agent has ended, and returns the history with
// their results. Nothing of it is recorded as evidence: the agent is alive and could interfere.
func (r *checkRunner) runAsked(
	ctx context.Context, onLoop func(context.Context, func()) bool,
) (judge.History, error) {
	ctx, cancel := context.WithTimeout(ctx, askedTime)
	defer cancel()
	var a askedChecks
	var err error
	if !onLoop(ctx, func() { a, err = r.asked() }) {
		return judge.History{}, errIterationEnds
	}
	if err == nil {
		err = a.run(ctx)
	}
	if ctx.Err() != nil {
		err = errIterationEnds
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("they took longer than %s", ralph.Span(askedTime).Short())
		}
	}
	if err != nil {
		return judge.History{}, err
	}
	if len(a.checks) > 0 {
		onLoop(ctx, func() { r.notice("checks_asked", a.summary()) })
	}
	return a.history, nil
}

func (a *askedChecks) summary() string {
	failed := 0
	for _, c := range a.history.Now.Checks {
		if !c.Passed {
			failed++
		}
	}
	return fmt.Sprintf("the agent asked for the checks: %d of %s failed", failed, text.Count(len(a.checks), "check"))
}

var errIterationEnds = errors.New("the iteration ends")

// asked prepares the checks. It runs on the loop's goroutine.
func (r *checkRunner) asked() (askedChecks, error) {
	a := askedChecks{runner: r, history: r.state.History, checks: r.suite.checksToRun(false)}
	if r.tree.examiner != nil {
		forker, ok := r.tree.examiner.(ralph.Forker)
		if !ok {
			return a, errors.New("views cannot be made while an agent works")
		}
		a.examiner = forker.Fork()
	}
	a.view = r.viewInput(ralph.ViewClaimed, ralph.AccessIsolated)
	var err error
	a.folder, err = r.checkFolder()
	a.history.Now.ClearEvidence()
	return a, err
}

func (a *askedChecks) run(ctx context.Context) error {
	now := &a.history.Now
	if store := a.runner.tree.store; store != nil {
		tree, err := store.Fingerprint(ctx, ralph.TreeInput{
			BaseHead: a.history.Base.Head, Claimed: true, Run: a.runner.id, Iteration: now.Number,
		})
		if err != nil {
			return fmt.Errorf("look at the files: %w", err)
		}
		now.Tree = tree
	}
	if a.examiner != nil {
		found, err := a.examiner.Compare(ctx, a.history.Base, now.Tree)
		if err != nil {
			return fmt.Errorf("compare the files: %w", err)
		}
		_, now.Tampered = changeNames(found.Tampered)
		now.Unseen = found.Unseen
	}
	for i, c := range a.checks {
		result, err := a.check(ctx, i, c)
		if err != nil || ctx.Err() != nil {
			return err
		}
		result.Task = c.task
		now.Checks = append(now.Checks, result)
	}
	return nil
}

func (a *askedChecks) check(ctx context.Context, i int, c check) (result ralph.CheckResult, err error) {
	if c.missing != "" {
		return ralph.CheckResult{Name: c.name, Output: c.missing, ExitCode: 1}, nil
	}
	if why := a.runner.suite.whyBarred(c); why != "" {
		return ralph.CheckResult{Name: c.name, Broken: true, ExitCode: -1, Output: why}, nil
	}
	checker := a.runner.checker
	if a.examiner != nil {
		in := a.view
		in.Now, in.Access = a.history.Now.Tree, a.history.AccessOf(c.name, c.task)
		view, err := a.examiner.Open(ctx, in)
		if err != nil {
			return result, fmt.Errorf("open a view: %w", err)
		}
		defer func() { err = errors.Join(err, view.Close()) }()
		checker = view
	}
	return checker.Check(ctx, a.runner.checkInput(c, a.folder, checkFile("asked").name(i)))
}
