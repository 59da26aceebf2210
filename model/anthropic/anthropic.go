// Package anthropic talks to models over Anthropic's Messages API, which some other providers offer
// as well.
//
//	client := anthropic.New(anthropic.Options{Key: key})
//	reply, err := client.Send(ctx, model.Request{Model: "claude-…", Messages: …}, nil)
//
// # Thinking
//
// [model.Message.Thought] holds thinking as the provider sent it, one JSON value for each block,
// and it is sent back unchanged. Blocks are sent back in the order thinking, text, calls, which is
// the usual order of a reply. If thinking came after text or a call, Thought holds all blocks in
// their order, including text and calls, since the provider refuses thinking that was moved.
//
// # Cache
//
// The client marks the ends of the tools, of the system prompt, of the last message, and of the
// last message of the previous request, so that a long conversation is read from the provider's
// cache.
//
// # Environment
//
// The client reads nothing from the environment except the proxies that net/http supports: no key,
// no base URL, no profile.
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

// Options configure a client.
type Options struct {
	BaseURL  string        // default: Anthropic's own; with or without /v1 at the end
	Key      string        // sent as x-api-key
	HTTP     *http.Client  // default: a plain one
	Idle     time.Duration // how long to wait without data; default: 2 minutes
	MaxReply int64         // bytes of one reply; default: 32 MiB
}

const (
	defaultBaseURL = "https://api.anthropic.com"
	version        = "2023-06-01" // of the API
)

// New returns a client. If the options are invalid, Send returns the reason.
func New(o Options) model.Client {
	c := &client{
		endpoint:  wire.Endpoint{Secrets: []string{o.Key}, HTTP: o.HTTP, Idle: o.Idle, MaxReply: o.MaxReply},
		maxOutput: map[string]int64{},
	}
	if err := model.CheckBaseURL(o.BaseURL); err != nil {
		c.endpoint.Invalid = &model.Fault{Kind: model.FaultRefused, Message: err.Error()}
		return c
	}
	base := cmp.Or(strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/"), "/v1"), defaultBaseURL)
	if base == defaultBaseURL && o.Key == "" {
		c.endpoint.Invalid = &model.Fault{Kind: model.FaultAuth, Message: "no API key for Anthropic"}
		return c
	}
	c.endpoint.Address, c.endpoint.Header = base+"/v1/messages", http.Header{"Anthropic-Version": {version}}
	if o.Key != "" {
		c.endpoint.Header.Set("X-Api-Key", o.Key)
	}
	return c
}

type client struct {
	endpoint wire.Endpoint

	mu        sync.Mutex
	maxOutput map[string]int64 // output tokens that a model allows, if it said so in a refusal
}

// Send asks once more if the model allows less output than the default limit.
func (c *client) Send(ctx context.Context, r model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	reply, err := c.endpoint.Exchange(ctx, c.request(r), newAssembly(onDelta))
	if r.MaxOutput == 0 && c.learnMaxOutput(r.Model, err) {
		return c.endpoint.Exchange(ctx, c.request(r), newAssembly(onDelta))
	}
	return reply, err
}
