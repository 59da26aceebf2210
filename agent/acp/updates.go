package acp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// update is one session/update.
type update struct {
	Kind    string      `json:"sessionUpdate"`
	Message string      `json:"messageId"`
	Status  string      `json:"status"`
	Content textContent `json:"content"`
	Plan    []planEntry `json:"entries"`
	Cost    struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	// Meta holds extensions of the protocol. The field for a sub-agent's message was found in
	// qwen's program; for the adapter for Claude Code it is known only from documentation.
	Meta struct {
		Usage      tokens `json:"usage"`
		Parent     string `json:"parentToolCallId"`
		ClaudeCode struct {
			Parent string `json:"parentToolUseId"`
		} `json:"claudeCode"`
	} `json:"_meta"`
	call toolCall
}

// UnmarshalJSON also reads the tool call that the update may be about, whose fields are beside the
// others.
func (u *update) UnmarshalJSON(text []byte) error {
	type plain update
	stream.Decode(text, (*plain)(u))
	if u.Kind == "tool_call" || u.Kind == "tool_call_update" {
		stream.Decode(text, &u.call)
	}
	return nil
}

// textContent is a piece of text. Other content has none.
type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (c textContent) text() string {
	if c.Type != "text" {
		return ""
	}
	return c.Text
}

// planEntry is one step of a plan.
type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// update handles one notification.
func (a *listener) update(m *message) {
	u := m.Params.Update
	a.Events++
	subAgent := u.Meta.Parent != "" || u.Meta.ClaudeCode.Parent != ""
	if m.Params.Session != "" && a.Session != "" && promise.OneLine(m.Params.Session, stream.MaxSession) != a.Session {
		subAgent = true
	}
	a.spend(u)
	switch u.Kind {
	case "agent_message_chunk":
		if !subAgent {
			a.thought.show()
			a.words.say(u.Message, u.Content.text())
		}
	case "agent_thought_chunk":
		a.words.end()
		a.thought.add(u.Content.text())
	case "tool_call", "tool_call_update":
		if u.Kind == "tool_call" {
			a.Evidence.Announced(u.call.id)
		}
		a.returned(a.called(u.call, u.Status), u.call.result, u.Status)
	case "plan":
		a.thought.show()
		a.Live(ralph.Activity{Kind: "plan", Name: "plan", Detail: promise.OneLine(planSummary(u.Plan), stream.DetailSize)})
	}
}

// planSummary returns the progress of a plan and the current step.
func planSummary(plan []planEntry) string {
	done, now := 0, ""
	for _, e := range plan {
		switch {
		case e.Status == "completed":
			done++
		case e.Status == "in_progress" && now == "":
			now = promise.OneLine(e.Content, stream.DetailSize)
		}
	}
	summary := fmt.Sprintf("%d of %d done", done, len(plan))
	if now != "" {
		summary += "; " + now
	}
	return summary
}

// called records a tool call once, shows what becomes known about it before it is done, and returns
// all that is known.
func (a *listener) called(told toolCall, status string) toolCall {
	before := a.calls.find(told.id).about()
	call, isNew := a.calls.note(told)
	switch {
	case isNew:
		a.endOutput()
		a.Tool(call.name(), call.about())
		a.Evidence.Told(call.id, call.title, call.run)
	case status == "in_progress" && call.about() != before:
		a.Live(ralph.Activity{
			Kind:   "tool",
			Name:   promise.OneLine(call.name(), stream.DetailSize),
			Detail: promise.OneLine(call.about(), stream.DetailSize),
		})
	}
	return call
}

// returned records a call that ended, if it is evidence. Tools have no names here, so their titles must do.
func (a *listener) returned(call toolCall, result callResult, status string) {
	if status == "completed" || status == "failed" {
		how := stream.Ended{
			Exit: cmp.Or(result.Exit, result.ExitCode, result.Metadata.Exit), Failed: status == "failed", Output: result.Output,
		}
		a.Evidence.Told(call.id, call.title, call.run)
		a.Evidence.Ended(call.id, how, a.Now())
	}
}

// spend records the spending so far. The cost is that of the session; a cost of 0 cannot be told
// from an unknown one. Tokens beside a message are those of one model call.
func (a *listener) spend(u update) {
	spent := u.Meta.Usage.sum()
	priced := u.Cost.Amount > 0 && u.Cost.Currency == "USD"
	if !priced && spent.Total() == 0 {
		return
	}
	if priced {
		a.Cost = &u.Cost.Amount
	}
	a.Spent = a.Spent.Plus(spent)
	a.TellSpent()
}

// tokens is a usage. By the protocol all kinds of tokens are disjoint and add up to the total, as
// in opencode. If they do not add up, as in qwen, the input includes cached tokens and the output
// includes thoughts. opencode reports only the last model call.
type tokens struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cachedReadTokens"`
	CacheWrite int64 `json:"cachedWriteTokens"`
	Thoughts   int64 `json:"thoughtTokens"`
	Total      int64 `json:"totalTokens"`
}

func (t tokens) sum() ralph.Tokens {
	sum := ralph.Tokens{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite}
	if sum.Total()+t.Thoughts == t.Total {
		sum.Output += t.Thoughts
	} else {
		sum.Input = max(sum.Input-sum.CacheRead-sum.CacheWrite, 0)
	}
	return sum
}

// quota holds the figures that gemini adds to the end of a turn, with the model that was really
// used.
type quota struct {
	Tokens struct {
		Input  *int64 `json:"input_tokens"`
		Output *int64 `json:"output_tokens"`
	} `json:"token_count"`
	Models []struct {
		Model string `json:"model"`
	} `json:"model_usage"`
}

func (a *listener) quota(q quota) {
	if q.Tokens.Input != nil {
		a.Spent.Input = *q.Tokens.Input
	}
	if q.Tokens.Output != nil {
		a.Spent.Output = *q.Tokens.Output
	}
	if len(q.Models) > 0 {
		a.Works(q.Models[0].Model)
	}
}

// endOutput ends the current message and thought.
func (a *listener) endOutput() {
	a.words.end()
	a.thought.show()
}

// words passes on what the agent says, piece by piece.
type words struct {
	*stream.Reading
	open    bool
	message string // id of the current message, if it has one
	line    liveLine
}

// say handles a piece of a message. Pieces with different ids belong to different messages.
func (s *words) say(id, text string) {
	if text == "" {
		return
	}
	if s.open && id != s.message {
		s.end()
	}
	s.open, s.message = true, id
	_, _ = s.Said.WriteString(text) // never fails
	s.line.add(text)
}

// end ends the current message.
func (s *words) end() {
	if s.open {
		s.open = false
		s.Said.EndMessage()
		s.line.show()
	}
}

// liveLine shows text line by line, because its pieces are as short as a syllable.
type liveLine struct {
	*stream.Reading
	kind string
	text string // the beginning of the current line
}

func (l *liveLine) add(text string) {
	for text != "" {
		line, after, whole := strings.Cut(text, "\n")
		room := max(4*stream.DetailSize-len(l.text), 0)
		l.text += line[:min(len(line), room)]
		if whole {
			l.show()
		}
		text = after
	}
}

// show shows the current line and starts another.
func (l *liveLine) show() {
	if detail := promise.OneLine(l.text, stream.DetailSize); detail != "" {
		l.Live(ralph.Activity{Kind: l.kind, Detail: detail})
	}
	l.text = ""
}

// recentCalls remembers the last tool calls, because a question about one may contain only its id.
type recentCalls struct {
	recent [32]toolCall
	next   int
}

// note merges new information about a call, and reports whether the call is new.
func (c *recentCalls) note(told toolCall) (toolCall, bool) {
	if known := c.find(told.id); known.id != "" {
		known.merge(told)
		return *known, false
	}
	c.recent[c.next%len(c.recent)] = told
	c.next++
	return told, true
}

// find returns the call with that id, or an empty one.
func (c *recentCalls) find(id string) *toolCall {
	for i := range c.recent {
		if id != "" && c.recent[i].id == id {
			return &c.recent[i]
		}
	}
	return &toolCall{}
}
