package loop

import (
	"context"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
)

// An iteration periodically records what was spent, so that a crash loses little: at most a second,
// or a twentieth of a long iteration.
const (
	firstSummary = time.Second
	lastSummary  = 30 * time.Second
)

func nextSummary(worked time.Duration) time.Duration {
	return min(max(worked/20, firstSummary), lastSummary)
}

// runWithHeartbeat waits for work. Meanwhile it runs the functions that arrive on calls and
// periodically records what was spent. If recording fails, it cancels the work's context. It
// re-raises a panic of work.
func (j *journal) runWithHeartbeat(
	ctx context.Context,
	calls <-chan func(),
	summary func(elapsed ralph.Span) ralph.AgentOutput,
	work func(context.Context),
) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ended := make(chan *caughtPanic, 1)
	go func() {
		// work called runtime.Goexit, as a failed test does
		bug := &caughtPanic{value: "the work ended its goroutine"}
		defer func() { ended <- bug }()
		bug = catch(func() { work(ctx) })
	}()
	begun, due := time.Now(), time.NewTimer(firstSummary)
	defer due.Stop()
	for {
		select {
		case bug := <-ended:
			if bug != nil {
				panic(bug) // with the stack of the goroutine that panicked
			}
			return
		case call := <-calls:
			if bug := catch(call); bug != nil {
				giveUp()
				<-ended
				panic(bug)
			}
		case <-due.C:
			due.Reset(nextSummary(time.Since(begun)))
			j.emit(ralph.EvAgentOutput, summary(j.elapsed()))
			if j.storage != nil {
				giveUp()
			}
		}
	}
}

// withHeartbeat periodically records the elapsed time while work runs.
func (j *journal) withHeartbeat(ctx context.Context, work func(context.Context)) {
	j.runWithHeartbeat(
		ctx, nil, func(elapsed ralph.Span) ralph.AgentOutput { return ralph.AgentOutput{Elapsed: elapsed} }, work,
	)
}

// activitySummary keeps the latest live activity, which arrives from another goroutine.
type activitySummary struct {
	mu        sync.Mutex
	tool      string
	events    int
	cost      *float64
	tokens    *ralph.Tokens
	estimated bool // the cost is an estimate
}

func (n *activitySummary) note(a ralph.Activity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch a.Kind {
	case "spent":
		n.cost, n.tokens, n.estimated = a.Cost, a.Tokens, a.Estimated
		return
	case "tool":
		n.tool = a.Name
	}
	n.events++
}

func (n *activitySummary) summary(elapsed ralph.Span) ralph.AgentOutput {
	n.mu.Lock()
	defer n.mu.Unlock()
	return ralph.AgentOutput{
		Elapsed:   elapsed,
		Tool:      n.tool,
		Events:    n.events,
		Cost:      n.cost,
		Tokens:    n.tokens,
		Estimated: n.estimated,
	}
}
