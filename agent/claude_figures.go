package agent

import (
	"strings"

	"github.com/ralphloop/ralph"
)

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
	return claudeUsage(usage)
}

// claudeUsage reads one count of tokens; nil if there is none.
func claudeUsage(usage []byte) *ralph.Tokens {
	if usage == nil {
		return nil
	}
	var t ralph.Tokens
	known := false
	w := walker{text: usage}
	for key := range w.fields() {
		var figure *int64
		switch string(key) {
		case "input_tokens":
			figure = &t.Input
		case "output_tokens":
			figure = &t.Output
		case "cache_read_input_tokens":
			figure = &t.CacheRead
		case "cache_creation_input_tokens":
			figure = &t.CacheWrite
		default:
			continue
		}
		*figure, known = w.count(), true
	}
	if !known {
		return nil
	}
	return &t
}

// usage reads one count of tokens in the way of the CLI; nil if there is none.
func (c *claudeStream) usage(text []byte) *ralph.Tokens {
	t := claudeUsage(text)
	if t != nil && c.cacheInInput {
		t.Input = max(t.Input-t.CacheRead, 0)
	}
	return t
}

// meter counts what a message is known to have used, for the case that no closing event tells the whole. Every line of a message repeats its
// figures, the output's as it was when the message began; lines of one message follow each other.
func (c *claudeStream) meter(m claudeMessage) {
	t := c.usage(m.usage)
	if t == nil {
		return
	}
	if id := c.hash(m.id); id != c.metered {
		c.metered, c.used = id, ralph.Tokens{}
	}
	before := c.spent
	raise := func(sum, before *int64, now int64) {
		*sum += max(now-*before, 0)
		*before = max(now, *before)
	}
	raise(&c.spent.Input, &c.used.Input, t.Input)
	raise(&c.spent.Output, &c.used.Output, t.Output)
	raise(&c.spent.CacheRead, &c.used.CacheRead, t.CacheRead)
	raise(&c.spent.CacheWrite, &c.used.CacheWrite, t.CacheWrite)
	if c.spent != before {
		c.tellSpent()
	}
}

// deny reads the calls that the CLI did not allow. What would have allowed one is known by its tool and what it was about.
func (c *claudeStream) deny(list []byte, allows func(tool, detail string) string) {
	c.denials, c.allow = nil, nil
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
		about := string(unescape(nil, detail))
		c.denied(name, about, allows(name, about))
	}
}

// claudeAllows is what allows a call that was denied. A command that no rule can hold needs more.
func claudeAllows(tool, detail string) string {
	if tool != "Bash" {
		return "-- --allowedTools " + shellQuote(tool)
	}
	if detail == "" || strings.ContainsAny(detail, "()\n\r") {
		return "--yolo"
	}
	return "-- --allowedTools " + shellQuote("Bash("+detail+")")
}

// claudeTelling are the fields of tools' inputs that say what a call is about, the best first.
var claudeTelling = []string{"command", "cmd", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt"}

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
