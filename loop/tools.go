package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

const (
	maxAsked  = 20               // times that an agent may have the checks run in one iteration
	askedTime = 10 * time.Minute // for each of them
)

// toolDesk answers the tool calls of one iteration's agent. It collects what the agent says and never
// adds evidence: what it runs for the agent, it runs only to tell the agent.
type toolDesk struct {
	checks *checkRunner
	onLoop func(ctx context.Context, do func()) bool // runs do on the loop's goroutine
	task   string                                    // of the iteration
	tasks  []string                                  // IDs of the whole list
	work   string                                    // what the run wants done now

	mu    sync.Mutex
	said  *promise.Signals
	made  *ralph.CaseSubmitted
	asked int
	busy  bool // checks are running
}

// openTools lets the agent signal with tools until shut is called. Afterwards, report adds the signals
// to the outcome.
func (r *agentRunner) openTools(
	ctx context.Context, in *ralph.AgentInput, calls chan<- func(),
) (shut func(), report func(ralph.AgentOutcome) ralph.AgentOutcome) {
	shut, report = func() {}, func(o ralph.AgentOutcome) ralph.AgentOutcome { return o }
	if r.tools == nil {
		return shut, report
	}
	h := r.state.History
	desk := &toolDesk{
		checks: r.checks, onLoop: callOnLoop(calls), task: h.Now.Task, work: r.work, said: promise.NewSignals(in.Words),
		tasks: text.Mapped(h.Tasks, func(t ralph.TaskState) string { return t.ID }),
	}
	door, err := r.tools.Open(ctx, desk.answer)
	if err != nil {
		r.warnOnce("no_tools", fmt.Sprintf("the agent cannot signal with tools, only with tags: %v", err))
		return shut, report
	}
	in.ToolEnv = door.Env
	return door.Close, desk.addTo
}

// callOnLoop returns a function that runs another one on the goroutine that receives calls. It reports
// false if that goroutine does not take it before ctx is done.
func callOnLoop(calls chan<- func()) func(context.Context, func()) bool {
	return func(ctx context.Context, do func()) bool {
		done := make(chan struct{})
		select {
		case calls <- func() { defer close(done); do() }:
			<-done
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// addTo adds the signals to what the agent printed. A tool call is a word: an agent that made one was
// not silent.
func (d *toolDesk) addTo(o ralph.AgentOutcome) ralph.AgentOutcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.said.Given() {
		return o
	}
	if o.End == ralph.EndEmpty {
		o.End, o.Error = ralph.EndOK, ""
	}
	o.Said, o.Case = d.said.AddTo(o.Said), d.made
	return o
}

// answer answers one call, without secrets. Several goroutines may call it.
func (d *toolDesk) answer(ctx context.Context, c ralph.ToolCall) ralph.ToolAnswer {
	answer := d.handle(ctx, c)
	answer.Text = d.checks.mask(answer.Text)
	return answer
}

func (d *toolDesk) handle(ctx context.Context, c ralph.ToolCall) ralph.ToolAnswer {
	switch c.Tool {
	case ralph.ToolNextTask:
		return ralph.ToolAnswer{Text: d.work}
	case ralph.ToolRunChecks:
		return d.runChecks(ctx)
	case ralph.ToolSubmitCase:
		d.submit(*c.Case)
		return d.preview(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c.Tool {
	case ralph.ToolTaskDone:
		return d.taskDone(c.Task)
	case ralph.ToolBlocked:
		d.said.Blocked(c.Text)
		return ralph.ToolAnswer{Text: "Recorded. End your work now; a person has to help."}
	case ralph.ToolDecide:
		d.said.Decide(c.Text)
		return ralph.ToolAnswer{Text: "Recorded. End your work now; a person will be asked."}
	case ralph.ToolProposeLearning:
		d.said.Learn(c.Text)
		return ralph.ToolAnswer{Text: "Recorded for later iterations."}
	case ralph.ToolReportStatus:
		return d.reportStatus(*c.Status)
	}
	return refusedCall("this run does not know the tool %s", c.Tool)
}

func refusedCall(format string, args ...any) ralph.ToolAnswer {
	return ralph.ToolAnswer{Text: fmt.Sprintf(format, args...), Failed: true}
}

func (d *toolDesk) taskDone(id string) ralph.ToolAnswer {
	if id == "" {
		id = d.task
	}
	switch {
	case len(d.tasks) == 0:
		return refusedCall("this run has a goal and no task list; call submit_case when the goal is met")
	case id == "":
		return refusedCall("name the task")
	case !slices.Contains(d.tasks, id):
		return refusedCall("the list has no task %s; it has %s", promise.OneLine(id, 60), text.List(d.tasks))
	}
	if err := d.said.TaskDone(id); err != nil {
		return refusedCall("%v", err)
	}
	return ralph.ToolAnswer{Text: id + " is recorded as claimed. Ralph judges the claim when you have ended."}
}

func (d *toolDesk) reportStatus(status promise.Status) ralph.ToolAnswer {
	if err := d.said.ReportStatus(status); err != nil {
		return refusedCall("the status was not recorded: %v", err)
	}
	answer := ralph.ToolAnswer{Text: "Recorded."}
	if why := status.WhyNoClaim(); why != "" {
		answer.Text += " It is not a claim: " + why + "."
	}
	return answer
}

// submit records a claim with its reasons.
func (d *toolDesk) submit(c ralph.Case) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made = &ralph.CaseSubmitted{Round: 1, Task: d.task, Case: c}
	claim := d.made.AsReport()
	if claim.Complete {
		d.said.Complete(claim.CompleteTag, claim.CompleteText)
	}
	for _, id := range claim.TasksDone {
		_ = d.said.TaskDone(id) // the list has it
	}
	if claim.Untestable != nil {
		d.said.Untestable(*claim.Untestable)
	}
}

// begin reports why the checks cannot run now, or "".
func (d *toolDesk) begin() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.busy:
		return "the checks are running already; wait for their answer"
	case d.asked == maxAsked:
		return fmt.Sprintf("the checks ran %d times in this iteration, and do not run again before you end", maxAsked)
	}
	d.busy = true
	d.asked++
	return ""
}

func (d *toolDesk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
}

// runChecks runs the checks for the agent.
func (d *toolDesk) runChecks(ctx context.Context) ralph.ToolAnswer {
	if why := d.begin(); why != "" {
		return refusedCall("%s", why)
	}
	defer d.end()
	seen, err := d.checks.runAsked(ctx, d.onLoop)
	switch {
	case err != nil:
		return refusedCall("the checks did not run: %v", err)
	case len(seen.Now.Checks) == 0:
		return ralph.ToolAnswer{Text: "This run has no checks that you can see."}
	}
	return ralph.ToolAnswer{Text: prompt.ChecksNow(seen.Now.Checks), Failed: !judge.AllPassed(seen.Now.Checks)}
}

// preview tells the agent what would refuse its claim now.
func (d *toolDesk) preview(ctx context.Context) ralph.ToolAnswer {
	const recorded = "The claim is recorded. "
	if why := d.begin(); why != "" {
		return ralph.ToolAnswer{Text: recorded + "Ralph judges it when you have ended; " + why + "."}
	}
	defer d.end()
	seen, err := d.checks.runAsked(ctx, d.onLoop)
	if err != nil {
		return ralph.ToolAnswer{Text: recorded + "Ralph judges it when you have ended; the checks did not run now: " +
			err.Error()}
	}
	d.mu.Lock()
	seen.Now.Agent = ralph.AgentOutcome{End: ralph.EndOK, Said: d.said.AddTo(promise.Report{})}
	d.mu.Unlock()
	refusals := judge.Foresee(d.checks.policy, seen)
	if len(refusals) == 0 {
		return ralph.ToolAnswer{Text: recorded + "Nothing refuses it so far. Ralph proves it when you have ended, so end " +
			"your work unless something is missing."}
	}
	return ralph.ToolAnswer{Failed: true, Text: recorded + "Ralph would refuse it now:\n\n" +
		strings.Join(text.Mapped(refusals, func(r ralph.Refusal) string { return "- " + r.Code + ": " + r.Detail }), "\n") +
		"\n\n" + prompt.ChecksNow(seen.Now.Checks)}
}
