package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// compare records what became of the files that matter to checks. What is put back between two looks was never tampered with.
func (l *Loop) compare(ctx context.Context, now ralph.TreeState) {
	l.changed = ralph.Tampering{}
	base := l.state.History.Base
	if l.examiner == nil || ctx.Err() != nil || !now.Known && base.Snapshot == "" {
		return
	}
	found, err := l.examiner.Compare(ctx, base, now)
	if ctx.Err() != nil {
		return
	}
	if err != nil { // what cannot be compared may have been tampered with
		l.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedFiles, Details: []string{fmt.Sprintf("what became of them is not known: %v", err)}})
		return
	}
	l.changed = found
	for _, text := range found.Around {
		l.tellOnce("surroundings_changed", text)
	}
	known := l.state.History.Now
	if len(found.Tampered)+len(found.Unseen)+len(known.Tampered)+len(known.Unseen) == 0 {
		return
	}
	names, lines := changeNames(found.Tampered)
	if !l.state.History.Judging && slices.Equal(lines, known.Tampered) && slices.Equal(found.Unseen, known.Unseen) {
		return
	}
	l.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedFiles, Files: names, Details: append([]string{}, lines...), Unseen: found.Unseen})
}

// tellOnce warns, but not in every iteration.
func (l *Loop) tellOnce(code, text string) {
	if l.first(text) {
		l.emit(ralph.EvWarning, ralph.Notice{Code: code, Text: text})
	}
}

// first reports whether something is said for the first time.
func (l *Loop) first(about string) bool {
	before := l.told[about]
	l.told[about] = true
	return !before
}

// joined names the base, and what is settled, with what the user changed while no agent was at work: all that differs from before, which is how the
// harness left the tree. After an iteration whose end nobody saw, nobody can say whose changes they are.
func (l *Loop) joined(ctx context.Context, before string, now ralph.TreeState) ralph.TreeState {
	h := l.state.History
	copies, ok := l.tree.(ralph.Copies)
	if !ok || l.iteration == 0 || h.Judging || h.TreeOf != h.Started || before == "" || now.Snapshot == "" || before == now.Snapshot || h.Base.Snapshot == "" {
		return now
	}
	base, err := copies.Join(ctx, h.Base.Snapshot, before, now.Snapshot)
	settled := now.Snapshot
	if err == nil && h.Settled != before {
		settled = ""
		if h.Settled != "" {
			settled, err = copies.Join(ctx, h.Settled, before, now.Snapshot)
		}
	}
	if err != nil {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "base_unknown", Text: fmt.Sprintf("what you changed counts as the agent's: %v", err)})
		return now
	}
	now.Base, now.Settled = base, settled
	return now
}

// gather runs the checks and, if they are green and something is claimed, everything else that could still refuse the claim. What costs most comes
// last.
func (l *Loop) gather(ctx context.Context, claimed bool) {
	l.runChecks(ctx, l.checksToRun(claimed))
	if !claimed && !judge.ChecksClaim(l.policy, l.state.History) || !l.promising(ctx) {
		return
	}
	l.runHidden(ctx)
	l.weighTests(ctx)
	if l.promising(ctx) && judge.WouldEnd(l.policy, l.state.History) {
		l.confirmFlaked(ctx)
		l.prove(ctx)
	}
	if l.ranInPlace() {
		l.tidy(ctx)
	}
	if l.promising(ctx) {
		l.lookAgain(ctx)
		l.evaluate(ctx)
	}
	if l.evaluator != nil && l.promising(ctx) { // it took its time
		l.lookAgain(ctx)
	}
}

// promising reports whether a claim may still be accepted, and the run goes on.
func (l *Loop) promising(ctx context.Context) bool {
	return ctx.Err() == nil && l.storage == nil && judge.CouldStillPass(l.policy, l.state.History)
}

// runHidden runs the checks that the agent must not know. They have views of their own.
func (l *Loop) runHidden(ctx context.Context) {
	l.run(ctx, l.hiddenChecks(), checkFile("hidden"))
}

func (l *Loop) hiddenChecks() []check {
	var hidden []check
	for i, command := range l.cfg.Hidden {
		hidden = append(hidden, check{name: fmt.Sprintf("hidden check %d", i+1), command: command, hidden: true})
	}
	return hidden
}

// weighTests runs the tests of the base on the claimed tree, if some were changed that are not protected, and records which product code behaves for
// tests.
func (l *Loop) weighTests(ctx context.Context) {
	if len(l.changed.Tests)+len(l.changed.Aware) == 0 || !l.promising(ctx) || len(l.state.History.Now.Checks) == 0 {
		return
	}
	weighed := ralph.TestsWeighed{Files: append([]string{}, l.changed.Tests...), Aware: l.changed.Aware, OldPassed: true, Old: []ralph.CheckResult{}}
	if len(l.changed.Tests) > 0 && !l.runOldTests(ctx, &weighed) {
		return
	}
	l.emit(ralph.EvTestsChanged, weighed)
}

func (l *Loop) runOldTests(ctx context.Context, weighed *ralph.TestsWeighed) bool {
	session := l.session(ralph.ViewOldTests, checkFile("old"))
	session.strict = true // what was green on this tree was so with other tests
	defer session.close()
	for i, c := range l.checksToRun(true) {
		if l.isRed(c) { // with the tests of the base or without them
			continue
		}
		result, ok := session.check(ctx, i, c)
		if !ok {
			return false
		}
		weighed.Old = append(weighed.Old, result)
		weighed.OldPassed = weighed.OldPassed && result.Passed
	}
	return true
}

// isRed reports whether a check is red in this iteration.
func (l *Loop) isRed(c check) bool {
	return slices.ContainsFunc(l.state.History.Now.Checks, func(r ralph.CheckResult) bool { return r.Name == c.name && r.Task == c.task && !r.Passed })
}

// confirmFlaked runs once more what was red and green on one tree in this run.
func (l *Loop) confirmFlaked(ctx context.Context) {
	l.confirm(ctx, l.session(ralph.ViewClaimed, "again"), l.checksToRun(true))
	l.confirm(ctx, l.session(ralph.ViewHidden, "hidden-again"), l.hiddenChecks())
}

func (l *Loop) confirm(ctx context.Context, session *session, checks []check) {
	doubtful := slices.DeleteFunc(checks, func(c check) bool { return !l.state.History.HasFlaked(ralph.CheckResult{Name: c.name, Task: c.task}) })
	if len(doubtful) > 0 && l.promising(ctx) {
		session.strict = true
		session.runAll(ctx, doubtful)
	}
}

// prove asks what the green checks are worth.
func (l *Loop) prove(ctx context.Context) {
	if l.examiner == nil || !l.policy.Canary || !l.promising(ctx) {
		return
	}
	kind := ralph.ViewClaimed
	if w := l.state.History.Now.Weighed; w != nil && w.OldPassed && len(w.Files) > 0 {
		kind = ralph.ViewOldTests // whose tests must be those of the base
	}
	folder, err := l.checkFolder(1)
	if err != nil {
		l.storageFailed(err)
		return
	}
	for i, c := range l.checksToRun(true) {
		if l.barred(c) != "" || c.gone != "" || l.isRed(c) {
			continue
		}
		var proof ralph.Proof
		in := l.viewInput(kind, l.state.History.WayOf(c.name, c.task))
		in.BaseRed = l.state.History.FailedAtBase(c.name, c.task)
		l.attendCheck(ctx, func(ctx context.Context) {
			proof, err = l.examiner.Prove(ctx, in, l.checkInput(c, folder, checkFile("canary").name(i)))
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			proof = ralph.Proof{Canary: ralph.CanaryGreen, Detail: fmt.Sprintf("whether it can fail could not be tried (checks.canary: off does without): %v", err)}
		}
		proof.Name, proof.Task = c.name, c.task
		l.emit(ralph.EvCheckProof, proof)
	}
}

// lookAgain hashes the tree once more: evidence is of the tree that was judged, or it is none. Where checks ran in place they may have changed it
// themselves; where nothing can be put back, what they added is no harm.
func (l *Loop) lookAgain(ctx context.Context) {
	h := l.state.History
	if l.tree == nil || l.examiner == nil || len(h.Now.Checks)+len(h.Now.Evaluations) == 0 || !h.Now.Tree.Known {
		return
	}
	tree, err := l.tree.Fingerprint(ctx, ralph.TreeInput{BaseHead: h.Base.Head, Run: l.id, Iteration: l.iteration})
	if ctx.Err() != nil || err == nil && tree.Same(h.Now.Tree) {
		return
	}
	if err != nil { // what cannot be looked at may be anything
		tree = ralph.TreeState{}
	} else if l.ranInPlace() && !l.canPutBack(h.Now.Tree) && l.onlyAdded(ctx, h.Now.Tree.Snapshot, tree.Snapshot) {
		return
	}
	tree.After = true
	l.emit(ralph.EvTreeSnapshot, tree)
}

// criteria are what a task must meet, and its text.
func (l *Loop) criteria(id string) (title, text string, acceptance []string) {
	if l.tasks != nil {
		for _, t := range l.tasks.List() {
			if t.ID == id {
				return t.Title, strings.TrimSpace(t.Title + "\n\n" + t.Description), t.Acceptance
			}
		}
	}
	goal := l.goal.text
	if goal == "" {
		goal = l.goal.template
	}
	return "", goal, nil
}

func changeNames(changes []ralph.FileChange) (names, lines []string) {
	for _, c := range changes {
		names, lines = append(names, c.Name), append(lines, fmt.Sprint(c))
	}
	return names, lines
}
