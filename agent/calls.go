package agent

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// toolInput has the fields of tool inputs, of any CLI, that describe a call.
type toolInput struct {
	Command      string `json:"command"`
	Cmd          string `json:"cmd"`
	FilePath     string `json:"file_path"`
	FilePathToo  string `json:"filePath"`
	NotebookPath string `json:"notebook_path"`
	Path         string `json:"path"`
	Pattern      string `json:"pattern"`
	URL          string `json:"url"`
	Query        string `json:"query"`
	Skill        string `json:"skill"`
	Description  string `json:"description"`
	Name         string `json:"name"`
	Prompt       string `json:"prompt"`
}

// about returns the beginning of the most descriptive field.
func (t toolInput) about() string {
	best := cmp.Or(
		t.Command,
		t.Cmd,
		t.FilePath,
		t.FilePathToo,
		t.NotebookPath,
		t.Path,
		t.Pattern,
		t.URL,
		t.Query,
		t.Skill,
		t.Description,
		t.Name,
		t.Prompt,
	)
	return strings.Clone(best[:min(len(best), 8*stream.DetailSize)])
}

// Limits for the open calls that are remembered: their number, and the bytes of an id.
const (
	maxOpen   = 256
	maxCallID = 1 << 10
)

// openCalls are tool calls that started and have not ended, by id.
type openCalls map[string]openCall

type openCall struct{ name, detail string }

// begin remembers a call, unless there are too many.
func (o *openCalls) begin(id string, call openCall) {
	if *o == nil {
		*o = openCalls{}
	}
	if len(*o) < maxOpen && len(id) <= maxCallID {
		(*o)[id] = call
	}
}

// end returns the call and forgets it.
func (o openCalls) end(id string) (call openCall, known bool) {
	call, known = o[id]
	delete(o, id)
	return call, known
}

// errorText is an error given as a string, or as an object with a message.
type errorText string

// UnmarshalJSON accepts both.
func (e *errorText) UnmarshalJSON(text []byte) error {
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, (*string)(e)) != nil {
		stream.Decode(text, &object)
		*e = errorText(object.Message)
	}
	return nil
}
