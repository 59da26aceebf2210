// Package anthropic talks to models over Anthropic's Messages API, which some others speak, too.
//
//	client := anthropic.New(anthropic.Options{Key: key})
//	reply, err := client.Send(ctx, model.Request{Model: "claude-…", Messages: …}, nil)
//
// # What is kept of a reply
//
// Thinking comes back as the provider gave it, each block as JSON in [model.Message.Thought], and is sent back unchanged. Blocks are sent back in the order
// thinking, text, calls, which is the order in which they come as a rule. Where thinking came after text or a call, Thought has all blocks in their order, those of text and
// calls too, since the provider refuses thinking that was moved.
//
// # Cache
//
// The ends of the tools, of the system prompt, of the last message, and of the one that ended the request before are marked, so that a long conversation is read
// from the provider's cache.
//
// # Environment
//
// Nothing is read from it but the proxies that net/http knows: no key, no base URL, no profile.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/internal/wire"
)

// Options say whom to ask, and how.
type Options struct {
	BaseURL  string        // "" is Anthropic's own; with or without a /v1 at its end
	Key      string        // sent as x-api-key
	HTTP     *http.Client  // nil is a plain one
	Idle     time.Duration // how long a silence is borne; 0 is 2 minutes
	MaxReply int64         // bytes of one reply; 0 is 32 MiB
}

const (
	home    = "https://api.anthropic.com"
	version = "2023-06-01" // of the API
)

// New makes a client. What is wrong with the options is told by Send.
func New(o Options) model.Client {
	c := &client{
		line: wire.Line{Secrets: []string{o.Key}, HTTP: o.HTTP, Idle: o.Idle, MaxReply: o.MaxReply},
		most: map[string]int64{},
	}
	if err := model.CheckBaseURL(o.BaseURL); err != nil {
		c.line.Unfit = &model.Fault{Kind: model.FaultRefused, Message: err.Error()}
		return c
	}
	base := cmp.Or(strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/"), "/v1"), home)
	if base == home && o.Key == "" {
		c.line.Unfit = &model.Fault{Kind: model.FaultAuth, Message: "there is no key for Anthropic"}
		return c
	}
	c.line.Address, c.line.Header = base+"/v1/messages", http.Header{"Anthropic-Version": {version}}
	if o.Key != "" {
		c.line.Header.Set("X-Api-Key", o.Key)
	}
	return c
}

type client struct {
	line wire.Line

	mu   sync.Mutex
	most map[string]int64 // tokens of output that a model allows, where it had to say so
}

// Send asks once more if the model allows less output than the bound that is taken where the request has none.
func (c *client) Send(ctx context.Context, r model.Request, tell func(model.Delta)) (model.Reply, error) {
	if tell == nil {
		tell = func(model.Delta) {}
	}
	reply, err := c.line.Exchange(ctx, c.request(r), newAssembly(tell))
	if r.MaxOutput == 0 && c.learn(r.Model, err) {
		return c.line.Exchange(ctx, c.request(r), newAssembly(tell))
	}
	return reply, err
}
