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
				if string(key) == "usage" {
					addCopilotUsage(&t, &w)
				}
			}
		}
	}
	if w.bad || t.Total() == 0 {
		return nil
	}
	return &t
}

func addCopilotUsage(t *ralph.Tokens, w *walker) {
	var input, read, written int64
	for key := range w.fields() {
		switch string(key) {
		case "inputTokens":
			input = w.count()
		case "outputTokens":
			t.Output += w.count()
		case "cacheReadTokens":
			read = w.count()
		case "cacheWriteTokens":
			written = w.count()
		}
	}
	t.Input += max(input-read-written, 0)
	t.CacheRead += read
	t.CacheWrite += written
}
