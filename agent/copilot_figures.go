package agent

import (
	"path/filepath"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// copilotReader reads the events, and the figures when they are over.
type copilotReader struct {
	stream.Reader
	stream *copilotStream
}

func (c *copilotReader) Close() {
	c.Reader.Close()
	c.stream.readFigures()
}

// readFigures takes the tokens from the file that the CLI leaves behind. It does so when it is interrupted, too, but not when it is killed.
func (c *copilotStream) readFigures() {
	text, ok := smallFile(filepath.Join(c.Folder, copilotUsage))
	if c.Folder == "" || !ok {
		return
	}
	if c.Tokens = copilotTokens(text); c.Tokens != nil {
		c.TellSpent()
	}
}

// copilotCounts is what the CLI calls its tokens.
var copilotCounts = tokenNames{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}

// copilotTokens sums the tokens of all models, those of sub-agents included; nil if there are none. The input includes what was read from and
// written to the cache, the output what the model thought.
func copilotTokens(text []byte) *ralph.Tokens {
	var figures struct {
		Models map[string]struct {
			Usage usage `json:"usage"`
		} `json:"modelMetrics"`
	}
	var t ralph.Tokens
	if !stream.Decode(text, &figures) {
		return nil
	}
	for _, model := range figures.Models {
		if used := withoutCache(copilotCounts.of(model.Usage)); used != nil {
			t = t.Plus(*used)
		}
	}
	if t.Total() == 0 {
		return nil
	}
	return &t
}
