package anthropic

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/wire"
)

// usualOutput is the bound of a reply where the request has none. The API wants one.
const usualOutput = 32_000

// tooMuch is how the API says what a model allows.
var tooMuch = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)

// learn notes how much output a model allows, and reports whether that is news.
func (c *client) learn(name string, err error) bool {
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok || fault.Kind != model.FaultRefused {
		return false
	}
	m := tooMuch.FindStringSubmatch(fault.Message)
	if m == nil {
		return false
	}
	most, err := strconv.ParseInt(m[1], 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || most <= 0 || most == c.most[name] {
		return false
	}
	c.most[name] = most
	return true
}

func (c *client) maxTokens(r model.Request) int64 {
	if r.MaxOutput > 0 {
		return int64(r.MaxOutput)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if most, ok := c.most[r.Model]; ok {
		return most
	}
	return usualOutput
}

func (c *client) params(r model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: r.Model, MaxTokens: c.maxTokens(r), Messages: messages(r.Messages)}
	if r.System != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool(t)})
	}
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	if r.MustCall != "" {
		p.ToolChoice = sdk.ToolChoiceParamOfTool(r.MustCall)
	}
	return p
}

func tool(t model.Tool) *sdk.ToolParam {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	p := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if t.Description != "" {
		p.Description = sdk.String(t.Description)
	}
	return p
}

func messages(all []model.Message) []sdk.MessageParam {
	var sent []sdk.MessageParam
	for _, m := range all {
		role, content := sdk.MessageParamRoleUser, fromUser(m)
		if m.Role == model.Assistant {
			role, content = sdk.MessageParamRoleAssistant, fromAssistant(m)
		}
		if len(content) > 0 { // an empty one would be refused, and says nothing
			sent = append(sent, sdk.MessageParam{Role: role, Content: content})
		}
	}
	markEnds(sent)
	return sent
}

// markEnds marks what is to be cached: the end, and the end of the request before. The provider looks back only 20 blocks from a mark, and a step may have more.
func markEnds(sent []sdk.MessageParam) {
	if len(sent) == 0 {
		return
	}
	last := len(sent) - 1
	mark(sent[last])
	answered := false
	for i := last; i >= 0; i-- {
		switch {
		case sent[i].Role == sdk.MessageParamRoleAssistant:
			answered = true
		case answered:
			mark(sent[i])
			return
		}
	}
}

func mark(m sdk.MessageParam) {
	if at := m.Content[len(m.Content)-1].GetCacheControl(); at != nil {
		*at = sdk.NewCacheControlEphemeralParam()
	}
}

func fromUser(m model.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, r := range m.Results {
		result := &sdk.ToolResultBlockParam{ToolUseID: wire.Name(r.ID)}
		if blank(r.Text) {
			r.Text = "(no output)" // the API takes no blank text
		}
		result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
		if r.Failed {
			result.IsError = sdk.Bool(true)
		}
		blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: result})
	}
	if !blank(m.Text) {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	return blocks
}

func fromAssistant(m model.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	thinking, ordered := thoughts(m)
	for _, raw := range thinking {
		blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](raw))
	}
	if ordered {
		return blocks
	}
	if !blank(m.Text) {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	for _, call := range m.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(wire.Name(call.ID), wire.Object(call.Input), wire.Name(call.Name)))
	}
	return blocks
}

// thoughts are the blocks to be sent back as they came. They are all blocks in their order if the message still has the calls that they have.
func thoughts(m model.Message) (blocks []json.RawMessage, ordered bool) {
	var thinking []json.RawMessage
	var calls []string
	for _, raw := range m.Thought {
		var block struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		switch err := json.Unmarshal(raw, &block); {
		case err != nil: // another provider's
		case block.Type == typeThinking, block.Type == typeRedacted:
			thinking = append(thinking, raw)
		case block.Type == typeCall:
			calls, ordered = append(calls, block.ID), true
		case block.Type == typeText:
			ordered = true
		}
	}
	if !ordered || len(calls) != len(m.Calls) {
		return thinking, false
	}
	for i, call := range m.Calls {
		if call.ID != calls[i] {
			return thinking, false
		}
	}
	return m.Thought, true
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
