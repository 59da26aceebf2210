package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// Malformed is the key under which input that is not a JSON object is sent back. Providers accept
// only objects, and the model should see what it wrote.
const Malformed = "malformed_input"

// Object returns a call's input in a form that may be sent back.
func Object(input json.RawMessage) json.RawMessage {
	text := bytes.TrimSpace(input)
	if len(text) == 0 {
		return json.RawMessage("{}")
	}
	if text[0] == '{' && json.Valid(text) {
		return text
	}
	whole, _ := json.Marshal(map[string]string{Malformed: string(input)}) // a string is always JSON
	return whole
}

// Input returns the input that a model wrote for a call; empty text becomes an empty object.
func Input(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// Name replaces characters in a tool's name or a call's ID that providers do not accept. If a model
// makes up such a name, they would refuse this request and all later ones.
func Name(name string) string {
	const most = 64
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		return "_"
	}
	return name[:min(len(name), most)]
}

// mostTokens is more than any call can use. A larger count is wrong.
const mostTokens = 1 << 40

// PlausibleUsage returns a usage that can be right, or nil.
func PlausibleUsage(u model.Usage) *model.Usage {
	least, most := min(u.Input, u.Output, u.CacheRead, u.CacheWrite), max(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	if least < 0 || most > mostTokens || most == 0 {
		return nil
	}
	return &u
}
