package loop

import (
	"context"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// gather runs the checks and, if they are green and something is claimed, everything else that could still refuse the claim. What costs most comes
// last.
func (l *Loop) gather(ctx context.Context, claimed bool) {
	l.checks.runChecks(ctx, l.suite.checksToRun(claimed))
	if !claimed && !judge.ChecksClaim(l.run.policy, l.run.state.History) || !l.run.promising(ctx) {
		return
	}
	l.checks.runHidden(ctx)
	l.checks.weighTests(ctx)
	if l.run.promising(ctx) && judge.WouldEnd(l.run.policy, l.run.state.History) {
		l.checks.confirmFlaked(ctx)
		l.checks.prove(ctx)
	}
	if l.tree.ranInPlace() {
		l.checks.tidy(ctx)
	}
	if l.run.promising(ctx) {
		l.tree.lookAgain(ctx)
		l.reviews.evaluate(ctx)
	}
	if l.reviews.evaluator != nil && l.run.promising(ctx) { // it took its time
		l.tree.lookAgain(ctx)
	}
}

func changeNames(changes []ralph.FileChange) (names, lines []string) {
	for _, c := range changes {
		names, lines = append(names, c.Name), append(lines, fmt.Sprint(c))
	}
	return names, lines
}
