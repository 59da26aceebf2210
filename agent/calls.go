package agent

import "github.com/ralphloop/ralph/agent/internal/stream"

// telling are the fields of tools' inputs, whatever the CLI, that say what a call is about, the best first.
var telling = []string{
	"command", "cmd", "file_path", "filePath", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "name", "prompt",
}

// tellingField takes a tool's input and gives the beginning of its most telling field, still escaped.
func tellingField(w *stream.Walker) (best []byte) {
	rank := len(telling)
	for key := range w.Fields() {
		for i, name := range telling[:rank] {
			if string(key) != name {
				continue
			}
			if text, ok := w.Str(); ok {
				best, rank = text[:min(len(text), 8*stream.DetailSize)], i
			}
			break
		}
	}
	return best
}
