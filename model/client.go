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

// Client talks to a model. The request holds the entire conversation: a client keeps nothing
// between two calls. It is safe for concurrent use.
//
// Send blocks until the reply is complete. It returns a [*Fault] if there is no reply, or ctx's
// error if ctx was canceled. onDelta receives the parts of the reply as they arrive, and may be
// nil.
type Client interface {
	Send(ctx context.Context, r Request, onDelta func(Delta)) (Reply, error)
}

// Request is one model call.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	Tools     []Tool
	MaxOutput int    // tokens; 0: the provider's limit, or a sensible default
	MustCall  string // the name of a tool that the model must call; "": the model decides
}

// Role says who wrote a message.
type Role string

// The roles. A tool message holds the results of the calls in the assistant message before it.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one step of a conversation.
type Message struct {
	Role    Role
	Text    string
	Thought []json.RawMessage // from the assistant, as the provider sent it: it must go back unchanged
	Calls   []Call            // from the assistant
	Results []Result          // from tools, in the order of the calls
}

// Call is a tool call as the model wrote it. Input may not match the tool's schema, and may not be
// JSON at all.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Result is the outcome of a call.
type Result struct {
	ID     string // the call's ID
	Text   string
	Failed bool
}

// Tool is a tool that a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON schema of its input, which is an object
}

// End says why a reply ended.
type End string

// The reasons why a reply ended.
const (
	EndTurn   End = "end_turn"   // the model finished its turn
	EndCalls  End = "tool_calls" // the model waits for results
	EndLength End = "length"     // cut off at MaxOutput
	EndRefuse End = "refusal"    // the model or a filter refused
)

// Reply is a model's complete answer.
type Reply struct {
	Message Message // from the assistant
	End     End
	Usage   *Usage   // nil if the provider reports none, or implausible counts
	Cost    *float64 // what the provider charges in USD, if it says so
	Lost    *Usage   // usage of interrupted attempts before, if known: the provider charges for it
	Model   string   // the model that answered, as the provider calls it
	ID      string   // ID of the reply in the provider's logs
}

// Empty reports whether the reply has no text, no call and no thought. Text that is only white
// space counts as none: no provider accepts it back.
func (r Reply) Empty() bool {
	return strings.TrimSpace(r.Message.Text) == "" && len(r.Message.Calls) == 0 && len(r.Message.Thought) == 0
}

// Delta is a part of a reply that is still arriving.
type Delta struct {
	Text    string
	Thought string
	Tool    string // the name of a tool whose call has started
}

// FaultKind says how to handle a fault.
type FaultKind string

// The kinds of faults.
const (
	FaultAuth     FaultKind = "auth"     // the key is missing, wrong or revoked
	FaultLimit    FaultKind = "limit"    // too many requests, or a quota is used up
	FaultProvider FaultKind = "provider" // overloaded, broken, unreachable, interrupted, silent
	FaultOverflow FaultKind = "overflow" // the request is longer than the model's window
	FaultRefused  FaultKind = "refused"  // the request itself is wrong: an unknown model, a bad parameter
)

// Fault is the reason why there is no reply.
type Fault struct {
	Kind       FaultKind
	Status     int           // the HTTP status, 0 without a response
	Message    string        // one sentence, in the provider's words if it sent any
	RetryAfter time.Duration // for FaultLimit and FaultProvider: as the provider asks, 0 if it does not say
	Quota      bool          // for FaultLimit: the account's quota is used up, without a known end
	Usage      *Usage        // usage of the interrupted reply, if known: the provider charges for it
	Err        error         // the underlying error
}

func (f *Fault) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d)", f.Message, f.Status)
	}
	return f.Message
}

func (f *Fault) Unwrap() error { return f.Err }

// CheckBaseURL returns an error if base is not usable as a provider's base URL. An empty base means
// the provider's default.
func CheckBaseURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the base URL must look like https://host/v1")
	}
	return nil
}
