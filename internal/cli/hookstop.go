package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

const (
	hookPoll     = 20 * time.Millisecond
	hookMargin   = 10 * time.Second // between our answer and the end of the hook's time
	judgePatient = time.Minute      // how long a judgement waits for the workspace's lock
)

// stop judges the goal of a session that wants to end.
func (c *hookCommand) stop(ctx context.Context, in hookInput) (hookOutput, error) {
	begun := time.Now()
	longest, err := config.ParseLength(c.timeout)
	if err != nil || longest == 0 {
		return hookOutput{}, usage("--timeout %s: choose a time such as 90s, 10m or 2h", c.timeout)
	}
	deadline := begun.Add(longest.Duration() - min(hookMargin, longest.Duration()/5))
	store, goal, ok, err := c.find(in)
	switch {
	case err != nil || !ok:
		return hookOutput{}, err
	case goal.Paused:
		return hookOutput{Message: "ralph: the goal is paused; ralph goal resume continues it"}, nil
	}
	what := runlog.Judging{Text: in.lastMessage(), Calling: in.calling} // before the lock: reading takes time
	for tries := 0; ; {
		err := runlog.EditGoal(store, func(g *runlog.Goal) error {
			if err := in.bind(g); err != nil {
				return err
			}
			if !in.Again && tries == 0 { // a new turn of the user
				g.Blocks = 0
			}
			if g.Answer.IsFor(begun) || g.Ended != "" || g.Judging.Alive() {
				return nil
			}
			if g.Untold {
				g.Untold, g.Answer = false, &runlog.GoalAnswer{Block: true, Text: g.Prompt, Given: time.Now()}
				return nil
			}
			if tries++; tries > 2 {
				return errors.New(strings.TrimSuffix("the process that judges it ended without an answer: "+
					runlog.LastWords(store, g.Run), ": "))
			}
			return startJudge(c.app, g, what)
		})
		switch {
		case errors.Is(err, errOther):
			return hookOutput{}, nil
		case err != nil:
			return hookOutput{}, errors.Join(err, noteTrouble(store, err))
		}
		answer, err := awaitAnswer(ctx, store, begun, deadline)
		if err == nil && answer != nil && answer.Begun.Before(begun) {
			answer, err = c.review(ctx, store, goal.Workspace, *answer)
		}
		if err != nil || answer != nil {
			return c.passOn(store, in, answer, err)
		}
	}
}

// review looks whether an answer to an earlier stop still holds: the session may have worked on since. It returns nil
// if the stop must be judged again.
func (c *hookCommand) review(
	ctx context.Context, store *runlog.Store, folder string, answer runlog.GoalAnswer,
) (*runlog.GoalAnswer, error) {
	if answer.Tree == "" {
		return &answer, nil
	}
	home, err := workspace.Find(ctx, c.streams.Dir, folder, c.streams.Env)
	if err != nil {
		return nil, err
	}
	switch {
	case identify(ctx, home) == answer.Tree:
		return &answer, nil
	case !answer.Block:
		answer.Text += "; files changed since then, which nothing proves"
		return &answer, nil
	}
	return nil, runlog.EditGoal(store, func(g *runlog.Goal) error {
		if g.Answer != nil && g.Answer.Given.Equal(answer.Given) {
			g.Answer = nil
		}
		return nil
	})
}

// identify returns a text that differs if the tree differs, or if that is unknown.
func identify(ctx context.Context, home workspace.Workspace) string {
	tree, err := home.Identify(ctx)
	if err != nil {
		return "unknown at " + time.Now().String()
	}
	return tree
}

// startJudge starts the process that judges a stop, in a session of its own: it may take longer than the hook.
func startJudge(a *app, g *runlog.Goal, what runlog.Judging) error {
	argv := []string{a.streams.Self, "-C", g.Workspace, "hook", "judge", g.Run}
	store, err := runlog.Open(a.streams.Env.StateDir, g.Workspace)
	if err != nil {
		return err
	}
	// The variables with which the goal was set: an agent chooses those of a hook that it calls.
	environ, err := runlog.ReadEnvironment(store, g.Run)
	if err != nil {
		return err
	}
	output, err := runlog.JudgeOutput(store, g.Run)
	if err != nil {
		return err
	}
	defer output.Close()
	pid, err := process.Detach(argv, g.Workspace, environ, output)
	if err != nil {
		return err
	}
	what.Owner = ownerFor(g.Run)
	what.PID = pid
	what.Identity, _ = process.Identity(pid)
	g.Judging, g.Answer = &what, nil
	return nil
}

// errStillChecking means that the hook's time is up before the judgement.
var errStillChecking = errors.New("still checking")

// awaitAnswer waits until the stop is judged. It returns nil if the process that judges is gone.
func awaitAnswer(ctx context.Context, store *runlog.Store, begun, deadline time.Time) (*runlog.GoalAnswer, error) {
	for {
		goal, ok, err := runlog.ReadGoal(store)
		switch {
		case err != nil:
			return nil, err
		case goal.Answer.IsFor(begun):
			return goal.Answer, nil
		case !ok || goal.Ended != "" || goal.Paused: // a person cleared or paused it
			return &runlog.GoalAnswer{}, nil
		case !goal.Judging.Alive():
			// it may have answered at the last moment
			if again, _, _ := runlog.ReadGoal(store); !again.Answer.IsFor(begun) {
				return nil, nil
			}
			continue
		case time.Now().After(deadline):
			return nil, errStillChecking
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		time.Sleep(hookPoll)
	}
}

// passOn turns the judgement into the hook's answer, and counts how often the session was blocked.
func (c *hookCommand) passOn(
	store *runlog.Store, in hookInput, answer *runlog.GoalAnswer, err error,
) (hookOutput, error) {
	if errors.Is(err, errStillChecking) {
		answer, err = &runlog.GoalAnswer{Block: true, Text: "Ralph is still checking the goal: the checks take longer than " +
			"this hook may. Change nothing and stop again; the next stop waits for the same checks."}, nil
	}
	if err != nil {
		return hookOutput{}, err
	}
	blocks := 0
	edited := runlog.EditGoal(store, func(g *runlog.Goal) error {
		isLast := g.Answer != nil && g.Answer.Given.Equal(answer.Given)
		if answer.Block && !(isLast && g.Answer.Passed) {
			g.Blocks++
		}
		if isLast {
			g.Answer.Passed = true
		}
		blocks = g.Blocks
		return nil
	})
	switch {
	case answer.Trouble != "":
		return hookOutput{}, errors.New(answer.Trouble)
	case !answer.Block && answer.Text == "":
		return hookOutput{}, edited
	case !answer.Block:
		return hookOutput{Message: "ralph: " + answer.Text}, edited
	}
	out := hookOutput{Decision: "block", Reason: answer.Text}
	if limit := c.streams.Env.StopBlocks(in.agent()); limit > 0 && blocks >= limit-1 {
		out.Message = fmt.Sprintf("ralph: this is block %d in a row, and Claude Code ends the turn after %d; the goal stays "+
			"active, so write to the session to continue, or raise CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", blocks, limit)
	}
	return out, edited
}

func noteTrouble(store *runlog.Store, err error) error {
	return runlog.EditGoal(store, func(g *runlog.Goal) error { g.Trouble = text.OneLine(err.Error()); return nil })
}

// longestMessage is how much of the agent's last message is judged. A tag comes at its end.
const longestMessage = 64 << 10

// lastMessage returns what the agent said last. Older versions do not pass it, so it is in the transcript.
func (in hookInput) lastMessage() string {
	if in.Message == nil {
		message := lastInTranscript(in.Transcript)
		in.Message = &message
	}
	short, _ := text.KeepTail(*in.Message, longestMessage)
	return short
}

// lastInTranscript reads the text of the last message of the agent from the end of a transcript of Claude Code.
func lastInTranscript(path string) string {
	const end = 1 << 20
	// The session's agent can put a pipe there, which would keep the hook from ending.
	file, err := os.OpenFile(filepath.Clean(path), os.O_RDONLY|textfile.NonBlocking, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() > end {
		_, _ = file.Seek(-end, io.SeekEnd)
	}
	tail, _ := io.ReadAll(io.LimitReader(file, end))
	said := ""
	for line := range bytes.Lines(tail) {
		var entry struct {
			Type    string `json:"type"`
			Aside   bool   `json:"isSidechain"`
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &entry) != nil || entry.Type != "assistant" || entry.Aside {
			continue
		}
		var blocks []struct{ Type, Text string }
		if json.Unmarshal(entry.Message.Content, &blocks) != nil {
			continue
		}
		for _, block := range blocks {
			if block.Type == "text" {
				said = block.Text
			}
		}
	}
	return said
}

// judge is the process that judges one stop of a session. Its answer is for the hook that waits, or for the next one.
// If it ran the checks for the first time, it has one only if the goal ended: a hook that waits judges its stop then.
func (c *hookCommand) judge(ctx context.Context, run string) error {
	ownOrphans(c.streams.Err)
	found, err := c.findRun(ctx, run)
	if err != nil {
		return err
	}
	var goal runlog.Goal
	// The hook that started this process may still be writing what is to be judged.
	err = runlog.EditGoal(found.store, func(g *runlog.Goal) error { goal = *g; return nil })
	if err != nil || goal.Run != found.id || goal.Judging == nil || goal.Judging.PID != os.Getpid() {
		return cmp.Or(err, usage("only ralph hook stop starts this, if run %s is the goal of a session", run))
	}
	answer, note := runlog.GoalAnswer{}, func(*runlog.Goal) {}
	held, err := runlog.LockWithin(found.store, ownerFor(found.id), judgePatient)
	if err == nil {
		defer held.Release() // when hooks can see what was judged
		answer, note, err = c.judgeStop(ctx, held, found, goal)
	}
	if err != nil {
		answer = runlog.GoalAnswer{Trouble: text.OneLine(err.Error())}
	}
	return runlog.EditGoal(found.store, func(g *runlog.Goal) error {
		if g.Run != found.id { // cleared meanwhile
			return nil
		}
		note(g)
		answer.Begun, answer.Given = goal.Judging.Started, time.Now()
		g.Judging, g.Answer, g.Trouble = nil, &answer, answer.Trouble
		if goal.Judging.First && answer.Text == "" && answer.Trouble == "" {
			g.Answer = nil
		}
		return nil
	})
}

// judgeStop judges a stop. It returns the answer, and what to note for hooks.
func (c *hookCommand) judgeStop(
	ctx context.Context, held *runlog.Lock, found foundRun, goal runlog.Goal,
) (answer runlog.GoalAnswer, note func(*runlog.Goal), err error) {
	note = func(*runlog.Goal) {}
	defer func() {
		if bug := recover(); bug != nil {
			err = fmt.Errorf("a bug in ralph: %v", bug)
		}
	}()
	environ, err := runlog.ReadEnvironment(found.store, found.id)
	if err == nil && !slices.Equal(environ, c.streams.Env.Environ) {
		err = errors.New("this process does not have the environment of ralph goal")
	}
	if err != nil {
		return answer, note, err
	}
	tree := identify(ctx, found.workspace) // now, because the session may work on meanwhile
	var warnings []string
	err = c.reopenHeld(held, found.store, found.id, func(s *session) error {
		if s.state.Stopped == nil {
			again := resumeCommand{app: c.app}
			agree := func(*assembly.Plan) error { return nil } // no new command starts
			var err error
			if s.plan, err = again.rebuildPlan(ctx, found.workspace, s, agree); err != nil {
				return err
			}
			known := len(s.state.Warnings)
			step := stepOf(goal, &s.state)
			hold := holdSession(cmp.Or(step.Session, s.state.Session), goal.Judging.Calling)
			if _, err := s.takeStep(ctx, step, loop.WithHold(hold)); err != nil {
				return err
			}
			note = func(g *runlog.Goal) { s.index(g, step) }
			warnings = uniqueWarnings(s.state.Warnings[min(known, len(s.state.Warnings)):])
			if step.Turn != nil {
				answer = runlog.GoalAnswer{Block: true, Text: step.Prompt}
			}
			if err := s.recordPause(ctx); err != nil {
				return err
			}
		}
		if s.state.Stopped != nil {
			answer = runlog.GoalAnswer{Text: goalEnd(s, warnings)}
		}
		if answer.Block || s.state.LiveStatus() == ralph.StatusCompleted {
			answer.Tree = tree
		}
		return nil
	})
	return answer, note, err
}

// stepOf returns what the loop has to do: run the checks for the first time, or judge a stop.
func stepOf(goal runlog.Goal, state *fold.State) *loop.SessionStep {
	step, bound := &loop.SessionStep{}, goal.Session
	if !goal.Judging.First {
		step.Turn = &loop.SessionTurn{Agent: bound.Agent, Session: bound.Session, Text: goal.Judging.Text}
	}
	if bound != nil && (state.Session == nil || *state.Session != *bound) {
		step.Session = bound
	}
	return step
}

// recordPause records a pause that a person ordered while the checks ran.
func (s *session) recordPause(ctx context.Context) error {
	goal, _, err := runlog.ReadGoal(s.store)
	if err != nil || !goal.Paused || s.state.Stopped != nil {
		return err
	}
	_, err = s.takeStep(ctx, &loop.SessionStep{Order: loop.SessionPause})
	return err
}

// uniqueWarnings returns the texts of warnings. Every process that judges a stop gives its own once.
func uniqueWarnings(warnings []ralph.Notice) []string {
	texts := []string{}
	for _, warning := range warnings {
		if !slices.Contains(texts, warning.Text) {
			texts = append(texts, warning.Text)
		}
	}
	return texts
}

// goalEnd says how a goal ended, what a person can do, and what the last judgment warned of: its output is not seen.
func goalEnd(s *session, warnings []string) string {
	end := goalResult(s)
	if len(warnings) > 0 {
		end += "; warning: " + strings.Join(warnings, "; ")
	}
	return end
}

func goalResult(s *session) string {
	end := term.ResultLine(&s.state)
	if s.state.Stopped.Status == ralph.StatusCompleted {
		return "the goal is reached: " + end
	}
	if next := term.NextCommand(&s.state); next != "" && s.state.Stopped.Status != ralph.StatusExhausted {
		end += "; next: " + next
	}
	return end
}
