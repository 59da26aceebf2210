package goal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
)

// Role says who wrote a message.
type Role string

// The roles. Results of tools may be in a message of the user or of a tool, as the API has it.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role    Role         `json:"role"`
	Parts   Content      `json:"content,omitempty"`
	Calls   []ToolCall   `json:"toolCalls,omitempty"`   // of the assistant
	Results []ToolResult `json:"toolResults,omitempty"` // of tools

	// Raw is the message in the form of your API. It is nil in messages that the middleware wrote or changed,
	// and the middleware never looks at it.
	Raw any `json:"-"`
}

// Text returns the text parts, one below the other.
func (m Message) Text() string { return m.Parts.text() }

// PartType is the type of a part of a message.
type PartType string

// The types of parts.
const (
	TextPart  PartType = "text"
	ImagePart PartType = "image"
	FilePart  PartType = "file"
)

// Part is a piece of a message. Raw holds what is not text in the form of your API. It is JSON, so that a
// stored session still has it.
type Part struct {
	Type PartType        `json:"type"`
	Text string          `json:"text,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Content is the parts of a message. In JSON, a single text is a string.
type Content []Part

// Text returns content that is one text.
func Text(text string) Content { return Content{{Type: TextPart, Text: text}} }

func (c Content) text() string {
	var texts []string
	for _, part := range c {
		if part.Type == TextPart {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// withText returns the content with another text and the same other parts.
func (c Content) withText(text string) Content {
	parts := Text(text)
	for _, part := range c {
		if part.Type != TextPart {
			parts = append(parts, part)
		}
	}
	return parts
}

// MarshalJSON implements json.Marshaler.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c) == 1 && c[0].Type == TextPart {
		return json.Marshal(c[0].Text)
	}
	return json.Marshal([]Part(c))
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil && string(data) != "null" {
		*c = Text(text)
		return nil
	}
	var parts []Part
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("read message content: %w", err)
	}
	*c = parts
	return nil
}

// ToolCall is a call that the model asks for.
type ToolCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // as the model wrote them
}

// ToolResult is the result of a call.
type ToolResult struct {
	CallID  string `json:"callId,omitempty"`
	Name    string `json:"name,omitempty"` // of the tool, if there is no CallID
	Content string `json:"content"`
	// ExitCode is that of a command; nil if the tool reports none. A command with neither ExitCode nor Status
	// did not pass.
	ExitCode *int `json:"exitCode,omitempty"`
	// Status is the tool's own error flag, pass or fail; "" if it has none.
	Status ralph.EvidenceStatus `json:"status,omitempty"`
}
