package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/runlog"
)

// statusCommand is `ralph status`.
type statusCommand struct{ *app }

func newStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status [RUN]", Short: "Show a run's status", GroupID: "look", Args: atMostOne,
		RunE: a.withRun(statusCommand{a}.run),
	}
}

func (c statusCommand) run(_ context.Context, run foundRun) error {
	state, err := stateOf(run.store, run.id)
	if err != nil {
		return err
	}
	block, err := lastStatusBlock(run)
	if err != nil {
		return err
	}
	owner, live := run.store.Holder()
	live = live && owner.Run == run.id
	var left []process.Leftover
	if !live {
		left = leftovers(run.store, run.id)
	}
	return c.table(struct {
		ralph.Result
		ExitCode *int `json:"exit_code"` // null if the run has not ended
		Live     bool `json:"live"`
		PID      int  `json:"pid"`
		// LastStatusBlock is the newest status block, also an invalid one.
		LastStatusBlock *statusBlock    `json:"last_status_block,omitempty"`
		Questions       []fold.Question `json:"questions,omitempty"` // without an answer
		// Processes are those that the run left when its own process died.
		Processes []process.Leftover `json:"processes,omitempty"`
	}{
		state.Result(), recordedExitCode(state), live, state.PID, block, fold.OpenQuestions(state), left,
	}, func(out io.Writer) {
		run.writeStatus(out, state, live)
		for _, p := range left {
			fmt.Fprintf(out, "still alive\tprocess %d (%s); end it with: ralph stop\n", p.PID, term.Clean(p.Name))
		}
		block.write(out)
		fmt.Fprintf(out, "files\t%s\n", run.store.RunDir(run.id))
	})
}

// statusBlock is a status block that an agent printed in an iteration.
type statusBlock struct {
	Iteration int `json:"iteration"`
	ralph.StatusBlockSeen
}

// lastStatusBlock returns the newest status block of a run, or nil if there is none.
func lastStatusBlock(run foundRun) (*statusBlock, error) {
	var last *statusBlock
	err := run.store.Read(run.id, func(e ralph.Event, _ []byte) error {
		if seen, ok := e.Data.(ralph.StatusBlockSeen); ok {
			last = &statusBlock{e.Iteration, seen}
		}
		return nil
	})
	return last, err
}

// write shows the block, its recommendation, and where it differs from what Ralph saw.
func (b *statusBlock) write(out io.Writer) {
	switch {
	case b == nil:
		return
	case b.Block == nil:
		fmt.Fprintf(out, "status block\titeration %d: invalid: %s\n", b.Iteration, term.Clean(b.Problem))
		return
	}
	fmt.Fprintf(out, "status block\titeration %d: %s, exit signal %t, tests %s, %s completed, %s modified, %s\n",
		b.Iteration, b.Block.State, b.Block.ExitSignal, b.Block.Tests, term.Count(b.Block.TasksCompleted, "task"),
		term.Count(b.Block.FilesModified, "file"), b.Block.WorkType)
	fmt.Fprintf(out, "recommendation\t%s\n", term.Shorten(term.Clean(b.Block.Recommendation), 200))
	for _, m := range b.Mismatches {
		fmt.Fprintf(out, "mismatch\t%s\n", term.Clean(m))
	}
}

func (r foundRun) writeStatus(out io.Writer, state *fold.State, live bool) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%s\t%s\n", name, value)
		}
	}
	row("run", demoMark(state.Started.Demo)+r.id)
	row("status", statusText(state, live))
	row("goal", term.Shorten(term.Clean(goalOf(state)), 100))
	if len(state.History.Tasks) > 0 {
		row("tasks", term.Tasks(state))
	}
	for _, asked := range fold.OpenQuestions(state) {
		if asked.Task != "" {
			words := term.Shorten(term.Clean(asked.Task+" asks: "+asked.Text), 200)
			row("question", words+"  ("+term.AnswerCommand(asked)+")")
		}
	}
	for _, item := range state.Steering {
		row("steering", term.Shorten(term.Clean(item.Text), 100))
	}
	row("agent", term.Clean(state.Agent+" "+state.Model))
	if agents := state.Policy.Agents; len(agents) > 1 {
		row("takes over", term.Clean(strings.Join(agents[1:], ", then ")))
		if n := len(state.Iterations); n > 0 {
			row("last worked", term.Clean(state.Iterations[n-1].Agent))
		}
	}
	row("sandbox", term.Clean(state.Sandbox))
	limit := state.Policy.MaxIterations
	iterations := ofLimit(fmt.Sprint(state.History.Counted), fmt.Sprint(limit), limit > 0)
	if n := len(state.Iterations) - state.History.Counted; n > 0 {
		iterations += fmt.Sprintf(" (and %d uncounted)", n)
	}
	row("iterations", iterations)
	// The time since the last event is not in the log yet.
	if live && state.Stopped == nil && state.LiveStatus() != ralph.StatusPaused {
		state.Elapsed += ralph.Span(time.Since(state.UpdatedAt))
	}
	row("time", ofLimit(term.Seconds(state.Elapsed), term.Seconds(state.Policy.MaxTime), state.Policy.MaxTime > 0))
	showSpending(state, row)
	row("breaker", term.BreakerText(state.History.Breaker.State))
	for _, kept := range state.Stashed {
		row("stashed", fmt.Sprintf("work on %s: ralph diff %s --task %s", kept.Task, r.id, kept.Task))
	}
	for _, check := range term.LastChecks(state) {
		row("check", term.Clean(check.Name)+": "+resultWord(check))
	}
	if state.Stopped != nil {
		row("ended", term.ResultLine(state))
		row("to continue", r.toContinue(state))
	}
	if w := state.Started.Worktree; w != nil {
		row("worktree", term.Clean(w.Path))
		row("branch", term.Clean(w.Branch))
	}
}

// toContinue says how a run that needs a person continues.
func (r foundRun) toContinue(state *fold.State) string {
	switch {
	case state.Stopped.Status == ralph.StatusCompleted:
		return ""
	case rejected(r.store, r.id):
		return "your rejection waits; the agent reads it with: " + term.ResumeCommand(state)
	case state.Stopped.Reason == ralph.Unconfirmed, len(state.Tampered) > 0:
		return term.NextCommand(state) + term.OtherWays(state)
	}
	return ""
}

// showSpending shows cost and tokens with their limits, as far as they are known.
func showSpending(state *fold.State, row func(name, text string)) {
	r, limits := state.Result(), state.Policy
	if r.TotalCost != nil || limits.MaxCost > 0 {
		cost := "unknown"
		if r.TotalCost != nil {
			cost = term.AtLeast(term.Money(*r.TotalCost, r.CostEstimated), r.CostPartial)
		}
		row("cost", ofLimit(cost, term.Money(limits.MaxCost, false), limits.MaxCost > 0))
	}
	if r.TotalTokens != nil || limits.MaxTokens > 0 {
		tokens := "unknown"
		if r.TotalTokens != nil {
			tokens = term.AtLeast(fmt.Sprint(r.TotalTokens.Total()), r.TokensPartial)
		}
		row("tokens", ofLimit(tokens, fmt.Sprint(limits.MaxTokens), limits.MaxTokens > 0))
	}
}

func recordedExitCode(state *fold.State) *int {
	if state.Stopped == nil {
		return nil
	}
	return &state.Stopped.ExitCode
}

// statusText describes the status. A run that looks active but has no live process was
// interrupted.
func statusText(state *fold.State, live bool) string {
	status := state.LiveStatus()
	switch {
	case state.Stopped != nil:
		return fmt.Sprintf("%s (%s, exit code %d)", status, state.Stopped.Reason, state.Stopped.ExitCode)
	case state.Started.InSession:
		return goalText(state)
	case !live:
		return "interrupted: its process is gone; continue with: ralph resume"
	case state.Waiting != nil && state.Waiting.Wait > 0:
		until := state.UpdatedAt.Add(state.Waiting.Wait.Duration()).Local().Format(time.TimeOnly)
		return fmt.Sprintf("%s until %s: %s", status, until, term.Clean(state.Waiting.Detail))
	case state.Waiting != nil:
		return fmt.Sprintf("%s; %s", status, term.Clean(state.Waiting.Detail))
	case state.Phase == fold.PhaseBegun:
		return fmt.Sprintf("%s: iteration %d, agent running (ralph's pid: %d)", status, state.History.Started, state.PID)
	}
	return string(status)
}

func goalOf(state *fold.State) string {
	return cmp.Or(state.Started.SpecFile, state.Started.Goal, state.Started.TaskFile, state.Started.PromptFile)
}

func ofLimit(spent, limit string, limited bool) string {
	if limited {
		return spent + " of " + limit
	}
	return spent
}

func resultWord(c ralph.CheckResult) string {
	switch {
	case c.Passed:
		return "PASS"
	case c.Broken:
		return "CANNOT RUN"
	}
	return "FAIL"
}

func demoMark(demo bool) string {
	if demo {
		return "DEMO "
	}
	return ""
}

// runsCommand is `ralph runs`.
type runsCommand struct{ *app }

func newRunsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "runs", Short: "List the runs of this workspace", GroupID: "look", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runsCommand{a}.run(cmd.Context()) },
	}
}

func (c runsCommand) run(ctx context.Context) error {
	workspace, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	summaries, err := store.Runs()
	if err != nil {
		return err
	}
	type sizedRun struct {
		runlog.Summary
		Size int64 `json:"size_bytes"` // on the disk, without snapshots
	}
	runs := text.Mapped(summaries, func(r runlog.Summary) sizedRun { return sizedRun{r, store.Size(r)} })
	return c.table(listed(runs), func(out io.Writer) {
		if len(runs) == 0 {
			fmt.Fprintf(c.streams.Err, "no runs in %s\n", workspace.Dir)
			return
		}
		layout, started := "%s\t%s\t%v\t%s\t%s\t%s\n", time.DateTime
		iterations, longest := "ITERATIONS", longestGoal
		if room := c.columns() - runColumns; room < longestGoal/2 { // the goal gets a line of its own
			layout, started = "%-26s  %-12s  %4v  %8s  %s\n  %s\n", "Jan _2 15:04"
			iterations = "ITER"
		} else {
			longest = min(room, longest)
		}
		fmt.Fprintf(out, layout, "RUN", "STARTED", iterations, "SIZE", "STATUS", "GOAL")
		for _, r := range runs {
			goal := term.Shorten(demoMark(r.Demo)+term.Clean(cmp.Or(r.SpecFile, r.Goal, r.TaskFile)), longest)
			fmt.Fprintf(out, layout, r.Run, r.StartedAt.Local().Format(started), r.Iterations, term.Size(r.Size),
				summaryStatus(r.Summary), goal)
		}
	})
}

const (
	longestGoal = 60
	runColumns  = 92 // the width of the table without goals
)

func summaryStatus(r runlog.Summary) string {
	switch {
	case r.Broken != "":
		return "broken: " + r.Broken
	case r.Reason != "":
		return fmt.Sprintf("%s (%d)", r.Reason, *r.ExitCode)
	case r.Live, r.InSession:
		return string(r.Status)
	}
	return "interrupted"
}

// logsCommand is `ralph logs`.
type logsCommand struct {
	*app
	follow bool
	agent  bool
}

func newLogsCommand(a *app) *cobra.Command {
	c := &logsCommand{app: a}
	cmd := &cobra.Command{
		Use: "logs [RUN]", Short: "Show a run's log", GroupID: "look", Args: atMostOne,
		Long: `Show what happened in a run, one line per event that matters. With --agent, show
what the agent said and did, one line per message or tool call. With --json,
print the recorded events or the agent's recorded output.`,
		RunE: a.withRun(c.run),
	}
	cmd.Flags().BoolVarP(&c.follow, "follow", "f", false, "follow the log until the run ends")
	cmd.Flags().BoolVar(&c.agent, "agent", false, "show the agent's messages and tool calls")
	return cmd
}

func (c *logsCommand) run(ctx context.Context, run foundRun) error {
	if c.agent {
		return c.showAgent(ctx, run)
	}
	state := &fold.State{}
	lines := &term.Lines{Out: c.streams.Out, Style: c.styleOn(c.streams.OutTerm), State: state}
	show := func(e ralph.Event, line []byte) error {
		if c.wantsJSON() {
			return c.printLine(e, line)
		}
		if err := state.Apply(e); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		lines.See(e)
		if e.Type == ralph.EvRunStopped {
			fmt.Fprintln(c.streams.Out, term.ResultLine(state))
		}
		return nil
	}
	if c.follow {
		return run.store.Follow(ctx, run.id, show)
	}
	return run.store.Read(run.id, show)
}

// printLine prints an event as recorded, or the result of --jq. A terminal gets escapes for what it
// would obey.
func (c *logsCommand) printLine(e ralph.Event, line []byte) error {
	if c.globals.jq != "" {
		return c.printJSON(e)
	}
	if c.streams.OutTerm {
		line = term.EscapeJSON(line)
	}
	_, err := fmt.Fprintf(c.streams.Out, "%s\n", line)
	return err
}
