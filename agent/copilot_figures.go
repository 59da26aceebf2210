package agent

import (
	"io"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph"
)

// copilotReader reads the events, and the figures when they are over.
type copilotReader struct {
	reader
	stream *copilotStream
}

func (c *copilotReader) close() {
	c.reader.close()
	c.stream.readFigures()
}

// maxFigures is far more than the file has ever been.
const maxFigures = 1 << 20

// readFigures takes the tokens from the file that the CLI leaves behind. It does so when it is interrupted, too, but not when it is killed.
func (c *copilotStream) readFigures() {
	if c.folder == "" {
		return
	}
	file, err := os.Open(filepath.Join(c.folder, copilotUsage))
	if err != nil {
		return
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFigures))
	if err != nil {
		return
	}
	if c.tokens = copilotTokens(text); c.tokens != nil {
		c.tellSpent()
	}
}

// copilotCounts is what the CLI calls its tokens.
var copilotCounts = tokenNames{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}

// copilotTokens sums the tokens of all models, those of sub-agents included; nil if there are none. The input includes what was read from and
// written to the cache, the output what the model thought.
func copilotTokens(text []byte) *ralph.Tokens {
	var t ralph.Tokens
	w := walker{text: text}
	for key := range w.fields() {
		if string(key) != "modelMetrics" {
			continue
		}
		for range w.fields() {
			for key := range w.fields() {
				if string(key) != "usage" {
					continue
				}
				if used := withoutCache(copilotCounts.read(&w)); used != nil {
					addTokens(&t, *used)
				}
			}
		}
	}
	if w.bad || t.Total() == 0 {
		return nil
	}
	return &t
}
