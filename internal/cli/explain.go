package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/judge"
)

// explainCommand is `ralph explain`.
type explainCommand struct {
	*app
	iteration int // show only this one; 0 shows all
}

func newExplainCommand(a *app) *cobra.Command {
	c := &explainCommand{app: a}
	cmd := &cobra.Command{
		Use:     "explain [RUN] [ITER]",
		Short:   "Show why each iteration continued or stopped",
		GroupID: "look",
		Args:    atMostTwo,
		Long: `Show why each iteration continued or stopped, gate by gate, and why cases of the
built-in worker were refused. Ralph re-evaluates everything from the log.`,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("iteration") && c.iteration < 1 {
				return usage("--iteration %d: iterations start at 1", c.iteration)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name, iteration, err := runAndIteration(args)
			if err == nil && iteration == 0 {
				err = usage("explain 0: iterations start at 1")
			}
			if err != nil {
				return err
			}
			c.iteration = max(c.iteration, iteration)
			return a.withRun(c.run)(cmd, []string{name})
		},
	}
	cmd.Flags().IntVar(&c.iteration, "iteration", 0, "only iteration `N`")
	return cmd
}

func (c *explainCommand) run(_ context.Context, run foundRun) error {
	judgements, err := fold.Replay(run.events(), func(p ralph.Policy) ralph.Policy { return p })
	if err != nil {
		return fmt.Errorf("explain %s: %w", run.id, err)
	}
	if c.iteration > 0 {
		judgements = slices.DeleteFunc(judgements, func(j fold.Judgement) bool {
			return j.Iteration != c.iteration || !j.Judged
		})
		if len(judgements) == 0 {
			return usage("run %s has no verdict for iteration %d", run.id, c.iteration)
		}
	}
	if c.wantsJSON() {
		return c.printJSON(map[string]any{"run_id": run.id, "verdicts": judgements})
	}
	state, err := stateOf(run.store, run.id)
	if err != nil {
		return err
	}
	notes, err := stashNotes(run.events())
	if err != nil {
		return fmt.Errorf("explain %s: %w", run.id, err)
	}
	fmt.Fprintf(c.streams.Out, "%srun %s\n", demoMark(state.Started.Demo), run.id)
	if state.Tests != nil && c.iteration == 0 {
		fmt.Fprintf(c.streams.Out, "tests first: %s\n", term.Clean(state.Tests.String()))
	}
	last := c.iteration
	for _, j := range judgements {
		printInterrupted(c.streams.Out, state, last, j.Iteration)
		last = j.Iteration
		printJudgement(c.streams.Out, j, state.Policy.Agents)
		for _, line := range notes[j.Iteration] {
			fmt.Fprintf(c.streams.Out, "  %s\n", term.Clean(line))
		}
		delete(notes, j.Iteration)
	}
	if state.Stopped != nil {
		fmt.Fprintln(c.streams.Out, term.ResultLine(state))
	}
	return nil
}

func printDenials(out io.Writer, agent ralph.AgentOutcome) {
	for _, denial := range agent.Denials {
		fmt.Fprintf(out, "  ! denied: %s\n", term.Clean(denial))
	}
	for _, allow := range agent.Allow {
		fmt.Fprintf(out, "    to allow it: ralph run … %s\n", term.Clean(allow))
	}
}

// printInterrupted names the interrupted iterations between two judged ones. They have no verdict.
func printInterrupted(out io.Writer, state *fold.State, after, before int) {
	for _, it := range state.Iterations {
		if it.Iteration > after && it.Iteration < before && it.Error != nil {
			fmt.Fprintf(out, "\niteration %d: %s before its agent ended; "+
				"it was not judged and does not count toward the limit\n", it.Iteration, term.Clean(*it.Error))
		}
	}
}

// stashNotes says, by iteration, what happened to the work on a task that was given up.
func stashNotes(events iter.Seq2[ralph.Event, error]) (map[int][]string, error) {
	notes := map[int][]string{}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		switch data := e.Data.(type) {
		case ralph.WorkStashed:
			see := fmt.Sprintf("see it with ralph diff %s --task %s", e.Run, data.Task)
			write := fmt.Sprintf("write it out with ralph restore %s %d --to DIR", e.Run, data.Iteration)
			notes[data.Iteration] = append(notes[data.Iteration], "- its work is stashed: "+see+", "+write)
		case ralph.WorkRestored:
			const restored = "- its work was restored"
			text := fmt.Sprintf(restored+" before iteration %d", e.Iteration)
			if data.Stayed {
				text = "- its work could not be stashed and stayed in the tree"
			} else if data.Why != "" {
				text = fmt.Sprintf("! its work was not restored before iteration %d: %s", e.Iteration, data.Why)
				// The loop had recorded the restore before it tried it. Drop the note of that event.
				earlier := notes[data.Iteration]
				if n := len(earlier); n > 0 && strings.HasPrefix(earlier[n-1], restored) {
					notes[data.Iteration] = earlier[:n-1]
				}
			}
			notes[data.Iteration] = append(notes[data.Iteration], text)
		}
	}
	return notes, nil
}

func printJudgement(out io.Writer, j fold.Judgement, agents []string) {
	who := ""
	if len(agents) > 1 {
		who = ", " + term.Clean(j.Seen.Agent.Agent)
	}
	if !j.Judged {
		fmt.Fprintf(out, "\nbetween iterations: %s\n", verdictText(j.Again))
	} else {
		fmt.Fprintf(out, "\niteration %d%s: %s\n  verdict: %s\n", j.Iteration, who, claimText(j), verdictText(j.Again))
		printCases(out, j)
		printTasks(out, j)
		printDenials(out, j.Seen.Agent)
	}
	for _, gate := range j.Again.Gates {
		fmt.Fprintf(out, "  %s %s%s\n", cmp.Or(gateMarks[gate.State], "-"), gate.Name, gateText(gate))
	}
	if len(j.Again.Gates) == 0 && j.Judged {
		fmt.Fprintf(out, "  %s, so the gates were not checked%s\n", whyNoGate(j), passedText(j))
	}
	printTables(out, j.Seen.Checks)
	printFailedChecks(out, j.Seen.Checks)
	if !j.Same() {
		fmt.Fprintf(out, "  ! the log recorded a different verdict: %s\n", verdictText(j.Recorded))
	}
}

// passedText says that every check passed, where no gate says it.
func passedText(j fold.Judgement) string {
	if judge.AllPassed(j.Seen.Checks) {
		return "; every check passed"
	}
	return ""
}

// outputLines is how much of a failed check's output is shown.
const outputLines = 15

// printFailedChecks shows the end of what failed checks printed. A hidden check stays hidden: an agent may read this.
func printFailedChecks(out io.Writer, checks []ralph.CheckResult) {
	for _, c := range checks {
		text := strings.TrimSpace(c.Output)
		if c.Passed || c.Hidden || text == "" {
			continue
		}
		fmt.Fprintf(out, "  output of %s:\n", term.Clean(c.FullName()))
		lines := strings.Split(text, "\n")
		if n := len(lines) - outputLines; n > 0 {
			lines = lines[n:]
			fmt.Fprintln(out, "    | …")
		}
		for _, line := range lines {
			fmt.Fprintf(out, "    | %s\n", term.Printable(strings.TrimRight(line, "\r")))
		}
	}
}

func whyNoGate(j fold.Judgement) string {
	switch {
	case len(j.Again.Tasks.Refused)+len(j.Again.Tasks.Done) > 0:
		return "the agent did not claim completion, and tasks are open"
	case refusedCases(j) > 0:
		return "no case was accepted"
	}
	if block := j.Seen.Agent.Said.Status; block != nil && block.WhyNoClaim() != "" {
		return "the agent's status block is not a claim: " + block.WhyNoClaim()
	}
	return "the agent made no claim"
}

// refusedCases counts the refused cases of an agent, or returns 0 if one of its cases was
// accepted.
func refusedCases(j fold.Judgement) int {
	if slices.ContainsFunc(j.Cases, func(c ralph.CaseRecord) bool { return c.Answer != nil && c.Answer.Accepted }) {
		return 0
	}
	return len(j.Cases)
}

// printCases prints the outcome of every case that the agent submitted, and evaluator answers that
// Ralph could not use.
func printCases(out io.Writer, j fold.Judgement) {
	for _, c := range j.Cases {
		summary := term.Shorten(term.Clean(c.Summary), 200)
		if c.Untestable != "" {
			summary += "; no test can show it: " + term.Shorten(term.Clean(c.Untestable), 200)
		}
		switch {
		case c.Answer == nil:
			fmt.Fprintf(out, "  - case %d got no answer: %s\n", c.Round, summary)
		case c.Answer.Accepted:
			fmt.Fprintf(out, "  ✓ case %d accepted: %s\n", c.Round, summary)
		default:
			fmt.Fprintf(out, "  ✗ case %d refused: %s\n", c.Round, summary)
			printRefusals(out, *c.Answer)
		}
	}
	for _, e := range j.Evaluations {
		if e.Problem != "" {
			agent, problem := term.Clean(e.Agent), term.Clean(e.Problem)
			fmt.Fprintf(out, "  ! an answer of evaluator %s was invalid: %s\n", agent, problem)
		}
	}
}

func printRefusals(out io.Writer, c ralph.CaseAnswered) {
	for _, r := range c.Refusals {
		fmt.Fprintf(out, "    %s: %s\n", term.Clean(r.Code), term.Clean(r.Detail))
	}
	for _, r := range c.Tasks {
		fmt.Fprintf(out, "    %s, %s: %s\n", term.Clean(r.Task), term.Clean(r.Code), term.Clean(r.Detail))
	}
}

// printTasks prints the outcome of the claim for each task, and whether the agent claimed it by
// marking the list.
func printTasks(out io.Writer, j fold.Judgement) {
	tasks := j.Again.Tasks
	if tasks.Current != "" {
		fmt.Fprintf(out, "  task: %s\n", tasks.Current)
	}
	how := func(id string) string {
		if slices.Contains(j.Seen.Listed, id) {
			return " (marked in the list)"
		}
		return ""
	}
	for _, id := range tasks.Done {
		by, ok := judge.FindShowing(tasks.Shown, id)
		switch {
		case !ok:
			fmt.Fprintf(out, "  ✓ %s proven%s\n", id, how(id))
		case by.By == ralph.ShownByNothing:
			fmt.Fprintf(out, "  ! %s done%s, but nothing shows it%s\n", id, how(id), inParentheses(by.Why))
		default:
			fmt.Fprintf(out, "  ✓ %s proven%s: %s\n", id, how(id), term.Clean(judge.DescribeShowing(by)))
		}
	}
	for _, r := range tasks.Unconfirmed {
		fmt.Fprintf(out, "  ? %s claimed%s, for a person to decide (%s: %s)\n", r.Task, how(r.Task), r.Code,
			term.Clean(r.Detail))
	}
	for _, r := range tasks.Refused {
		fmt.Fprintf(out, "  ✗ %s claimed%s, not proven (%s: %s)\n", r.Task, how(r.Task), r.Code, term.Clean(r.Detail))
	}
	for _, id := range tasks.Regressed {
		fmt.Fprintf(out, "  ! %s was done, but its own check fails again\n", id)
	}
	for _, damage := range j.Seen.ListDamage {
		fmt.Fprintf(out, "  ! Ralph undid a change to the list: %s\n", term.Clean(damage))
	}
	if tasks.GivenUp != "" {
		fmt.Fprintf(out, "  ✗ %s abandoned\n", tasks.GivenUp)
	}
	if tasks.Question != "" {
		fmt.Fprintf(out, "  %s waits for an answer: %s\n", tasks.Current, term.Clean(tasks.Question))
	}
}

func inParentheses(why string) string {
	if why == "" {
		return ""
	}
	return " (" + term.Clean(why) + ")"
}

func claimText(j fold.Judgement) string {
	agent := j.Seen.Agent
	said := "no claim"
	switch claimed := len(j.Again.Tasks.Done) + len(j.Again.Tasks.Refused) + len(j.Again.Tasks.Unconfirmed); {
	case j.Again.Claimed:
		said = "the agent claims completion"
	case claimed == 1:
		said = "the agent claims a task"
	case claimed > 1:
		said = fmt.Sprintf("the agent claims %d tasks", claimed)
	case refusedCases(j) == 1:
		said = "1 case, not accepted"
	case refusedCases(j) > 1:
		said = fmt.Sprintf("%d cases, none accepted", refusedCases(j))
	}
	if agent.Said.Blocked != nil {
		said += ", BLOCKED"
	}
	if agent.Said.Decide != nil {
		said += ", DECIDE"
	}
	if agent.Said.Untestable != nil {
		said += ", UNTESTABLE"
	}
	if agent.End != ralph.EndOK {
		said += fmt.Sprintf("; the agent ended with %s: %s", agent.End, term.Clean(agent.Error))
	}
	return said
}

func verdictText(v ralph.Verdict) string {
	switch v.Action {
	case ralph.Stop:
		return fmt.Sprintf("stop, %s: %s", v.Reason, term.Clean(v.Detail))
	case ralph.Wait:
		return fmt.Sprintf("wait %s for %s: %s", term.Seconds(v.Wait), v.WaitFor, term.Clean(v.Detail))
	}
	if v.Cooldown != nil || v.Escalates {
		return "continue: " + term.Clean(v.Detail)
	}
	return "continue"
}

var gateMarks = map[ralph.GateState]string{ralph.GateOpen: "✓", ralph.GateShut: "✗", ralph.GateWarned: "!"}

func gateText(g ralph.Gate) string {
	text := term.Clean(g.Detail)
	if g.Refusal != "" {
		text = g.Refusal + ": " + text
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// replayCommand is `ralph replay`.
type replayCommand struct{ *app }

func newReplayCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "replay [RUN]", Short: "Re-evaluate a recorded run", GroupID: "look",
		Long: `Evaluate a recorded run again from its log, without running an agent. Change the
rules with --set key=value to see what a stricter gate would have decided.`,
		Example: "  ralph replay --set gate.unfinished=refuse",
		Args:    atMostOne,
		RunE:    a.withRun(replayCommand{a}.run),
	}
}

func (c replayCommand) run(_ context.Context, run foundRun) error {
	overlay, err := config.PolicyOverlay(c.globals.set)
	if err != nil {
		return err
	}
	judgements, err := fold.Replay(run.events(), overlay)
	if err != nil {
		return fmt.Errorf("replay %s: %w", run.id, err)
	}
	different := 0
	for _, j := range judgements {
		if !j.Same() {
			different++
		}
	}
	if c.wantsJSON() {
		return c.printJSON(map[string]any{"run_id": run.id, "verdicts": judgements, "different": different})
	}
	for _, j := range judgements {
		mark, was := "=", ""
		if !j.Same() {
			mark, was = "≠", "; recorded: "+verdictText(j.Recorded)
		}
		fmt.Fprintf(c.streams.Out, "%s iteration %d: %s%s\n", mark, j.Iteration, verdictText(j.Again), was)
		for _, r := range j.Again.Refusals() {
			fmt.Fprintf(c.streams.Out, "    refused %s: %s\n", r.Code, term.Clean(r.Detail))
		}
		for _, r := range j.Again.Tasks.Refused {
			fmt.Fprintf(c.streams.Out, "    refused %s, %s: %s\n", r.Task, r.Code, term.Clean(r.Detail))
		}
	}
	fmt.Fprintf(c.streams.Out, "verdicts: %d, different from the log: %d\n", len(judgements), different)
	return nil
}
