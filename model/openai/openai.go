// Package openai talks to models over OpenAI's Chat Completions API, which most others speak, too: OpenRouter, Ollama, vLLM, LM Studio, llama.cpp, DeepSeek, and
// Gemini at its compatible address.
//
//	client := openai.New(openai.Options{BaseURL: "http://localhost:11434/v1"})
//	reply, err := client.Send(ctx, model.Request{Model: "qwen3-coder", Messages: …}, nil)
//
// # Where they differ
//
// A client begins as OpenAI wants it, and learns from refusals, for each model: that max_tokens is wanted in place of max_completion_tokens, that usage cannot be
// streamed, that no tool can be demanded, that reasoning has to be sent back. The request is then sent again at once, and later ones are right from the start.
//
// # What is kept of a reply
//
// Reasoning is told as thought. In [model.Message.Thought] each piece is a JSON object with the field in which it came: reasoning_content (sent back only if the
// endpoint insists, as DeepSeek does), reasoning (never), reasoning_details (always: OpenRouter wants it for the models behind it), and call with
// extra_content (always: Gemini signs its calls there). Failed results are sent with "Error: " before them, since the format has no other way to say so.
//
// # Environment
//
// Nothing is read from it but the proxies that net/http knows: no key, no base URL, no organisation.
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

// Options say whom to ask, and how.
type Options struct {
	BaseURL  string        // "" is OpenAI's own; others end with /v1 as a rule
	Key      string        // may be empty where nobody asks for one
	HTTP     *http.Client  // nil is a plain one
	Idle     time.Duration // how long a silence is borne; 0 is 2 minutes
	MaxReply int64         // bytes of one reply; 0 is 32 MiB
}

const home = "https://api.openai.com/v1"

// New makes a client. What is wrong with the options is told by Send.
func New(o Options) model.Client {
	c := &client{
		line:   wire.Line{Secrets: []string{o.Key}, HTTP: o.HTTP, Idle: o.Idle, MaxReply: o.MaxReply},
		habits: map[string]habits{},
	}
	if err := model.CheckBaseURL(o.BaseURL); err != nil {
		c.line.Unfit = &model.Fault{Kind: model.FaultRefused, Message: err.Error()}
		return c
	}
	base := cmp.Or(strings.TrimSuffix(o.BaseURL, "/"), home)
	if base == home && o.Key == "" {
		c.line.Unfit = &model.Fault{Kind: model.FaultAuth, Message: "there is no key for OpenAI"}
		return c
	}
	c.line.Address, c.line.Header = base+"/chat/completions", http.Header{}
	if o.Key != "" {
		c.line.Header.Set("Authorization", "Bearer "+o.Key)
	}
	return c
}

type client struct {
	line wire.Line

	mu     sync.Mutex
	habits map[string]habits // of the endpoint, by model
}

// Send asks again at once where a refusal says what the endpoint wants otherwise, once for each such thing.
func (c *client) Send(ctx context.Context, r model.Request, tell func(model.Delta)) (model.Reply, error) {
	if tell == nil {
		tell = func(model.Delta) {}
	}
	h := c.known(r.Model)
	tried := map[habits]bool{h: true}
	for {
		reply, err := c.line.Exchange(ctx, asked(r, h), newAssembly(tell))
		if err == nil {
			c.remember(r.Model, h)
			return reply, nil
		}
		if h = h.other(r, err); tried[h] {
			return reply, err
		}
		tried[h] = true
	}
}
