package openai

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// habits are what an endpoint wants otherwise than OpenAI does.
type habits struct {
	oldMax        bool // max_tokens in place of max_completion_tokens
	noUsage       bool // it does not know stream_options
	noDemand      bool // it cannot be made to call one tool
	reasoningBack bool // it wants its reasoning_content back
}

// other reads from a refusal what the endpoint may want. A parameter that it names is left out or replaced: if that was not it, the next answer says so.
func (h habits) other(r model.Request, err error) habits {
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok || fault.Kind != model.FaultRefused ||
		fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return h
	}
	said := strings.ToLower(fault.Message)
	names := func(parameter string) bool { return strings.Contains(said, parameter) }
	switch {
	case r.MaxOutput > 0 && !h.oldMax && names("max_completion_tokens"),
		r.MaxOutput > 0 && h.oldMax && names("max_tokens"):
		h.oldMax = !h.oldMax
	case names("stream_options"), names("include_usage"):
		h.noUsage = true
	case r.MustCall != "" && names("tool_choice"):
		h.noDemand = true
	case names("reasoning_content"):
		h.reasoningBack = !h.reasoningBack
	}
	return h
}

func (c *client) known(name string) habits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.habits[name]
}

func (c *client) remember(name string, h habits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.habits[name] = h
}
