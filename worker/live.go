package worker

import (
	"encoding/json"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	shownSize    = 120 // characters of a live detail
	sentenceSize = 300 // characters that are quoted from a provider
	maxToolNames = 64  // beyond these, calls are counted under otherTools
	otherTools   = "(other)"
)

// usedTool counts a call and shows it.
func (t *talk) usedTool(c model.Call) {
	name := promise.OneLine(c.Name, shownSize)
	counted := name
	if _, known := t.toolCounts[name]; !known && len(t.toolCounts) >= maxToolNames {
		counted = otherTools
	}
	t.toolCounts[counted]++
	t.in.Live(ralph.Activity{Kind: "tool", Name: name, Detail: detailOf(c.Input)})
}

// detailOf is what tells calls of one tool apart.
func detailOf(input json.RawMessage) string {
	var fields struct{ Command, Path, Pattern, Summary, Verdict string }
	if json.Unmarshal(input, &fields) != nil { // a field of another type leaves the others as they are
		return ""
	}
	for _, text := range []string{fields.Command, fields.Pattern, fields.Path, fields.Verdict, fields.Summary} {
		if text != "" {
			return promise.OneLine(text, shownSize)
		}
	}
	return ""
}
