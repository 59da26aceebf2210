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

// readFigures takes the tokens from the file that the CLI leaves behind. The CLI also writes it
// when interrupted, but not when killed.
func (c *copilotStream) readFigures() {
	text, ok := smallFile(filepath.Join(c.Folder, copilotUsage))
	if c.Folder == "" || !ok {
		return
	}
	if c.Tokens = copilotTokens(text); c.Tokens != nil {
		c.TellSpent()
	}
}

// copilotCounts holds the CLI's names for tokens.
var copilotCounts = tokenNames{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}

// copilotTokens sums the tokens of all models, including sub-agents; nil if there are none. The
// input includes cache reads and writes, the output includes thinking.
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
