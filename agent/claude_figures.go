package agent

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// What the CLI calls its tokens: of a message or a run, and of a run by model.
var (
	claudeUsage      = tokenNames{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}
	claudeModelUsage = tokenNames{"inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"}
)

// claudeTokens sums the tokens of a run. The figures by model are whole; the total is all zeros when a budget ended the run.
func claudeTokens(usage, byModel []byte) *ralph.Tokens {
	if byModel != nil {
		var sum *ralph.Tokens
		w := walker{text: byModel}
		for range w.fields() {
			if sum == nil {
				sum = &ralph.Tokens{}
			}
			if t := claudeModelUsage.read(&w); t != nil {
				addTokens(sum, *t)
			}
		}
		if sum != nil {
			return sum
		}
	}
	return claudeUsage.readText(usage)
}

// usage reads one count of tokens in the way of the CLI; nil if there is none.
func (c *claudeStream) usage(text []byte) *ralph.Tokens {
	t := claudeUsage.readText(text)
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
				detail = tellingField(&w)
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

// claudeErrors is the first sentence of a list of them.
func claudeErrors(list []byte) string {
	w := walker{text: list}
	if list != nil {
		for range w.elements() {
			return promise.OneLine(w.word(), sentenceSize)
		}
	}
	return ""
}
