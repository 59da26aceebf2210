package agent

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// The CLI's names for tokens: of a message or a run, and of a run by model.
var (
	claudeUsage = tokenNames{
		"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
	}
	claudeModelUsage = tokenNames{"inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"}
)

// claudeTokens sums the tokens of a run. The figures by model are complete; the total is all zeros
// when a budget ended the run.
func claudeTokens(total usage, byModel map[string]usage) *ralph.Tokens {
	if len(byModel) == 0 {
		return claudeUsage.of(total)
	}
	var sum ralph.Tokens
	for _, u := range byModel {
		if t := claudeModelUsage.of(u); t != nil {
			sum = sum.Plus(*t)
		}
	}
	return &sum
}

// usage reads one token count of this CLI; nil if there is none.
func (c *claudeStream) usage(u usage) *ralph.Tokens {
	t := claudeUsage.of(u)
	if t != nil && c.cacheInInput {
		t.Input = max(t.Input-t.CacheRead, 0)
	}
	return t
}

// meter counts what a message is known to have used, in case no closing event reports the total.
// Every line of a message repeats its figures, with the output as of the start of the message;
// lines of one message are consecutive.
func (c *claudeStream) meter(m claudeMessage) {
	t := c.usage(m.Usage)
	if t == nil {
		return
	}
	if id := c.hash(m.ID); id != c.metered {
		c.metered, c.used = id, ralph.Tokens{}
	}
	before := c.Spent
	raise := func(sum, before *int64, now int64) {
		*sum += max(now-*before, 0)
		*before = max(now, *before)
	}
	raise(&c.Spent.Input, &c.used.Input, t.Input)
	raise(&c.Spent.Output, &c.used.Output, t.Output)
	raise(&c.Spent.CacheRead, &c.used.CacheRead, t.CacheRead)
	raise(&c.Spent.CacheWrite, &c.used.CacheWrite, t.CacheWrite)
	if c.Spent != before {
		c.TellSpent()
	}
}

// deny records the calls that the CLI did not allow. The tool and the call's description determine
// what would allow it.
func (c *claudeStream) deny(list []claudeDenial, allows func(tool, detail string) string) {
	c.Denials, c.Allow = nil, nil
	for _, d := range list {
		c.Denied(d.Tool, d.Input.about(), allows(d.Tool, d.Input.about()))
	}
}

// claudeAllows returns the flags that allow a denied call. A command that does not fit into a rule
// needs more.
func claudeAllows(tool, detail string) string {
	if tool != "Bash" {
		return "-- --allowedTools " + shellQuote(tool)
	}
	parts := claudeParts(detail)
	if len(parts) == 0 {
		return "--yolo"
	}
	return "-- --allowedTools " + strings.Join(text.Mapped(parts, func(part string) string {
		return shellQuote("Bash(" + part + ")")
	}), " ")
}
