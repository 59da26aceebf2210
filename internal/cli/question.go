package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/runlog"
)

// judgedWork is what a person was asked about: the files that an iteration left. A yes is for nothing else.
type judgedWork struct {
	iteration int
	tree      string
}

func judgedIn(state *fold.State) judgedWork {
	return judgedWork{state.History.Started, state.History.Now.Tree.ID()}
}

// canAsk reports whether a person is at the terminal. Where the environment says CI, a terminal has no person.
func (a *app) canAsk() bool {
	scripted := a.streams.Env.CI || a.wantsJSON() || a.globals.quiet || a.globals.plain
	return a.streams.InTerm && a.streams.ErrTerm && !scripted
}

// askToAccept asks the person at the terminal about a run that ended as unconfirmed. Without a person, and when the
// run's time is over, it returns the run's own end.
func (a *app) askToAccept(ctx context.Context, state *fold.State, end error) error {
	status, ended := errors.AsType[exitStatus](end)
	if !ended || int(status) != ralph.ExitCode(ralph.Unconfirmed, "") || !a.canAsk() {
		return end
	}
	may := judge.Acceptable(state.Policy, state.History, state.Verdict)
	limit := state.Policy.MaxTime
	if limit > 0 && state.Elapsed >= limit || len(may) == 0 {
		return end
	}
	waiting, done := ctx, func() {}
	if limit > 0 {
		waiting, done = context.WithTimeout(ctx, (limit - state.Elapsed).Duration())
	}
	defer done()
	fmt.Fprint(a.errLines(), "\n"+questionAbout(may))
	fmt.Fprint(a.streams.Err, " ") // wrapped lines lose it
	answer, err := a.readLine(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintln(a.streams.Err, "\nthe run's time is over; decide later with ralph accept")
	}
	if err != nil || answer == "" || strings.EqualFold(answer, "n") || strings.EqualFold(answer, "no") {
		return end
	}
	judged := judgedIn(state)
	c := &acceptCommand{resumeCommand: resumeCommand{app: a}, asked: &judged}
	tasks := tasksNamed(answer, may)
	switch {
	case isYes(answer):
		c.all = true
	case len(tasks) == 0:
		c.reject = answer
	}
	if err := c.run(ctx, append([]string{state.Run}, tasks...)); err != nil || c.reject == "" {
		return err
	}
	return end
}

// questionAbout is the question whether a person accepts the goal (""), or tasks.
func questionAbout(may []string) string {
	yes := "y: yes"
	if may[0] != "" {
		yes = "y: yes, all unconfirmed tasks (" + strings.Join(may, ", ") + "); a task's name: only that one"
	}
	return "Accept this work? " + yes + "; n or Enter: decide later; " +
		"other words: no, and ralph resume tells them to the agent:"
}

func isYes(answer string) bool {
	return slices.Contains([]string{"y", "yes", "ok"}, strings.ToLower(answer))
}

// tasksNamed returns the tasks in an answer that has nothing but their names, or nil.
func tasksNamed(answer string, may []string) []string {
	names := strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' })
	for i, name := range names {
		at := slices.IndexFunc(may, func(id string) bool { return strings.EqualFold(id, name) })
		if at < 0 {
			return nil
		}
		names[i] = may[at]
	}
	return names
}

// readLine reads a line from the terminal without the spaces around it. It does not wait longer than the context
// lasts. Then its goroutine stays until the process ends, because a terminal cannot be told to stop reading.
func (a *app) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(a.streams.In).ReadString('\n')
		read <- answer{strings.TrimSpace(line), err}
	}()
	select {
	case got := <-read:
		return got.line, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// isOutdated reports whether an answer at the question is about work that is not the newest: the run went on since,
// or another one started.
func (c *acceptCommand) isOutdated(store *runlog.Store, state *fold.State) bool {
	if c.asked == nil {
		return false
	}
	newest, err := store.Resolve("")
	unconfirmed := state.Stopped != nil && state.Stopped.Reason == ralph.Unconfirmed
	return *c.asked != judgedIn(state) || !unconfirmed || err == nil && newest != state.Run
}

// refuseOutdated refuses an answer to an earlier question and returns how the run ended since.
func (c *acceptCommand) refuseOutdated(state *fold.State) error {
	fmt.Fprint(c.errLines(), "your answer was not used: the run continued since you were asked; see ralph status and "+
		"ralph diff\n")
	switch {
	case state.Stopped == nil:
		return exitStatus(ralph.ExitCode(ralph.Unconfirmed, ""))
	case state.Stopped.ExitCode == 0:
		return nil
	}
	return exitStatus(state.Stopped.ExitCode)
}
