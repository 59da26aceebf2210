package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/runlog"
)

// messageCommand sends a message to a run: `ralph steer` and `ralph answer`.
type messageCommand struct {
	*app
	task string // with answer: the task that asked
}

func newSteerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "steer TEXT", Short: "Give the current or next run an instruction", GroupID: "work", Annotations: byPeople,
		Long: `Give the agent an instruction. It goes first in the next iteration's prompt, of
the current or the next run, and stays in the project's STEERING.md until the
agent has followed it and removes it.`,
		Example: `  ralph steer "use the existing date parser, do not add a library"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return messageCommand{app: a}.steer(cmd.Context(), args)
		},
	}
}

func newAnswerCommand(a *app) *cobra.Command {
	c := messageCommand{app: a}
	cmd := &cobra.Command{
		Use: "answer TEXT", Short: "Answer the last run's question or blocker", GroupID: "work", Annotations: byPeople,
		Long: `Answer the last DECIDE or BLOCKED in this workspace. Question and answer go into
the next prompts. A waiting run (--on-decide wait) continues at once. If several
tasks of a list wait for an answer, --task says which one it is for.`,
		Example: `  ralph answer "REST; keep the old routes working"`,
		RunE:    func(cmd *cobra.Command, args []string) error { return c.answer(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&c.task, "task", "", "answer the question of task `ID`")
	return cmd
}

func (c messageCommand) steer(ctx context.Context, args []string) error {
	text, err := messageText("steer", args)
	if err != nil {
		return err
	}
	_, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	if err := sendMessage(store, ralph.Message{Kind: ralph.MessageSteer, Text: text}); err != nil {
		return err
	}
	if owner, live := store.Holder(); live {
		return c.printSent("steer", "delivered", owner.Run, "it goes first in the next prompt of run "+owner.Run)
	}
	means := "no run is running; it goes first in the next run's prompt"
	if run, err := store.Resolve(""); err == nil {
		means = nextWords(store, run, means)
	}
	return c.printSent("steer", "queued", "", means)
}

func (c messageCommand) answer(ctx context.Context, args []string) error {
	text, err := messageText("answer", args)
	if err != nil {
		return err
	}
	_, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	open, err := lastQuestions(store)
	if err != nil {
		return err
	}
	asked, err := c.choose(open)
	if err != nil {
		return err
	}
	replaced, err := withdraw(store, ralph.Message{Kind: ralph.MessageAnswer, Run: asked.run, Task: asked.task})
	if err != nil {
		return err
	}
	message := ralph.Message{
		Kind: ralph.MessageAnswer, Text: text, Question: asked.text, Task: asked.task, Run: asked.run,
	}
	if err := sendMessage(store, message); err != nil {
		return err
	}
	question := term.Shorten(term.Clean(asked.text), 80)
	if replaced {
		question += "; it replaces your earlier answer"
	}
	if asked.live {
		means := "run " + asked.run + " continues with it; it asked: " + question
		return c.printSent("answer", "delivered", asked.run, means)
	}
	means := "run " + asked.run + " asked: " + question +
		"; " + nextWords(store, asked.run, "the answer goes into the next prompt of ralph resume or ralph run")
	return c.printSent("answer", "queued", asked.run, means)
}

// choose returns the question that an answer is for.
func (c messageCommand) choose(open []question) (question, error) {
	ids := text.Mapped(open, func(q question) string { return q.task })
	i := slices.Index(ids, c.task)
	switch {
	case len(open) == 0:
		return question{}, usage("refused: the last run in this workspace has no open question or blocker")
	case c.task != "" && i < 0:
		return question{}, usage("refused: no open question is of task %s; ralph status shows the open ones", c.task)
	case c.task == "" && len(open) > 1:
		return question{}, usage("refused: %d questions are open; say with --task which one it answers (%s)", len(open),
			text.List(ids))
	}
	return open[max(i, 0)], nil
}

// withdraw removes messages like this one that are still in the inbox. It reports whether there were any.
func withdraw(store *runlog.Store, like ralph.Message) (bool, error) {
	found := false
	messages, _ := store.Messages()
	for _, message := range messages {
		if isLike(message, like) {
			if err := store.Ack(message.ID); err != nil {
				return found, err
			}
			found = true
		}
	}
	return found, nil
}

// isLike reports whether two messages are of one kind, for one run and about one task.
func isLike(a, b ralph.Message) bool { return a.Kind == b.Kind && a.Run == b.Run && a.Task == b.Task }

// rejected reports whether a person rejected the work of a run, and no agent has read it yet.
func rejected(store *runlog.Store, run string) bool {
	messages, _ := store.Messages()
	return slices.ContainsFunc(messages, func(message ralph.Message) bool {
		return message.Kind == ralph.MessageReject && message.Run == run
	})
}

// messageText returns the text of a message, which must be one argument.
func messageText(command string, args []string) (string, error) {
	switch {
	case len(args) == 0 || strings.TrimSpace(args[0]) == "":
		return "", usage(`ralph %s needs a text: ralph %s "…"`, command, command)
	case len(args) > 1:
		return "", usage("the text must be one argument; put it in quotes: ralph %s %q", command, strings.Join(args, " "))
	}
	return args[0], nil
}

func sendMessage(store *runlog.Store, message ralph.Message) error {
	_, err := store.SendMessage(message)
	if errors.Is(err, runlog.ErrInvalidMessage) {
		return usage("refused: %v", err)
	}
	return err
}

// question is what an agent asked.
type question struct {
	run  string
	task string // the task that waits for the answer; "" for the run itself
	text string
	live bool // the run is running and receives the answer

	steering []ralph.SteeringSeen // what the run knew of the steering files when it asked
}

// lastQuestions returns the questions of the newest run that have no answer yet.
func lastQuestions(store *runlog.Store) ([]question, error) {
	runs, err := store.Runs()
	if err != nil || len(runs) == 0 || runs[0].Broken != "" {
		return nil, err
	}
	state, err := stateOf(store, runs[0].Run)
	if err != nil {
		return nil, err
	}
	return text.Mapped(fold.OpenQuestions(state), func(q fold.Question) question {
		return question{runs[0].Run, q.Task, q.Text, runs[0].Live, state.Steering}
	}), nil
}

// openQuestion returns the questions of an earlier run that have no answer, so that the next run
// knows them.
func openQuestion(store *runlog.Store) question {
	open, _ := lastQuestions(store)
	messages, _ := store.Messages()
	open = slices.DeleteFunc(open, func(q question) bool {
		answer := ralph.Message{Kind: ralph.MessageAnswer, Run: q.run, Task: q.task}
		return q.live || slices.ContainsFunc(messages, func(m ralph.Message) bool { return isLike(m, answer) })
	})
	if len(open) == 0 {
		return question{}
	}
	asked := text.Mapped(open, func(q question) string { return strings.TrimPrefix(q.task+": "+q.text, ": ") })
	open[0].text = strings.Join(asked, "\n")
	return open[0]
}

// orderCommand gives an order to the current run: `ralph stop` and `ralph pause`.
type orderCommand struct {
	*app
	order runlog.Order
	means string // what the run does then, printed when the order was delivered
}

func newStopCommand(a *app) *cobra.Command {
	return orderCommand{a, runlog.Stop, "stops after this iteration"}.build("Stop the current run after this iteration")
}

func newPauseCommand(a *app) *cobra.Command {
	c := orderCommand{a, runlog.Pause, "pauses after this iteration; continue with ralph resume"}
	return c.build("Pause the current run after this iteration")
}

func (c orderCommand) build(short string) *cobra.Command {
	return &cobra.Command{
		Use: string(c.order), Short: short, GroupID: "work", Args: noArguments, Annotations: outside,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
}

// run puts the order into the inbox of the current run.
func (c orderCommand) run(ctx context.Context) error {
	workspace, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	owner, live := store.Holder()
	if !live && c.order == runlog.Stop {
		if run, containers, err := (elsewhere{c.app, store}).endLast(ctx); containers > 0 || err != nil {
			return cmp.Or(err, c.printSent(string(c.order), "ended", run, "run "+run+" had died; its containers are removed"))
		}
	}
	if !live {
		if run, killed := c.killDead(store); killed > 0 {
			return c.printSent(string(c.order), "killed", run,
				fmt.Sprintf("%s that run %s left; its own process is gone", term.Count(killed, "process"), run))
		}
		return usage("refused: no run is running in %s", workspace.Dir)
	}
	err = store.Send(owner.Run, c.order)
	// A run that has the lock may not have opened its log yet.
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < startTries; tries++ {
		time.Sleep(startPause)
		err = store.Send(owner.Run, c.order)
	}
	if err != nil {
		return err
	}
	return c.printSent(string(c.order), "delivered", owner.Run, "run "+owner.Run+" "+c.means)
}

// killDead kills what the newest run left, if the order is to stop. It returns the run and how many processes there
// were.
func (c orderCommand) killDead(store *runlog.Store) (run string, killed int) {
	runs, err := store.Runs()
	if err != nil || len(runs) == 0 || c.order != runlog.Stop {
		return "", 0
	}
	run = byActivity(runs)[0].Run
	killed, _ = deadRun(store, run).Kill()
	return run, killed
}

// The time that a run has to open its log once it holds the lock.
const (
	startTries = 50
	startPause = 20 * time.Millisecond
)
