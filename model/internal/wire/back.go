package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ralphloop/ralph/model"
)

// Malformed is the name under which input that is no JSON object is sent back: providers take only objects, and the model is to see what it wrote.
const Malformed = "malformed_input"

// Object is a call's input as it may be sent back.
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

// Input is what a model wrote as the input of a call; nothing is an empty object.
func Input(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// Name is a tool's name or a call's identifier as providers take it. A model may have made up one that they would refuse, and with it all that follows.
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

// mostTokens is more than any call can use: beyond it, a figure is nonsense.
const mostTokens = 1 << 40

// Sane gives a usage that can be believed, or nil.
func Sane(u model.Usage) *model.Usage {
	least, most := min(u.Input, u.Output, u.CacheRead, u.CacheWrite), max(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	if least < 0 || most > mostTokens || most == 0 {
		return nil
	}
	return &u
}
