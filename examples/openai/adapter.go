package main

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"

	"github.com/ralphloop/ralph/goal"
)

// toGoal describes a message of the SDK to the middleware. Raw keeps the message itself.
func toGoal(m openai.ChatCompletionMessageParamUnion) (goal.Message, error) {
	made := goal.Message{Raw: m}
	switch {
	case m.OfUser != nil:
		made.Role = goal.User
		content := m.OfUser.Content
		if content.OfString.Valid() {
			made.Parts = goal.Text(content.OfString.Value)
		}
		for _, part := range content.OfArrayOfContentParts {
			raw, err := json.Marshal(part)
			if err != nil {
				return goal.Message{}, fmt.Errorf("read message: %w", err)
			}
			switch {
			case part.OfText != nil:
				made.Parts = append(made.Parts, goal.Part{Type: goal.TextPart, Text: part.OfText.Text})
			case part.OfImageURL != nil:
				made.Parts = append(made.Parts, goal.Part{Type: goal.ImagePart, Raw: raw})
			default:
				made.Parts = append(made.Parts, goal.Part{Type: goal.FilePart, Raw: raw})
			}
		}
	case m.OfAssistant != nil:
		made.Role, made.Parts = goal.Assistant, goal.Text(m.OfAssistant.Content.OfString.Value)
		for _, call := range m.OfAssistant.ToolCalls {
			if f := call.OfFunction; f != nil {
				made.Calls = append(made.Calls, goal.ToolCall{
					ID: f.ID, Name: f.Function.Name, Arguments: json.RawMessage(f.Function.Arguments),
				})
			}
		}
	case m.OfTool != nil:
		// The API has no error flag, and the text belongs to the agent: who runs the tool must set the exit code.
		made.Role = goal.Tool
		made.Results = []goal.ToolResult{{CallID: m.OfTool.ToolCallID, Content: m.OfTool.Content.OfString.Value}}
	}
	return made, nil
}

// toSDK returns messages as the SDK sends them. Those that the middleware wrote have no Raw.
func toSDK(messages []goal.Message) ([]openai.ChatCompletionMessageParamUnion, error) {
	var made []openai.ChatCompletionMessageParamUnion
	for _, m := range messages {
		if raw, ok := m.Raw.(openai.ChatCompletionMessageParamUnion); ok {
			made = append(made, raw)
			continue
		}
		var parts []openai.ChatCompletionContentPartUnionParam
		for _, part := range m.Parts {
			if part.Type == goal.TextPart {
				parts = append(parts, openai.TextContentPart(part.Text))
				continue
			}
			var restored openai.ChatCompletionContentPartUnionParam
			if err := json.Unmarshal(part.Raw, &restored); err != nil {
				return nil, fmt.Errorf("restore %s: %w", part.Type, err)
			}
			parts = append(parts, restored)
		}
		made = append(made, openai.UserMessage(parts))
	}
	return made, nil
}
