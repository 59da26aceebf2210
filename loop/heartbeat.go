package loop

import (
	"context"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
)

// An iteration records now and then what was spent, so that a crash loses little of it: a second, or a twentieth of a long iteration.
const (
	firstSummary = time.Second
	lastSummary  = 30 * time.Second
)

func nextSummary(worked time.Duration) time.Duration {
	return min(max(worked/20, firstSummary), lastSummary)
}

// runWithHeartbeat runs work on another goroutine and waits for it. Meanwhile it executes the calls that work
// sends and records from time to time what was spent. If recording fails, it cancels the context of work. If
// work panics, it panics with a *caught that has the stack of work's goroutine.
func (j *journal) runWithHeartbeat(ctx context.Context, calls <-chan func(), summary func(elapsed ralph.Span) ralph.AgentOutput, work func(context.Context)) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ended := make(chan *caught, 1)
	go func() {
		bug := &caught{value: "the work ended its goroutine"} // with runtime.Goexit, as a failed test does
		defer func() { ended <- bug }()
		bug = catch(func() { work(ctx) })
	}()
	begun, due := time.Now(), time.NewTimer(firstSummary)
	defer due.Stop()
	for {
		select {
		case bug := <-ended:
			if bug != nil {
				panic(bug) // with the stack of the goroutine that it happened on
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

// withHeartbeat records now and then how far the run is while a check works.
func (j *journal) withHeartbeat(ctx context.Context, work func(context.Context)) {
	j.runWithHeartbeat(ctx, nil, func(elapsed ralph.Span) ralph.AgentOutput { return ralph.AgentOutput{Elapsed: elapsed} }, work)
}

// activitySummary keeps the latest of what live news say, which come from another goroutine.
type activitySummary struct {
	mu     sync.Mutex
	tool   string
	events int
	cost   *float64
	tokens *ralph.Tokens
	guess  bool // the cost is reckoned
}

func (n *activitySummary) note(a ralph.Activity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch a.Kind {
	case "spent":
		n.cost, n.tokens, n.guess = a.Cost, a.Tokens, a.Estimated
		return
	case "tool":
		n.tool = a.Name
	}
	n.events++
}

func (n *activitySummary) summary(elapsed ralph.Span) ralph.AgentOutput {
	n.mu.Lock()
	defer n.mu.Unlock()
	return ralph.AgentOutput{Elapsed: elapsed, Tool: n.tool, Events: n.events, Cost: n.cost, Tokens: n.tokens, Estimated: n.guess}
}
