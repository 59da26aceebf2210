package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Client talks to a model. Everything that is known of a conversation is in the request: a client keeps nothing between two calls. It may be used by
// several goroutines.
//
// Send blocks until the reply is whole. What cannot be had is a [*Fault]; a cancelled ctx is its error. tell is told what arrives meanwhile, and may
// be nil.
type Client interface {
	Send(ctx context.Context, r Request, tell func(Delta)) (Reply, error)
}

// Request is one model call.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	Tools     []Tool
	MaxOutput int    // tokens; 0 is the provider's or a sensible bound
	MustCall  string // the name of a tool that is to be called; "" leaves it to the model
}

// Role says whose message it is.
type Role string

// The roles. A message of tools has the results of the calls in the assistant's message before it.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one step of a conversation.
type Message struct {
	Role    Role
	Text    string
	Thought []json.RawMessage // of the assistant, as the provider gave it: it wants it back unchanged
	Calls   []Call            // of the assistant
	Results []Result          // of tools, in the order of the calls
}

// Call is a tool call as the model wrote it. Input need not be what the tool's schema asks for, nor JSON at all.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Result is what became of a call.
type Result struct {
	ID     string // of the call
	Text   string
	Failed bool
}

// Tool is what a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // of its input: a JSON schema of an object
}

// End says why a reply ended.
type End string

// The ends of replies.
const (
	EndTurn   End = "end_turn"   // it has said what it wanted
	EndCalls  End = "tool_calls" // it waits for results
	EndLength End = "length"     // cut at MaxOutput
	EndRefuse End = "refusal"    // the model or a filter refuses
)

// Reply is what a model said.
type Reply struct {
	Message Message // the assistant's
	End     End
	Usage   *Usage // nil if the provider does not tell, or tells nonsense
	Lost    *Usage // of attempts before that were cut short, where known: it is paid for, too
	Model   string // that answered, as the provider calls it
	ID      string // of the reply, for the provider's own logs
}

// Empty reports whether nothing came: no text, no call, no thought. Blanks are nothing: no provider takes them back.
func (r Reply) Empty() bool {
	return strings.TrimSpace(r.Message.Text) == "" && len(r.Message.Calls) == 0 && len(r.Message.Thought) == 0
}

// Delta is a piece of a reply on its way.
type Delta struct {
	Text    string
	Thought string
	Tool    string // the name of a tool whose call has begun
}

// FaultKind says what is to be done about a fault.
type FaultKind string

// The kinds of faults.
const (
	FaultAuth     FaultKind = "auth"     // the key is missing, wrong or revoked
	FaultLimit    FaultKind = "limit"    // too many requests, or a quota is used up
	FaultProvider FaultKind = "provider" // overloaded, broken, not reachable, cut short, silent
	FaultOverflow FaultKind = "overflow" // the request is longer than the model's window
	FaultRefused  FaultKind = "refused"  // the request itself is wrong: a model that is not known, a parameter
)

// Fault is why there is no reply.
type Fault struct {
	Kind       FaultKind
	Status     int           // of HTTP, 0 without a response
	Message    string        // one sentence, in the provider's words where it had some
	RetryAfter time.Duration // with FaultLimit and FaultProvider: what the provider asks for, 0 if it does not say
	Quota      bool          // with FaultLimit: an account is used up, and nobody says until when
	Usage      *Usage        // of what was cut short, where known: it is paid for
	Err        error         // behind it
}

func (f *Fault) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d)", f.Message, f.Status)
	}
	return f.Message
}

func (f *Fault) Unwrap() error { return f.Err }

// CheckBaseURL reports what is wrong with the base URL of a provider. An empty one stands for the provider's own.
func CheckBaseURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the base URL has to be like https://host/v1")
	}
	return nil
}
