package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

func readTranscript(t *testing.T, folder string) []entry {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "agent.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		entries = append(entries, e)
	}
	return entries
}

func TestTheTranscript(t *testing.T) {
	first := calling("noop", `{"n":1}`, "noop", `{"n":`)
	first.Message.Text, first.Model = "I look.", "claude-sonnet-4-5-20250929"
	fake, j := &fakeModel{steps: []step{replies(first), submits()}}, &judge{}
	in := j.input(t)
	got := works(t, Options{Client: fake}, in, &fakeTool{name: "noop"})
	want := []entry{
		{Role: model.User, Text: "Add two numbers."},
		{
			Role: model.Assistant, Turn: 1, Text: "I look.", Model: "claude-sonnet-4-5-20250929", End: model.EndCalls,
			Usage: &ralph.Tokens{Input: 100, Output: 10},
			Calls: []entryCall{{"c0", "noop", map[string]any{"n": 1.0}}, {"c1", "noop", `{"n":`}},
		},
		{
			Role: model.ToolRole, Turn: 1,
			Results: []entryResult{
				{"c0", "noop 1", false},
				{"c1", "the input is not valid JSON: unexpected end of JSON input", true},
			},
		},
		{
			Role: model.Assistant, Turn: 2, Model: "claude-sonnet-4-5-20250929", End: model.EndCalls,
			Usage: &ralph.Tokens{Input: 100, Output: 10},
			Calls: []entryCall{
				{
					"c0", submitCase,
					map[string]any{
						"summary":     "it adds",
						"ac_coverage": []any{map[string]any{"criterion": "2 and 3 are 5", "addressed_by": "calc.go:Add"}},
					},
				},
			},
		},
		{Role: model.ToolRole, Turn: 2, Results: []entryResult{{"c0", "accepted", false}}},
	}
	entries := readTranscript(t, in.Folder)
	if diff := cmp.Diff(want, entries, cmpopts.IgnoreFields(entry{}, "Time")); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	if age := time.Since(entries[0].Time); age < 0 || age > time.Hour {
		t.Errorf("the first line is of %s", entries[0].Time)
	}
	prompt, _ := os.ReadFile(filepath.Join(in.Folder, "prompt.md"))
	same(t, "prompt", in.Prompt, string(prompt))
	info, err := os.Stat(filepath.Join(in.Folder, "agent.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "bytes", info.Size(), got.OutputBytes)
}

func TestALongTranscriptIsCut(t *testing.T) {
	tool := &fakeTool{name: "long", run: func(_ ctxType, _ jsonText) tools.Output {
		return tools.Output{Text: strings.Repeat("x", 100_000)}
	}}
	input := `{"text":"` + strings.Repeat("y", 300_000) + `"}`
	fake, j := &fakeModel{steps: []step{calls("long", input), submits()}}, &judge{}
	in := j.input(t)
	works(t, Options{Client: fake}, in, tool)
	entries := readTranscript(t, in.Folder)
	if text := entries[2].Results[0].Text; len(text) > maxDetailBytes+50 || !contains(text, "91808 bytes more") {
		t.Errorf("a result of %d bytes is kept", len(text))
	}
	if text, _ := entries[1].Calls[0].Input.(string); len(text) > maxDetailBytes+50 || !contains(text, "bytes more") {
		t.Errorf("an input of %d bytes is kept", len(text))
	}
	record, err := openTranscript(in.Folder, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		record.message(model.Message{Role: model.User, Text: strings.Repeat("z", maxTextBytes)}, entry{})
	}
	if err := record.close(); err != nil || !record.full {
		t.Errorf("full: %v, error: %v", record.full, err)
	}
	if info, err := os.Stat(filepath.Join(in.Folder, "agent.jsonl")); err != nil || info.Size() > maxTranscriptBytes {
		t.Errorf("it has %d bytes, error %v", info.Size(), err)
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, folder string){
		"no folder": func(t *testing.T, folder string) { check(t, os.Remove(folder)) },
		"no transcript": func(t *testing.T, folder string) {
			check(t, os.Mkdir(filepath.Join(folder, "agent.jsonl"), 0o700))
		},
		"a prompt in the way": func(t *testing.T, folder string) {
			check(t, os.Mkdir(filepath.Join(folder, "prompt.md"), 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake, j := &fakeModel{steps: []step{submits()}}, &judge{}
			in := j.input(t)
			spoil(t, in.Folder)
			if _, err := runFitted(t.Context(), Options{Client: fake}, in); !errors.Is(err, ralph.ErrIO) {
				t.Errorf("error %v", err)
			}
			same(t, "model calls", 0, len(fake.asked))
		})
	}
	t.Run("full in the middle", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("this system has no /dev/full")
		}
		j := &judge{}
		in := j.input(t)
		talk := newConversation(New(Options{Client: &fakeModel{steps: []step{calls("noop", `{}`)}}}).o, in, &transcript{
			file: full,
		})
		talk.lead = &fitted{&caseRole{conversation: talk}, []tools.Tool{&fakeTool{name: "noop"}}}
		talk.inWorkspace(t.Context(), nil)
		if err := talk.record.close(); !errors.Is(err, ralph.ErrIO) {
			t.Errorf("error %v", err)
		}
		same(t, "turns", 1, talk.turns)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
