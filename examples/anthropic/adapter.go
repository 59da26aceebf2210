package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/goal"
)

// toGoal describes a message of the SDK to the middleware. Raw keeps the message itself, with its thinking.
func toGoal(m anthropic.MessageParam) (goal.Message, error) {
	made := goal.Message{Role: goal.Role(m.Role), Raw: m}
	for _, block := range m.Content {
		raw, err := json.Marshal(block)
		if err != nil {
			return goal.Message{}, fmt.Errorf("read message: %w", err)
		}
		switch {
		case block.OfText != nil:
			made.Parts = append(made.Parts, goal.Part{Type: goal.TextPart, Text: block.OfText.Text})
		case block.OfImage != nil:
			made.Parts = append(made.Parts, goal.Part{Type: goal.ImagePart, Raw: raw})
		case block.OfDocument != nil:
			made.Parts = append(made.Parts, goal.Part{Type: goal.FilePart, Raw: raw})
		case block.OfToolUse != nil:
			arguments, err := json.Marshal(block.OfToolUse.Input)
			if err != nil {
				return goal.Message{}, fmt.Errorf("read tool call: %w", err)
			}
			made.Calls = append(made.Calls, goal.ToolCall{
				ID: block.OfToolUse.ID, Name: block.OfToolUse.Name, Arguments: arguments,
			})
		case block.OfToolResult != nil:
			made.Results = append(made.Results, toResult(*block.OfToolResult))
		}
	}
	return made, nil
}

// toResult takes pass or fail from the flag is_error. Without the flag, a tool reports nothing.
func toResult(block anthropic.ToolResultBlockParam) goal.ToolResult {
	var texts []string
	for _, content := range block.Content {
		if text := content.GetText(); text != nil {
			texts = append(texts, *text)
		}
	}
	result := goal.ToolResult{CallID: block.ToolUseID, Content: strings.Join(texts, "\n")}
	if block.IsError.Valid() {
		result.Status = ralph.EvidencePass
		if block.IsError.Value {
			result.Status = ralph.EvidenceFail
		}
	}
	return result
}

// toSDK returns messages as the SDK sends them. Those that the middleware wrote have no Raw.
func toSDK(messages []goal.Message) ([]anthropic.MessageParam, error) {
	var made []anthropic.MessageParam
	for _, m := range messages {
		if raw, ok := m.Raw.(anthropic.MessageParam); ok {
			made = append(made, raw)
			continue
		}
		var blocks []anthropic.ContentBlockParamUnion
		for _, part := range m.Parts {
			if part.Type == goal.TextPart {
				blocks = append(blocks, anthropic.NewTextBlock(part.Text))
				continue
			}
			var block anthropic.ContentBlockParamUnion
			if err := json.Unmarshal(part.Raw, &block); err != nil {
				return nil, fmt.Errorf("restore %s: %w", part.Type, err)
			}
			blocks = append(blocks, block)
		}
		made = append(made, anthropic.NewUserMessage(blocks...))
	}
	return made, nil
}
