package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/runlog"
)

// acceptCommand is `ralph accept`: a person settles what evidence cannot.
type acceptCommand struct {
	resumeCommand
	why, reject string
	all         bool
	files       []string
	asked       *judgedWork // with an answer to the question on the terminal: what it was about
}

func newAcceptCommand(a *app) *cobra.Command {
	c := &acceptCommand{resumeCommand: resumeCommand{app: a}}
	cmd := &cobra.Command{
		Use: "accept [RUN] [TASK...]", Short: "Accept work that nothing shows, or reject it", GroupID: "work",
		Annotations: byPeople,
		Long: `A run that ends with 7 (UNCONFIRMED) has claimed work whose checks pass, but
nothing shows that the work was done. Look at it with ralph diff, then accept
it: the run ends with 0, without an agent. If files changed since the claim,
the checks run again first. With a task list, name the tasks or use --all. Or
reject it: your words go into the next prompt.

If Ralph refuses a change that you made yourself, such as to the prompt while an
agent worked, --files makes it yours, in the current run or the next one.`,
		Example: `  ralph accept -m "read the diff, it is right"
  ralph accept TASK-2 TASK-3
  ralph accept --reject "the second paragraph is still missing"
  ralph accept --files .ralph/PROMPT.md check.sh`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.why, "message", "m", "", "why you accept it: `WHY` goes into the log and the report")
	flags.StringVar(&c.reject, "reject", "", "do not accept it; tell the agent `WHY`")
	flags.StringArrayVar(&c.files, "files", nil, "say that the changes of `FILE...` are yours, not the agent's")
	flags.BoolVar(&c.all, "all", false, "accept every unconfirmed task")
	return cmd
}

func (c *acceptCommand) run(ctx context.Context, args []string) error {
	if c.why != "" && (c.reject != "" || len(c.files) > 0) {
		return usage("-m says why you accept the work; --reject and --files do not take it")
	}
	if len(c.files) > 0 {
		c.files = append(c.files, args...)
		return c.acceptFiles(ctx)
	}
	ownOrphans(c.streams.Err)
	name, tasks, err := c.split(ctx, args)
	if err != nil {
		return err
	}
	found, err := c.findRun(ctx, name)
	if err != nil {
		return err
	}
	// A running run keeps its orders: reopenRun would drop a pause or a stop. It may also complete before it
	// reads a rejection.
	if owner, live := found.store.Holder(); live && owner.Run == found.id {
		return &runlog.Locked{Path: found.store.Dir(), Owner: owner}
	}
	if c.reject != "" {
		return c.rejectWork(found)
	}
	return c.reopenRun(found.store, found.id, func(s *session) error {
		if c.isOutdated(found.store, &s.state) {
			return c.refuseOutdated(&s.state)
		}
		if status := s.state.LiveStatus(); status == ralph.StatusCompleted {
			unrecorded := ""
			if c.why != "" {
				unrecorded = "; your message was not recorded"
			}
			fmt.Fprintf(c.errLines(), "run %s is complete; there is nothing to accept%s\n", found.id, unrecorded)
			return s.finish(ctx, &s.state, s.state.Result(), "hard")
		}
		// After a crash, the yes that was recorded holds.
		if s.acceptance = fold.UnfinishedYes(&s.state); s.acceptance == nil {
			if tasks, err = c.choose(&s.state, tasks); err != nil {
				return err
			}
			s.acceptance = &ralph.WorkAccepted{By: personName(), Why: c.why, Tasks: tasks}
		}
		if err := noneTaken(c.app, found.store); err != nil {
			return err
		}
		agree := func(plan *assembly.Plan) error { return c.agreeToAccept(found.workspace, plan, &s.state) }
		if s.plan, err = c.rebuildPlan(ctx, found.workspace, s, agree); err != nil {
			return err
		}
		return c.settle(ctx, s)
	})
}

// settle records the yes. If it completes the run, an earlier rejection has no use.
func (c *acceptCommand) settle(ctx context.Context, s *session) error {
	end := s.runLoop(ctx)
	if s.state.Stopped == nil || s.state.Stopped.Status != ralph.StatusCompleted {
		return end
	}
	withdrawn, err := withdraw(s.store, ralph.Message{Kind: ralph.MessageReject, Run: s.run})
	if withdrawn && !c.globals.quiet {
		fmt.Fprintln(c.errLines(), "your earlier rejection is withdrawn")
	}
	return errors.Join(end, err)
}

// rejectWork tells the agent why a person did not accept its claim.
func (c *acceptCommand) rejectWork(found foundRun) error {
	state, err := stateOf(found.store, found.id)
	if err != nil {
		return err
	}
	switch {
	case c.isOutdated(found.store, state):
		return c.refuseOutdated(state)
	case state.LiveStatus() == ralph.StatusCompleted: // a resume starts nothing, so no agent would read it
		return usage("run %s is complete, so it cannot be rejected; start a new run with ralph run", found.id)
	}
	replaced, err := withdraw(found.store, ralph.Message{Kind: ralph.MessageReject, Run: found.id})
	if err != nil {
		return err
	}
	message := ralph.Message{
		Kind: ralph.MessageReject, Run: found.id, Text: "Not accepted: " + c.reject,
		Question: "You claimed that the work is done, and a person looked at it.",
	}
	if err := sendMessage(found.store, message); err != nil {
		return err
	}
	resume := term.ResumeCommand(state)
	means := "not accepted; " + nextWords(found.store, found.id, "your words go into the next prompt: "+resume)
	if replaced {
		means = "not accepted; your words replace those of your earlier rejection: " +
			nextWords(found.store, found.id, resume)
	}
	return c.printSent("accept", "queued", found.id, means)
}

// agreeToAccept asks for consent to the own checks of settled tasks, which may run now. No agent starts, so its
// files do not matter. Checks that this run ran before need no new consent.
func (c *acceptCommand) agreeToAccept(home workspace.Workspace, plan *assembly.Plan, state *fold.State) error {
	type ownCheck struct{ task, command string }
	ran := map[ownCheck]bool{}
	note := func(results []ralph.CheckResult) {
		for _, r := range results {
			ran[ownCheck{r.Task, r.Name}] = ran[ownCheck{r.Task, r.Name}] || !r.Broken
		}
	}
	note(state.History.Baseline)
	for _, it := range state.Iterations {
		note(it.CheckResults)
	}
	var known []config.NamedCommand
	for _, command := range plan.Agreed {
		t, _ := judge.FindTask(state.History.Tasks, assembly.TaskOf(command))
		settled := t.Status == ralph.TaskDone || t.Status == ralph.TaskUnconfirmed
		switch {
		case ran[ownCheck{t.ID, command.Value}]:
			known = append(known, command)
		case settled:
			return c.consent(home, commandGroup{trust.Tasks, plan.Agreed})
		}
	}
	plan.Agreed = known
	return nil
}

// split separates the run's name from the names of tasks: a task of the newest run is a task.
func (c *acceptCommand) split(ctx context.Context, args []string) (run string, tasks []string, err error) {
	if len(args) == 0 {
		return "", nil, nil
	}
	newest, err := c.findRun(ctx, "")
	if err != nil {
		return "", nil, err
	}
	state, err := stateOf(newest.store, newest.id)
	if err != nil {
		return "", nil, err
	}
	if _, isTask := judge.FindTask(state.History.Tasks, args[0]); isTask {
		return "", args, nil
	}
	if _, err := newest.store.Resolve(args[0]); errors.Is(err, runlog.ErrNoRun) {
		return "", nil, usage("%s is neither a run here nor a task of run %s%s", args[0], newest.id, taskNames(state))
	}
	return args[0], args[1:], nil
}

// taskNames says which tasks of a run a person can accept.
func taskNames(state *fold.State) string {
	may := judge.Acceptable(state.Policy, state.History, state.Verdict)
	switch {
	case len(state.History.Tasks) == 0:
		return ", which has no task list"
	case len(may) == 0:
		return ", which has no unconfirmed task"
	}
	return "; unconfirmed: " + strings.Join(may, ", ")
}

// choose returns the tasks that are accepted, or none for the goal. It refuses what cannot be accepted.
func (c *acceptCommand) choose(state *fold.State, named []string) ([]string, error) {
	may := judge.Acceptable(state.Policy, state.History, state.Verdict)
	switch {
	case state.Stopped == nil && state.Started.InSession:
		return nil, usage("a session works on run %s, so no claim waits for a person; let its agent stop, or end the goal "+
			"with ralph goal clear", state.Run)
	case state.Phase != fold.PhaseNone:
		return nil, usage("run %s was killed before its last iteration was judged; run ralph resume first", state.Run)
	case len(may) == 0:
		return nil, usage("run %s has nothing to accept: %s", state.Run, whyNothing(state))
	case may[0] == "" && len(named) > 0:
		return nil, usage("run %s has no task list, so there is no task %s", state.Run, named[0])
	case may[0] == "":
		return nil, nil
	case c.all, len(named) == 0 && len(may) == 1:
		return may, nil
	case len(named) == 0:
		return nil, usage("name the tasks to accept, or use --all: %s", strings.Join(may, ", "))
	}
	var chosen []string
	for _, name := range named {
		t, _ := judge.FindTask(state.History.Tasks, name)
		if !slices.Contains(may, t.ID) {
			return nil, usage("task %s is not unconfirmed; unconfirmed: %s", name, strings.Join(may, ", "))
		}
		chosen = append(chosen, t.ID)
	}
	return chosen, nil
}

// whyNothing says why a person can accept nothing. A gate that is set to refuse never asks.
func whyNothing(state *fold.State) string {
	if command := term.AcceptFiles(state); command != "" {
		return fmt.Sprintf("protected files were changed: %s; if you changed them yourself: %s, then: %s",
			term.Clean(text.List(state.Tampered)), command, term.ResumeCommand(state))
	}
	refusals := ralph.RefusalsOf(state.Verdict.Gates)
	for _, r := range state.Verdict.Tasks.Refused {
		refusals = append([]ralph.Refusal{{Code: r.Code, Detail: r.Task + ": " + r.Detail}}, refusals...)
	}
	gates := map[string]string{
		ralph.RefusedNotShown: "gate.shown", ralph.RefusedNoChange: "gate.shown",
		ralph.RefusedTestsChanged: "gate.test_change", ralph.RefusedTestAware: "gate.test_change",
		ralph.RefusedTestsMissing: "gate.test_change", ralph.RefusedEnvironment: "gate.test_change",
		ralph.RefusedDependencies: "gate.test_change",
	}
	values := map[string]string{
		"gate.shown": string(state.Policy.Shown), "gate.test_change": string(state.Policy.TestChange),
	}
	const cannot = "a person cannot settle why the last claim was refused: "
	for _, r := range refusals {
		gate := gates[r.Code]
		switch said := r.Code + ": " + term.Clean(r.Detail); {
		case gate == "":
			return cannot + said
		case values[gate] != string(ralph.ShownAsk):
			return fmt.Sprintf("%s is %s, so %s%s", gate, values[gate], cannot, said)
		}
	}
	return "no claim waits for a person"
}

// personName returns the name of the person at this terminal.
func personName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "a person"
}

// weakenedTests returns what a person must look at if tests were weakened: the beginning of their patch.
func (s *session) weakenedTests(ctx context.Context, state *fold.State) string {
	tests := state.History.Now.BaseTests
	if state.Stopped.Reason != ralph.Unconfirmed || tests == nil || tests.OldPassed || s.plan == nil {
		return ""
	}
	const longest = 10 * time.Second
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer done()
	from, to := state.History.Base.Snapshot, state.History.Tree.Snapshot
	patch, _, err := workspace.SnapshotDiff(ctx, s.store.SnapshotsOf(s.plan.Worktree), from, to, s.streams.Env)
	if err != nil {
		return ""
	}
	shown := patchOf(patch, tests.Files)
	if s.streams.ErrTerm { // text from an agent must not control the terminal
		shown = strings.Join(text.Mapped(strings.Split(shown, "\n"), term.Printable), "\n")
	}
	return "The original tests fail, the changed ones pass:\n" + colorPatch(shown, s.style()) + "\n"
}
