package agent

import "github.com/ralphloop/ralph"

// claudeTokens sums the tokens of a run. The figures by model are whole; the total is all zeros when a budget ended the run.
func claudeTokens(usage, byModel []byte) *ralph.Tokens {
	var t ralph.Tokens
	models := 0
	w := walker{text: byModel}
	if byModel != nil {
		for range w.fields() {
			models++
			for key := range w.fields() {
				switch string(key) {
				case "inputTokens":
					t.Input += w.count()
				case "outputTokens":
					t.Output += w.count()
				case "cacheReadInputTokens":
					t.CacheRead += w.count()
				case "cacheCreationInputTokens":
					t.CacheWrite += w.count()
				}
			}
		}
	}
	if models > 0 {
		return &t
	}
	if usage == nil {
		return nil
	}
	w = walker{text: usage}
	for key := range w.fields() {
		switch string(key) {
		case "input_tokens":
			t.Input = w.count()
		case "output_tokens":
			t.Output = w.count()
		case "cache_read_input_tokens":
			t.CacheRead = w.count()
		case "cache_creation_input_tokens":
			t.CacheWrite = w.count()
		}
	}
	return &t
}

// deny reads the calls that the CLI did not allow.
func (c *claudeStream) deny(list []byte) {
	c.denials = nil
	w := walker{text: list}
	if list == nil {
		return
	}
	for range w.elements() {
		var name string
		var input []byte
		for key := range w.fields() {
			switch string(key) {
			case "tool_name":
				name = w.word()
			case "tool_input":
				input = w.raw()
			}
		}
		c.denied(name, claudeDetail(input))
	}
}

// claudeDetail is the one field of a tool's input that says what it is about.
func claudeDetail(input []byte) string {
	w := walker{text: input}
	best, rank := "", len(claudeTelling)
	if input == nil {
		return best
	}
	for key := range w.fields() {
		for i, name := range claudeTelling[:rank] {
			if string(key) == name {
				if text, ok := w.str(); ok {
					best, rank = string(unescape(nil, text[:min(len(text), 8*detailSize)])), i
				}
				break
			}
		}
	}
	return best
}

// claudeTelling are the telling fields of tools' inputs, the best first.
var claudeTelling = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt"}

// claudeErrors is the first sentence of a list of them.
func claudeErrors(list []byte) string {
	w := walker{text: list}
	if list != nil {
		for range w.elements() {
			return oneLine(w.word(), sentenceSize)
		}
	}
	return ""
}

// longCall notes the tool call that a line's beginning shows and says whether it showed one.
func (c *claudeStream) longCall(head []byte) bool {
	w := walker{text: head}
	for key := range w.fields() {
		if string(key) != "message" {
			continue
		}
		for key := range w.fields() {
			if string(key) != "content" {
				continue
			}
			for range w.elements() {
				return c.callHead(&w)
			}
		}
	}
	return false
}

// callHead reads a content block that may be cut off.
func (c *claudeStream) callHead(w *walker) bool {
	call, name, detail := false, "", ""
	for key := range w.fields() {
		switch string(key) {
		case "type":
			call = w.word() == "tool_use"
		case "name":
			name = w.word()
		case "input":
			for key := range w.fields() {
				if string(key) == "command" || string(key) == "file_path" {
					detail = w.word()
				}
			}
		}
	}
	if call {
		c.tool(name, detail)
	}
	return call
}
