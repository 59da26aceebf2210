package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

// SessionStep is one step of a run whose agent is a live session of another program, such as Claude Code. The first
// step opens the run and begins an iteration. A later one resumes it, judges what the session did since, and ends the
// run or begins the next iteration. In between no process works for the run, and its log says that an agent works.
type SessionStep struct {
	Session *ralph.SessionBound // to record; nil if nothing changed
	Turn    *SessionTurn        // the session's agent stopped; nil if it did not
	Order   SessionOrder
	Anew    bool // a person continues a run that had ended, so failures count from zero

	// Prompt is set by Run: what the session has to know to go on. It is empty if nothing is to be done.
	Prompt string
	// Words is set by Run: Prompt has something that people wrote since the last one.
	Words bool
}

// SessionTurn is what the agent of a session said when it stopped.
type SessionTurn struct {
	Agent   string
	Session string
	Text    string // its last message
}

// SessionOrder is what a person wants from the run of a session.
type SessionOrder string

// The orders. The step of an order judges nothing.
const (
	SessionOpen  SessionOrder = "open"  // record the files as they are; a later step runs the checks for the first time
	SessionPause SessionOrder = "pause" // the session may stop without a judgement
	SessionClear SessionOrder = "clear" // the run ends
)

// WithSession makes Run take one step of a run that a live session works for.
func WithSession(step *SessionStep) Option {
	return func(l *Loop) {
		if l.step = step; step != nil {
			l.prompter = SessionPrompt{}
		}
	}
}

// SessionPrompt builds what a live session is told. The session knows its own history, so it is short.
type SessionPrompt struct{}

// Prompt implements ralph.Prompter.
func (SessionPrompt) Prompt(_ context.Context, in ralph.PromptInput) (ralph.Prompt, error) {
	return prompt.ForSession(in), nil
}

// adapt removes from a policy what no step can do: wait, and limit the time and the spending of a session.
func (s *SessionStep) adapt(p *ralph.Policy) {
	if s == nil {
		return
	}
	p.OnDecide, p.Breaker.Cooldown, p.Breaker.Diagnose = ralph.DecideStop, 0, false
	p.MaxTime, p.MaxCost, p.MaxTokens, p.CallsPerHour, p.IterationDelay = 0, 0, 0, 0, 0
	p.IterationTimeout, p.IterationCost, p.IterationTurns, p.IdleTimeout = 0, 0, 0, 0
}

// worked returns how long the session has worked since the last event.
func (s *SessionStep) worked(state *fold.State) ralph.Span {
	if s == nil || s.Turn == nil || state.Phase != fold.PhaseBegun {
		return 0
	}
	return ralph.Span(max(time.Since(state.UpdatedAt), 0)).Rounded()
}

// take judges what the session did, if it stopped, and begins the next iteration unless the run ends.
func (s *SessionStep) take(ctx context.Context, l *Loop) ralph.Verdict {
	worksOn := ralph.Verdict{Action: ralph.GoOn}
	if v := cmp.Or(l.tests.end, l.tree.lacksBase(ctx)); v != nil {
		return *v
	}
	if s.Session != nil {
		l.run.emit(ralph.EvSessionBound, *s.Session)
	}
	switch {
	case s.Order == SessionOpen:
		l.run.sync()
		return worksOn
	case s.Order == SessionClear:
		v := judge.Abort(l.run.state.History.Breaker, ralph.Interrupted, "cleared by a person")
		v.Signal = ralph.SignalStop
		l.tree.settleIgnored(v)
		return v
	case s.Order == SessionPause:
		l.run.emit(ralph.EvLimitWait, ralph.Waiting{
			For: ralph.WaitPause, Elapsed: l.run.elapsed(), Detail: "continue with ralph goal resume",
		})
		l.run.sync()
		return worksOn
	case l.run.state.Phase == fold.PhaseBegun && (s.hasWords(l) || s.Turn == nil):
		return s.tell(ctx, l)
	case l.run.state.Phase == fold.PhaseBegun:
		l.agents.recordOutcome(s.Turn.outcome(l.run))
		l.run.sync()
	}
	if l.run.state.Phase == fold.PhaseExited {
		if v := l.judge(ctx); v.Action == ralph.Stop {
			return v
		}
	}
	return s.begin(ctx, l)
}

// begin begins the next iteration of a session, unless the run ends.
func (s *SessionStep) begin(ctx context.Context, l *Loop) ralph.Verdict {
	if done := l.provenVerdict(); done != nil {
		return *done
	}
	v := l.run.decideNow(ctx)
	if v.Action != ralph.GoOn {
		return v
	}
	prompt, over := l.begin(ctx)
	if over != nil {
		return *over
	}
	s.Prompt, s.Words = prompt, l.inbox.words > 0
	return v
}

// hasWords reads what people wrote since the iteration began, and reports whether there is anything. What is new in a
// steering file may be the agent's own, so it postpones no judgement: the next prompt has it.
func (s *SessionStep) hasWords(l *Loop) bool {
	l.inbox.readInbox(false)
	has := l.inbox.words > 0
	if has || s.Turn == nil {
		l.inbox.readSteering(ralph.SteeringDelivered)
	}
	return has
}

const personWrote = "A person wrote something that you have not read yet, so Ralph has not checked this stop. " +
	"Take it into account, then stop again.\n\n"

// tell says again what the session has to know, with what people wrote since. The iteration is not over: an agent that
// has not read their words is not done.
func (s *SessionStep) tell(ctx context.Context, l *Loop) ralph.Verdict {
	in := l.promptInput(ctx, ralph.IterationStarted{
		Ordinal: l.run.state.History.Counted + 1, Of: l.run.policy.MaxIterations,
	})
	built, err := l.run.prompt(ctx, l.prompter, in)
	if err != nil {
		return judge.Abort(l.run.state.History.Breaker, ralph.Internal, "build prompt: %v", err)
	}
	l.run.recordPrompt(built, in)
	l.run.sync()
	if s.Prompt, s.Words = built.Text, l.inbox.words > 0; s.Turn != nil {
		s.Prompt = personWrote + s.Prompt
	}
	return ralph.Verdict{Action: ralph.GoOn}
}

// outcome turns what the session's agent said into the outcome of the iteration. A stop is a claim, unless the
// agent needs a person.
func (turn SessionTurn) outcome(j *journal) ralph.AgentOutcome {
	words := promise.Options{CompletionTags: j.policy.CompletionTags, Phrases: j.policy.StatusPhrases}
	said := promise.Parse(turn.Text, words)
	if said.CompleteTag == "" && said.Blocked == nil && said.Decide == nil {
		said.Complete, said.CompleteTag = true, ralph.StopClaim
	}
	o := ralph.AgentOutcome{
		Agent: turn.Agent, End: ralph.EndOK, Session: turn.Session, Said: said, OutputBytes: int64(len(turn.Text)),
		Duration: j.before - j.state.Begun,
	}
	if j.policy.KeepAnswer {
		o.Answer, _ = text.Cut(promise.Answer(turn.Text), maxAnswer)
	}
	return o
}

// failed returns why a step failed that resumed a run. The run is not over: a later step judges what is there.
func (s *SessionStep) failed(ctx context.Context, v ralph.Verdict) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("judge the session: %w", context.Cause(ctx))
	case v.Reason == ralph.IOFailed:
		return fmt.Errorf("%w: %s", ralph.ErrIO, v.Detail)
	case v.Reason == ralph.Internal:
		return errors.New(v.Detail)
	}
	return nil
}
