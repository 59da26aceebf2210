package worker

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

func TestListenTranscript(t *testing.T) {
	var text []byte
	for _, e := range []entry{
		{Role: model.User, Text: "the prompt"},
		{Role: model.Assistant, Text: "I look around.\nThen more.", Calls: []entryCall{
			{Name: "bash", Input: map[string]string{"command": "ls -la"}},
		}},
		{Role: model.ToolRole, Results: []entryResult{{Text: "output"}}},
		{Role: model.Assistant, Text: "Done."},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	want := []ralph.Activity{
		{
			Kind:   "text",
			Detail: "I look around. Then more.",
		},
		{Kind: "tool", Name: "bash", Detail: "ls -la"},
		{Kind: "text", Detail: "Done."},
	}
	for _, end := range []string{"", `{"role":"assis`, "no JSON\n{}\n"} { // a transcript may be cut or broken
		var got []ralph.Activity
		listener := ListenTranscript(func(a ralph.Activity) { got = append(got, a) })
		for piece := range slices.Chunk(append(slices.Clone(text), end...), 7) {
			if _, err := listener.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %q at the end: got %+v, want %+v", end, got, want)
		}
	}
}
