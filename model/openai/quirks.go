package openai

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// quirks are an endpoint's differences from OpenAI.
type quirks struct {
	legacyMaxTokens bool // max_tokens instead of max_completion_tokens
	noUsage         bool // it does not support stream_options
	noToolChoice    bool // it does not support forcing a tool call
	reasoning       reasoningRule
}

// reasoningRule says whether an endpoint gets its reasoning_content back.
type reasoningRule int

const (
	reasoningSent     reasoningRule = iota // if there is some: models that think between tool calls continue their thought
	reasoningRequired                      // in every message, even if it is empty
	reasoningRefused
)

// adjust derives the endpoint's quirks from a refusal. It drops or replaces a parameter that the
// refusal names. If that was not the cause, the next response says so.
func (h quirks) adjust(r model.Request, err error) quirks {
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok || fault.Kind != model.FaultRefused ||
		fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return h
	}
	said := strings.ToLower(fault.Message)
	names := func(parameter string) bool { return strings.Contains(said, parameter) }
	switch {
	case r.MaxOutput > 0 && !h.legacyMaxTokens && names("max_completion_tokens"),
		r.MaxOutput > 0 && h.legacyMaxTokens && names("max_tokens"):
		h.legacyMaxTokens = !h.legacyMaxTokens
	case names("stream_options"), names("include_usage"):
		h.noUsage = true
	case r.MustCall != "" && names("tool_choice"):
		h.noToolChoice = true
	case names("reasoning_content") && h.reasoning < reasoningRefused:
		h.reasoning++
	}
	return h
}

func (c *client) quirksOf(name string) quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quirks[name]
}

func (c *client) storeQuirks(name string, h quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quirks[name] = h
}
