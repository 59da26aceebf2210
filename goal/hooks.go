package goal

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// BeforeAgent starts or resumes a goal when a person's message arrives. A goal that is active stays so if
// the newest message has the same text or there is none. Another text, or a goal that has ended, starts a
// new run.
func (m *Middleware) BeforeAgent(s *State, messages []Message) error {
	content := objective(messages)
	task := taskText(content.text())
	switch {
	case s.Status == judge.GoalActive && (content == nil || task == s.OriginalTaskText):
		return nil
	case content == nil:
		return errors.New("start a goal: the messages have no objective, which is a message of the user")
	}
	*s = State{
		OriginalHumanContent: content, OriginalTaskText: task, Status: judge.GoalActive, RunID: ralph.NewRunID(m.Now()),
	}
	return nil
}

// objective returns the newest message of a person.
func objective(messages []Message) (content Content) {
	for _, message := range messages {
		if message.Role == User && len(message.Parts) > 0 && !isContinuation(message) {
			content = message.Parts
		}
	}
	return content
}

func isContinuation(m Message) bool {
	return m.Role == User && strings.HasPrefix(m.Text(), continuationStart)
}

// taskText returns the objective of a message, which may be the slash command.
func taskText(message string) string {
	message = strings.TrimSpace(message)
	if args, ok := commandArgs(message); ok {
		return args
	}
	return message
}

func commandArgs(message string) (args string, ok bool) {
	args, ok = strings.CutPrefix(strings.TrimSpace(message), "/"+commandName)
	return strings.TrimSpace(args), ok && strings.TrimSpace(args) != "" && strings.TrimLeft(args, " \t\n") != args
}

// Request is a call of the model.
type Request struct {
	System   string
	Messages []Message
}

// WrapModelCall prepares every call of the model. It reads the results of tools, and so must be called
// after the tools ran and before the next call. It adds the rule of completion to the system message, once.
// In a continued iteration it sends the continuation prompt and what came after it instead of the history.
func (m *Middleware) WrapModelCall(ctx context.Context, s *State, r Request) (Request, error) {
	if s.Status != judge.GoalActive {
		return r, nil
	}
	if err := m.observe(ctx, s, r.Messages); err != nil {
		return Request{}, err
	}
	return Request{System: m.withRule(r.System), Messages: history(s, r.Messages)}, nil
}

// history returns the messages to send.
func history(s *State, messages []Message) []Message {
	sent := make([]Message, 0, len(messages)+1)
	if s.Iteration == 0 {
		for _, message := range messages {
			sent = append(sent, expanded(message))
		}
		return sent
	}
	sent = append(sent, s.continuation())
	for _, message := range messages {
		isAnswer := message.Role == Assistant && len(message.Calls) == 0
		isObjective := message.Role == User && len(message.Parts) > 0 && taskText(message.Text()) == s.OriginalTaskText
		switch {
		case isAnswer || isContinuation(message):
			sent = sent[:1] // only what came after the last answer counts
		case !isObjective:
			sent = append(sent, message)
		}
	}
	return sent
}

// expanded replaces the slash command by its template.
func expanded(message Message) Message {
	args, ok := commandArgs(message.Text())
	if message.Role != User || !ok {
		return message
	}
	return Message{
		Role: User, Parts: message.Parts.withText(strings.ReplaceAll(commandTemplate, "{{args}}", args)),
		Results: message.Results,
	}
}

// Next says what an agent loop does next.
type Next string

// The next steps.
const (
	RunTools  Next = "run_tools"  // run the tools that the model called, and call the model again
	CallModel Next = "call_model" // call the model again, with Decision.Messages instead of the history
	Finish    Next = "finish"     // return Decision.Answer
)

// Decision is the answer to an agent loop after a call of the model.
type Decision struct {
	Next     Next
	Reason   judge.GoalReason // why the goal ended or continues; "" with RunTools
	Detail   string
	Messages []Message // with CallModel: the history from now on
	Answer   string    // with Finish: the model's text without the marker, and a notice if the goal is not completed
	// Warning says that a goal is completed although no verifier failed before: what passes with and without the work
	// may not show it, as after a refactoring.
	Warning string
}

// AfterModel decides about an answer of the model. One with tool calls is work, and counts as no iteration.
// Any other is final: it completes the goal if it has the marker and the evidence is there, passes and is
// fresh.
func (m *Middleware) AfterModel(ctx context.Context, s *State, answer Message) (Decision, error) {
	switch {
	case len(answer.Calls) > 0:
		return Decision{Next: RunTools}, m.await(ctx, s, answer.Calls)
	case s.Status != judge.GoalActive:
		return Decision{Next: Finish, Reason: s.StopReason, Answer: withoutMarker(answer.Text())}, nil
	}
	said := read(answer.Text())
	if said.Complete && m.Checker != nil {
		if err := m.check(ctx, s); err != nil {
			return Decision{}, err
		}
	}
	evidence, err := m.weigh(ctx, s)
	if err != nil {
		return Decision{}, err
	}
	s.Blocker = s.Blocker.After(said, evidence, s.seen())
	verdict := judge.DecideGoal(judge.GoalAnswer{
		Said: said, Evidence: evidence, Unverified: m.AllowUnverified, Blocker: s.Blocker,
		Iteration: s.Iteration, Limit: m.MaxIterations,
	})
	s.Status, s.StopReason = verdict.Status, verdict.Reason
	if verdict.Status == judge.GoalActive {
		return m.proceed(s, answer, verdict), nil
	}
	final := withoutMarker(answer.Text())
	if verdict.Status != judge.GoalCompleted {
		final = strings.TrimSpace(final + "\n\n" + m.notice(s, verdict))
	}
	d := Decision{Next: Finish, Reason: verdict.Reason, Detail: verdict.Detail, Answer: final}
	if verdict.Reason == judge.GoalVerified && !s.isShown() {
		d.Warning = "no verifier failed before in this run, so what passed may not show the work"
	}
	return d, nil
}

// await remembers calls until their results arrive.
func (m *Middleware) await(ctx context.Context, s *State, calls []ToolCall) error {
	if s.Status != judge.GoalActive {
		return nil
	}
	tree, err := m.tree(ctx)
	if err != nil {
		return err
	}
	s.Pending = &PendingCalls{Calls: calls, Tree: tree}
	if !slices.ContainsFunc(calls, m.isVerifier) {
		return nil
	}
	stamp, err := m.stampBefore(ctx)
	s.Pending.Stamp = stamp.ID
	return err
}

// proceed begins the next iteration.
func (m *Middleware) proceed(s *State, answer Message, why judge.GoalVerdict) Decision {
	s.RuntimeSummary = m.summary(s, answer.Text(), why)
	s.Iteration++
	s.Pending = nil
	s.Continuation = m.prompt(s, why)
	return Decision{
		Next: CallModel, Reason: why.Reason, Detail: why.Detail, Messages: []Message{s.continuation()},
	}
}
