// Package scripted is a model whose replies come from a file: for tests, demonstrations and dry
// runs. It uses no network and costs nothing.
//
//	script, err := scripted.Open("script.json")
//	worker, err := script.Client("worker", scripted.Options{})
//
// # The file
//
// A script has conversations by role, so that one file serves every component that uses a model. A
// conversation is a list of turns.
//
//	{
//	  "worker": [
//	    [{"calls": [{"name": "write", "input": {"path": "a.txt", "text": "hello"}}]},
//	     {"text": "It is written.", "usage": {"input": 900, "output": 40}}],
//	    [{"text": "Done.", "fault": {"kind": "limit", "retry_after": "5s", "times": 2}}]
//	  ],
//	  "evaluator": [[{"text": "Looks good to me."}]]
//	}
//
// A turn has text, thought, calls, usage, and an end if it is not the usual one. Input is JSON, or
// a string that is sent unchanged and need not be JSON. A turn with "empty": true has no content. A
// fault comes before the turn, as many times as it says.
//
// A placeholder {{name}} in text, thought or input is replaced by a match in the request: the first
// group of the regular expression under that name in fill. Example: {"text": "it is {{word}}",
// "fill": {"word": "the word is (\\w+)"}}.
//
// # Which turn a request gets
//
// A request that holds no answer starts the next conversation, unless the first turn of the current
// one was not served yet: then it is a retry. The last conversation serves all later requests.
// Within a conversation, the turn is the number of answers that the request holds, so repeated
// requests get the same turn. After its last turn, a conversation repeats that turn, or sends a
// plain sentence if it calls tools.
//
// The IDs of its calls identify the conversation of a later request. A request without calls
// belongs to the current conversation, so conversations without calls must not run at the same
// time.
//
// # After a restart
//
// A client knows nothing of an earlier process. It starts with the first conversation, unless
// [Options] say how many were used: a resumed run knows how many it started. A conversation that
// was interrupted continues, since the request holds everything that matters.
package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/model"
)

// Turn is one answer.
type Turn struct {
	Text    string            `json:"text,omitempty"`
	Thought string            `json:"thought,omitempty"`
	Calls   []Call            `json:"calls,omitempty"`
	Usage   *Usage            `json:"usage,omitempty"` // nil: not reported
	End     model.End         `json:"end,omitempty"`   // default: the one that fits the turn
	Empty   bool              `json:"empty,omitempty"`
	Fault   *Fault            `json:"fault,omitempty"`
	Fill    map[string]string `json:"fill,omitempty"` // regular expressions by name
}

// Call is a tool call. This package knows no tools, so any name is valid.
type Call struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"` // a string is sent unchanged
}

// Usage counts tokens, as in [model.Usage].
type Usage = model.Usage

// Fault replaces a turn.
type Fault struct {
	Kind       model.FaultKind `json:"kind"`
	RetryAfter Span            `json:"retry_after,omitempty"`
	Quota      bool            `json:"quota,omitempty"`
	Times      int             `json:"times,omitempty"` // in each conversation; default: once
	Status     int             `json:"status,omitempty"`
	Message    string          `json:"message,omitempty"`
	Usage      *Usage          `json:"usage,omitempty"` // usage of the interrupted reply
}

// Span is a duration that is written as "1.5s".
type Span time.Duration

// UnmarshalText parses a duration that is not negative.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("invalid time span %q (example: %q)", text, "1.5s")
	}
	*s = Span(d)
	return nil
}

// MarshalText formats the duration for UnmarshalText.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// client is one role's part of a script.
type client struct {
	conversations [][]Turn
	fill          map[string]*regexp.Regexp // by their source

	mu      sync.Mutex
	current int  // the current conversation, counted from 0
	begun   bool // its first turn was served
	served  map[position]int
}

// position is a turn of a conversation.
type position struct{ conversation, turn int }

// Send returns the turn that the request has reached.
func (c *client) Send(ctx context.Context, r model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	turn, at, fault := c.next(r)
	if fault != nil {
		return model.Reply{}, fault
	}
	reply := c.reply(turn, at, r)
	if onDelta != nil {
		announce(reply, onDelta)
	}
	return reply, nil
}

func announce(r model.Reply, onDelta func(model.Delta)) {
	for _, raw := range r.Message.Thought {
		var t thinking
		_ = json.Unmarshal(raw, &t) // reply wrote it
		onDelta(model.Delta{Thought: t.Thinking})
	}
	if r.Message.Text != "" {
		onDelta(model.Delta{Text: r.Message.Text})
	}
	for _, call := range r.Message.Calls {
		onDelta(model.Delta{Tool: call.Name})
	}
}

// next chooses the turn for a request.
func (c *client) next(r model.Request) (Turn, position, *model.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answers := 0
	for _, m := range r.Messages {
		if m.Role == model.Assistant {
			answers++
		}
	}
	if answers == 0 && c.begun {
		c.current++
		c.begun = false
	}
	at := position{c.current, answers}
	if conversation, ok := conversationOf(r); ok {
		at.conversation = conversation
	}
	turn := c.turnAt(at)
	if turn.Fault != nil && c.served[at] < max(turn.Fault.Times, 1) {
		c.served[at]++
		return turn, at, turn.Fault.model()
	}
	if answers == 0 {
		c.begun = true
	}
	return turn, at, nil
}

func (c *client) turnAt(at position) Turn {
	turns := c.conversations[min(at.conversation, len(c.conversations)-1)]
	if at.turn < len(turns) {
		return turns[at.turn]
	}
	last := turns[len(turns)-1]
	if len(last.Calls) > 0 {
		return Turn{Text: "The script has no more turns."}
	}
	return last
}

func (f *Fault) model() *model.Fault {
	message := cmp.Or(f.Message, "scripted fault: "+string(f.Kind))
	return &model.Fault{
		Kind: f.Kind, Status: f.Status, Message: message, RetryAfter: time.Duration(f.RetryAfter), Quota: f.Quota,
		Usage: f.Usage,
	}
}

// callID matches the ID of a call, which identifies the conversation of a later request.
var callID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^scripted_c(\d+)t\d+i\d+$`) })

// conversationOf returns the conversation of the last call in a request.
func conversationOf(r model.Request) (conversation int, ok bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		for _, call := range r.Messages[i].Calls {
			if m := callID().FindStringSubmatch(call.ID); m != nil {
				n, err := strconv.Atoi(m[1])
				return n, err == nil
			}
		}
	}
	return 0, false
}

func (c *client) reply(t Turn, at position, r model.Request) model.Reply {
	fill := c.replacers(t, r)
	message := model.Message{Role: model.Assistant, Text: fill.plain.Replace(t.Text)}
	if t.Thought != "" {
		// strings are always JSON
		raw, _ := json.Marshal(thinking{Type: "thinking", Thinking: fill.plain.Replace(t.Thought)})
		message.Thought = []json.RawMessage{raw}
	}
	for i, call := range t.Calls {
		id := fmt.Sprintf("scripted_c%dt%di%d", at.conversation, at.turn, i)
		message.Calls = append(message.Calls, model.Call{ID: id, Name: call.Name, Input: call.input(fill)})
	}
	end := model.EndTurn
	if len(t.Calls) > 0 {
		end = model.EndCalls
	}
	return model.Reply{
		Message: message, End: cmp.Or(t.End, end), Usage: t.Usage, Model: cmp.Or(r.Model, "scripted"),
		ID: fmt.Sprintf("scripted-c%dt%d", at.conversation, at.turn),
	}
}

// thinking is the form of a thought in a message.
type thinking struct {
	Type     string `json:"type"`
	Thinking string `json:"thinking"`
}

func (c Call) input(w replacers) json.RawMessage {
	var text string
	switch {
	case len(c.Input) == 0:
		return json.RawMessage("{}")
	case json.Unmarshal(c.Input, &text) == nil && c.Input[0] == '"':
		return json.RawMessage(w.plain.Replace(text))
	}
	return json.RawMessage(w.quoted.Replace(string(c.Input)))
}

// replacers fill in placeholders, in plain text and within JSON strings.
type replacers struct{ plain, quoted *strings.Replacer }

func (c *client) replacers(t Turn, r model.Request) replacers {
	var plain, quoted []string
	if len(t.Fill) > 0 {
		said := requestText(r)
		for name, expression := range t.Fill {
			m := c.fill[expression].FindStringSubmatch(said)
			if m == nil {
				continue // a placeholder without a match stays unchanged
			}
			word, _ := json.Marshal(m[1]) // a string is always JSON
			plain = append(plain, "{{"+name+"}}", m[1])
			quoted = append(quoted, "{{"+name+"}}", string(word[1:len(word)-1]))
		}
	}
	return replacers{strings.NewReplacer(plain...), strings.NewReplacer(quoted...)}
}

// requestText returns all text of a request, one line for each part.
func requestText(r model.Request) string {
	parts := []string{r.System}
	for _, m := range r.Messages {
		parts = append(parts, m.Text)
		for _, call := range m.Calls {
			parts = append(parts, string(call.Input))
		}
		for _, result := range m.Results {
			parts = append(parts, result.Text)
		}
	}
	return strings.Join(parts, "\n")
}
