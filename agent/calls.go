package agent

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
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
	run          shell.Call
}

// UnmarshalJSON reads the fields that describe a call, and what it runs. Keys come from the model: what they say in
// another case is good enough for a description only.
func (t *toolInput) UnmarshalJSON(text []byte) error {
	type fields toolInput
	stream.Decode(text, (*fields)(t))
	t.run = shell.ReadCall(text)
	return nil
}

// resultText is the text of a tool's result: a string, or a list of pieces.
type resultText string

// UnmarshalJSON accepts both.
func (r *resultText) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*string)(r)) == nil {
		return nil
	}
	var pieces []struct {
		Text string `json:"text"`
	}
	stream.Decode(text, &pieces)
	for _, piece := range pieces {
		*r += resultText(piece.Text)
	}
	return nil
}

// exitField reads the exit code of a command from a result that the CLI writes as an object, with the output of the
// command in one of its fields. It returns nil if there is none.
func (r resultText) exitField() *int {
	var object struct {
		Exit *int `json:"exitCode"`
	}
	if !strings.HasPrefix(string(r), "{") || !stream.Decode([]byte(r), &object) {
		return nil
	}
	return object.Exit
}

// failure reads the exit code of a command that failed from a line of its own. It returns nil for 0: the command could
// print that line itself, and the CLI prints none if it succeeds.
func (r resultText) failure() *int {
	for _, found := range exitLine().FindAllStringSubmatch(string(r), -1) {
		if code, err := strconv.Atoi(found[1]); err == nil && code != 0 {
			return &code
		}
	}
	return nil
}

var exitLine = text.LazyRegexp(`(?m)^(?:Exit Code|Exit code|Command exited with code): (\d{1,3})$`)

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
