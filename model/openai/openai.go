// Package openai talks to models over OpenAI's Chat Completions API, which most other providers
// offer as well: OpenRouter, Ollama, vLLM, LM Studio, llama.cpp, DeepSeek, and Gemini at its
// compatible address.
//
//	client := openai.New(openai.Options{BaseURL: "http://localhost:11434/v1"})
//	reply, err := client.Send(ctx, model.Request{Model: "qwen3-coder", Messages: …}, nil)
//
// # Differences between providers
//
// A client starts with OpenAI's format, and learns from refusals, for each model: use max_tokens
// instead of max_completion_tokens, do not ask for usage in the stream, do not force a tool call,
// send reasoning back. It then repeats the request at once, and gets later ones right from the
// start.
//
// # Reasoning
//
// Reasoning is reported as thought. In [model.Message.Thought] each piece is a JSON object with the
// field in which it arrived: reasoning_content (sent back only if the endpoint insists, as DeepSeek
// does), reasoning (never sent back), reasoning_details (always: OpenRouter needs it for the models
// behind it), and call with extra_content (always: Gemini signs its calls there).
//
// Failed results are sent with the prefix "Error: ", since the format has no other way to mark
// them.
//
// # Environment
//
// The client reads nothing from the environment except the proxies that net/http supports: no key,
// no base URL, no organization.
package openai

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
	BaseURL  string        // default: OpenAI's own; others usually end with /v1
	Key      string        // may be empty if the endpoint needs none
	HTTP     *http.Client  // default: a plain one
	Idle     time.Duration // how long to wait without data; default: 2 minutes
	MaxReply int64         // bytes of one reply; default: 32 MiB
}

const defaultBaseURL = "https://api.openai.com/v1"

// New returns a client. If the options are invalid, Send returns the reason.
func New(o Options) model.Client {
	c := &client{
		endpoint: wire.Endpoint{Secrets: []string{o.Key}, HTTP: o.HTTP, Idle: o.Idle, MaxReply: o.MaxReply},
		quirks:   map[string]quirks{},
	}
	if err := model.CheckBaseURL(o.BaseURL); err != nil {
		c.endpoint.Invalid = &model.Fault{Kind: model.FaultRefused, Message: err.Error()}
		return c
	}
	base := cmp.Or(strings.TrimSuffix(o.BaseURL, "/"), defaultBaseURL)
	if base == defaultBaseURL && o.Key == "" {
		c.endpoint.Invalid = &model.Fault{Kind: model.FaultAuth, Message: "no API key for OpenAI"}
		return c
	}
	c.endpoint.Address, c.endpoint.Header = base+"/chat/completions", http.Header{}
	if o.Key != "" {
		c.endpoint.Header.Set("Authorization", "Bearer "+o.Key)
	}
	return c
}

type client struct {
	endpoint wire.Endpoint

	mu     sync.Mutex
	quirks map[string]quirks // by model
}

// Send asks again at once if a refusal reveals a quirk of the endpoint, once for each quirk.
func (c *client) Send(ctx context.Context, r model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if onDelta == nil {
		onDelta = func(model.Delta) {}
	}
	h := c.quirksOf(r.Model)
	tried := map[quirks]bool{h: true}
	for {
		reply, err := c.endpoint.Exchange(ctx, newRequest(r, h), newAssembly(onDelta))
		if err == nil {
			c.storeQuirks(r.Model, h)
			return reply, nil
		}
		if h = h.adjust(r, err); tried[h] {
			return reply, err
		}
		tried[h] = true
	}
}
