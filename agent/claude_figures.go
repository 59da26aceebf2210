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
		var detail []byte
		for key := range w.fields() {
			switch string(key) {
			case "tool_name":
				name = w.word()
			case "tool_input":
				detail = claudeDetail(&w)
			}
		}
		c.denied(name, string(unescape(nil, detail)))
	}
}

// claudeTelling are the fields of tools' inputs that say what a call is about, the best first.
var claudeTelling = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt"}

// claudeDetail takes a tool's input and gives the beginning of its most telling field, still escaped.
func claudeDetail(w *walker) (best []byte) {
	rank := len(claudeTelling)
	for key := range w.fields() {
		for i, name := range claudeTelling[:rank] {
			if string(key) != name {
				continue
			}
			if text, ok := w.str(); ok {
				best, rank = text[:min(len(text), 8*detailSize)], i
			}
			break
		}
	}
	return best
}

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
